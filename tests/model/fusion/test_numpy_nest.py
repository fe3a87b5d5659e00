from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.einsums import Array, random_inputs, results
from oracles.fusion_reference import entry_of
from oracles.fusion_trees import (
    CONVOLUTION,
    MATMUL,
    SECOND,
    fused_trees,
    single_trees,
    workload_of,
)
from oracles.shrunk import shrunk

from elkhound.model.fusion import FusionWorkload, LoopTree, parse_mapping
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.fusion.numpy_nest import numpy_nest

CASES = Path(os.environ.get("ELKHOUND_CASES", "")) / "fusion" / "reference.json"
GOLDEN = Path(__file__).parents[2] / "golden" / "fusion_mappings.json"
TWO_MATMULS = workload_of({"m": 4, "n": 3, "k": 5, "l": 2}, MATMUL, SECOND)
ONE_CONVOLUTION = workload_of({"x": 5, "n": 2, "r": 3, "c": 2}, CONVOLUTION)


def run(
    workload: FusionWorkload, tree: LoopTree, inputs: dict[str, Array]
) -> dict[str, Array]:
    module: dict[str, Any] = {}
    exec(compile(numpy_nest(workload, tree), "nest", "exec"), module)
    given_back: dict[str, Array] = module["run"](inputs)
    return given_back


def require_computed(workload: FusionWorkload, tree: LoopTree) -> None:
    """Run the nest; every point of every einsum must count exactly once."""
    inputs = random_inputs(workload)
    expected = results(workload, inputs)
    found = run(workload, tree, inputs)
    written = {e.output.tensor for e in workload.einsums} - workload.intermediates
    assert found.keys() == written
    for tensor, array in found.items():
        assert np.array_equal(array, expected[tensor])


def references() -> list[Any]:
    files = [GOLDEN, *([CASES] if CASES.is_file() else [])]
    data = [json.loads(file.read_text()) for file in files]
    return [
        pytest.param(raw, id=f"{kind}-{i}")
        for file in data
        for kind in ("mapper_results", "model_goldens")
        for i, raw in enumerate(file[kind])
    ]


@pytest.mark.parametrize("raw", references())
def test_a_reference_mapping_computes_its_einsums(raw: dict[str, Any]) -> None:
    entry = entry_of(raw)
    require_computed(*shrunk(entry.workload, entry.tree))


def test_einsums_of_attention_hand_tiles_over() -> None:
    # one token of Q at a time against all of K; K's token is m for its producer, p here
    workload = workload_of(
        {"m": 3, "p": 3, "d": 2, "e": 4},
        "K[m,e] = I[m,d] * WK[d,e]",
        "Q[m,e] = I[m,d] * WQ[d,e]",
        "QK[m,p] = Q[m,e] * K[p,e]",
        "S[m,p] = QK[m,p]",
    )
    text = (
        "[Main] stores I, WK, WQ, S\n[Buffer] stores K\nSequential\n  Nested\n"
        "    for e tile=3\n    for m tile=2\n    [Buffer] stores I\n    for m tile=1\n"
        "    for e tile=1\n    for d tile=1\n    compute K on MAC\n  Nested\n"
        "    for m tile=1\n    [Buffer] stores Q\n    [Buffer] stores QK\n"
        "    Sequential\n      Nested\n"
        "        for e tile=1\n        for d tile=1\n        compute Q on MAC\n"
        "      Nested\n        for p tile=1\n        for e tile=1\n"
        "        compute QK on MAC\n      Nested\n        for p tile=1\n"
        "        compute S on MAC\n"
    )
    require_computed(workload, parse_mapping(text))


def test_a_copy_moves_what_its_loops_leave() -> None:
    workload = workload_of(
        {"m": 5, "k": 3, "n": 2}, "I[m,k] = copy X[m,k]", "T1[m,n] = I[m,k] * W[k,n]"
    )
    tree = parse_mapping(
        "[Main] stores X, W, T1\nfor m tile=2\n[Buffer] stores I\nSequential\n"
        "  Nested\n    compute I on MAC\n  Nested\n    for m tile=1\n"
        "    for n tile=1\n    for k tile=1\n    compute T1 on MAC\n"
    )
    require_computed(workload, tree)


def test_a_block_with_a_halo_computes_its_einsums() -> None:
    bind = {"width": 4, "channels": 2, "expansion": 2}
    workload = fusion_workload("mobilenet-block", bind)
    tree = parse_mapping(
        "[Main] stores Image, WExpand, WFilter, WProject, Projected, Filtered\n"
        "[Buffer] stores Expanded\nSequential\n  Nested\n"
        "    for x tile=4\n    [Buffer] stores Image\n    for c tile=1\n"
        "    for x tile=1\n    for y tile=1\n    for i tile=1\n"
        "    compute Expanded on MAC\n  Nested\n"
        "    for c tile=1\n    for p tile=3\n    [Local] stores Expanded\n"
        "    for p tile=1\n    for q tile=2\n    for q tile=1\n    for r tile=1\n"
        "    for s tile=1\n    compute Filtered on MAC\n  Nested\n"
        "    for p tile=1\n    for q tile=1\n    for o tile=1\n    for c tile=1\n"
        "    compute Projected on MAC\n"
    )
    require_computed(workload, tree)


def test_a_padded_image_is_read_over_its_border() -> None:
    workload = workload_of({"p": 4, "r": 3}, "h[p] = x[p]", "y[p] = h[p+r] * w[r]")
    tree = parse_mapping(
        "[Main] stores x, w, y\n[Buffer] stores h\nSequential\n  Nested\n"
        "    for p tile=1\n    compute h on MAC\n  Nested\n    for p tile=3\n"
        "    [Local] stores h\n    for p tile=1\n    for r tile=1\n"
        "    compute y on MAC\n"
    )
    require_computed(workload, tree)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(data=st.data())
def test_random_fused_mappings_compute_their_einsums(data: st.DataObject) -> None:
    require_computed(TWO_MATMULS, data.draw(fused_trees(TWO_MATMULS)))


@settings(derandomize=True, deadline=None, max_examples=100)
@given(data=st.data())
def test_random_mappings_of_a_convolution_compute_it(data: st.DataObject) -> None:
    spatial = {"Local.Z": ("x", "c"), "MAC.X": ("n", "r")}
    tree = data.draw(single_trees(ONE_CONVOLUTION, spatial))
    require_computed(ONE_CONVOLUTION, tree)


def test_a_mapping_that_leaves_points_out_or_repeats_them_is_found() -> None:
    # the same nest with a tile of 2 under a tile of 3 would run rows 3 and 4 twice if
    # the last step did not stop at the tile's end; and loops that are gone leave rows
    tree = parse_mapping(
        "[Main] stores T0, W0, T1\nfor m tile=3\nfor m tile=2\nfor m tile=1\n"
        "for n tile=1\nfor k tile=1\ncompute T1 on MAC\n"
    )
    workload = workload_of({"m": 5, "n": 3, "k": 2}, MATMUL)
    inputs = random_inputs(workload)
    expected = results(workload, inputs)["T1"]
    assert np.array_equal(run(workload, tree, inputs)["T1"], expected)
    source = numpy_nest(workload, tree)
    for old, new in (
        ("min(m_at2 + 2, m_end1)", "m_at2 + 2"),
        ("range(0, 5, 3)", "range(0, 3, 3)"),
    ):
        broken = source.replace(old, new)
        assert broken != source
        module: dict[str, Any] = {}
        padded = {"T0": np.pad(inputs["T0"], ((0, 1), (0, 0))), "W0": inputs["W0"]}
        exec(broken.replace("np.zeros((5, 3))", "np.zeros((6, 3))"), module)
        assert not np.array_equal(module["run"](padded)["T1"][:5], expected)


def test_deep_nests_stay_within_what_python_takes() -> None:
    loops = "".join(f"for m tile={tile}\n" for tile in range(40, 0, -1))
    tree = parse_mapping(
        f"[Main] stores T0, W0, T1\n{loops}for n tile=1\nfor k tile=1\n"
        "compute T1 on MAC\n"
    )
    require_computed(workload_of({"m": 41, "n": 2, "k": 2}, MATMUL), tree)


def test_the_nest_reads_like_the_mapping() -> None:
    tree = parse_mapping(
        "[Main] stores T0, W0, T1\nspatial-for m tile=3 over PE.rows\n"
        "[Buffer] stores T0\nfor m tile=1\nfor k tile=1\nfor n tile=1\n"
        "compute T1 on MAC\n"
    )
    source = numpy_nest(workload_of({"m": 4, "n": 3, "k": 5}, MATMUL), tree)
    assert source.endswith(
        """\
    for m_at1 in range(0, 4, 3):  # at once, over PE.rows
        m_end1 = min(m_at1 + 3, 4)
        T0_1 = np.array(T0_0[m_at1:m_end1, 0:5])  # in Buffer
        for m_at2 in range(m_at1, m_end1):
            for k_at3 in range(0, 5):
                for n_at4 in range(0, 3):
                    T1_0[m_at2, n_at4] += """
        'T0_1[m_at2 - m_at1, k_at3] * W0_0[k_at3, n_at4]\n    return {"T1": T1_0}\n'
    )
