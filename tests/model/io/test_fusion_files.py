from __future__ import annotations

from pathlib import Path

import pytest

from elkhound.model.errors import BadInputError
from elkhound.model.fusion import (
    Accelerator,
    FusionWorkload,
    LoopTree,
    cost_of,
    mapping_text,
    parse_mapping,
)
from elkhound.model.fusion.catalogue import SYMBOLS, fusion_workload
from elkhound.model.io import (
    accelerator_document,
    accelerator_names,
    fusion_workload_document,
    load_accelerator,
    load_fusion_workload,
    load_mapping,
    mapping_document,
)
from elkhound.model.io.text import as_text, write_text

TWO_LEVEL = """\
accelerator: two-level
memories:
  - {name: DRAM, size_bits: inf, read_energy: 100, write_energy: 100, keep: not-intermediates, may_keep: all}
  - {name: Buffer, size_bits: 65536, read_energy: 1, write_energy: 1, bits_per_cycle: 8, keep: not-above, may_keep: all}
compute:
  - {name: MAC, energy: 1, ops_per_cycle: 1, tensors: 3}
"""  # noqa: E501
CHAIN = """\
workload: chain
sizes: {m: 64, n0: 64, n1: 64, n2: 64}
bits: 8
einsums: ["T1[m,n1] = T0[m,n0] * W0[n0,n1]", "T2[m,n2] = T1[m,n1] * W1[n1,n2]"]
"""
MAPPING = """\
mapping: fused
nodes:
  - {store: [T0, W0, W1, T2], memory: DRAM}
  - {loop: m, tile: 1}
  - {store: [T1], memory: Buffer}
  - sequential:
    - - {loop: n0, tile: 1}
      - {loop: n1, tile: 1}
      - {compute: T1, on: MAC}
    - - {loop: n1, tile: 1}
      - {loop: n2, tile: 1}
      - {compute: T2, on: MAC}
"""


def written(folder: Path, name: str, text: str) -> str:
    file = folder / name
    write_text(file, text)
    return str(file)


def test_the_documented_files_are_read(tmp_path: Path) -> None:
    accelerator = load_accelerator(written(tmp_path, "a.yaml", TWO_LEVEL))
    workload = load_fusion_workload(written(tmp_path, "w.yaml", CHAIN))
    tree = load_mapping(written(tmp_path, "m.yaml", MAPPING))
    cost = cost_of(accelerator, workload, tree)
    # T1 row by row: 64 values of 8 bits in the buffer; it never goes to DRAM, where T0
    # and W0 are read for every operation
    assert cost.occupancy_bits["Buffer"] == 64 * 8
    reads = {a.tensor: a.count for a in cost.actions if a.kind == "read"}
    assert reads["T0"] == reads["W0"] == 64**3 * 8


@pytest.mark.parametrize("name", accelerator_names())
def test_an_accelerator_is_read_back(name: str, tmp_path: Path) -> None:
    accelerator = load_accelerator(name)
    text = as_text(accelerator_document(accelerator))
    read: Accelerator = load_accelerator(written(tmp_path, "a.json", text))
    assert read == accelerator


@pytest.mark.parametrize("name", list(SYMBOLS))
def test_a_workload_is_read_back(name: str, tmp_path: Path) -> None:
    workload = fusion_workload(name)
    text = as_text(fusion_workload_document(workload))
    read: FusionWorkload = load_fusion_workload(written(tmp_path, "w.json", text))
    assert read == workload


def test_a_mapping_is_read_back_from_yaml_and_from_text(tmp_path: Path) -> None:
    text = (
        "[Main] stores A, B\nspatial-for m tile=4 over PE.rows\n"
        "for m tile=1, p in F\nSequential\n  Nested\n    compute E on MAC\n"
        "  Nested\n    compute F on MAC\n"
    )
    tree = parse_mapping(text)
    document = as_text(mapping_document(tree))
    from_yaml: LoopTree = load_mapping(written(tmp_path, "m.yaml", document))
    from_text = load_mapping(written(tmp_path, "m.txt", mapping_text(tree)))
    assert from_yaml == tree
    assert from_text.nodes == tree.nodes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "size_bits: 65536", "size_bitz: 65536",
            "a.yaml:4: unknown key memories[1] 'Buffer'.size_bitz (did you mean "
            "size_bits?)",
            id="typo",
        ),
        pytest.param(
            "size_bits: 65536", "size_bits: 64KB",
            "a.yaml:4: memories[1] 'Buffer'.size_bits is '64KB', must be an integer "
            "from 1 to 10^15 or inf",
            id="unit",
        ),
        pytest.param(
            "read_energy: 1,", "read_energy: -1,",
            "a.yaml:4: memories[1] 'Buffer'.read_energy is -1, must be a number from 0 "
            "to 10^18",
            id="negative",
        ),
        pytest.param(
            "bits_per_cycle: 8", "bits_per_cycle: 0",
            "a.yaml:4: memories[1] 'Buffer'.bits_per_cycle is 0, must be a number "
            "above 0 and at most 10^18 or null",
            id="no-rate",
        ),
        pytest.param(
            "bits_per_cycle: 8", "bytes_per_second: 8",
            "a.yaml:4: Buffer: bytes_per_second needs clock_hz; without one, give "
            "bits_per_cycle",
            id="no-clock",
        ),
        pytest.param(
            "bits_per_cycle: 8", "bits_per_cycle: 8, read_bits_per_cycle: 4",
            "a.yaml:4: Buffer: bits_per_cycle is shared by reads and writes, "
            "read_bits_per_cycle and write_bits_per_cycle are not; give one kind",
            id="two-kinds-of-ports",
        ),
        pytest.param(
            "name: Buffer", "name: DRAM",
            "a.yaml:1: two-level: two parts are called DRAM",
            id="two-names",
        ),
        pytest.param(
            "keep: not-above", "keep: weights",
            "a.yaml:4: memories[1] 'Buffer'.keep is 'weights', must be all, nothing, "
            "intermediates, not-intermediates, not-above, input, output or weight or "
            "a list of at least 1",
            id="tensor-set",
        ),
        pytest.param(
            "tensors: 3", "below: Bufer",
            "a.yaml:1: MAC: below names no memory: Bufer",
            id="below",
        ),
    ],
)  # fmt: skip
def test_a_broken_accelerator_is_refused_by_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file = written(tmp_path, "a.yaml", TWO_LEVEL.replace(old, new))
    with pytest.raises(BadInputError) as refused:
        load_accelerator(file)
    assert str(refused.value).removeprefix(f"{tmp_path}/") == message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "m: 64", "m: -5",
            "w.yaml:2: sizes.m is -5, must be an integer from 1 to 10^15",
            id="negative",
        ),
        pytest.param(
            "m: 64", "m: 64KB",
            "w.yaml:2: sizes.m is '64KB', must be an integer from 1 to 10^15",
            id="unit",
        ),
        pytest.param(
            ", n2: 64", "",
            "w.yaml:4: einsum T2: rank variable n2 has no size",
            id="no-size",
        ),
        pytest.param(
            "T2[m,n2] = T1", "T1[m,n2] = T3",
            "w.yaml:4: tensor T1 is produced twice, by T1 and T1 (einsum 2)",
            id="twice",
        ),
        pytest.param(
            "T0[m,n0] *", "T2[m,n2] *",
            "w.yaml:4: einsum T1: reads T2 before T2 has produced it: a cycle, or "
            "einsums out of order",
            id="cycle",
        ),
        pytest.param(
            "T0[m,n0] *", "T0(m,n0) *",
            "w.yaml:4: einsums[0]: 'T0(m,n0)' is no tensor with ranks, such as T0[m,k]",
            id="brackets",
        ),
        pytest.param(
            "bits: 8", "bits: 8\npersistent: [W]",
            "w.yaml:4: no einsum uses tensor W",
            id="persistent",
        ),
        pytest.param(
            "sizes", "size",
            "w.yaml:2: unknown key size (did you mean sizes?)",
            id="typo",
        ),
    ],
)  # fmt: skip
def test_a_broken_workload_is_refused_by_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file = written(tmp_path, "w.yaml", CHAIN.replace(old, new))
    with pytest.raises(BadInputError) as refused:
        load_fusion_workload(file)
    assert str(refused.value).removeprefix(f"{tmp_path}/") == message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "{loop: m, tile: 1}", "{loop: m}",
            "m.yaml:4: nodes[1].tile is missing, loop needs it",
            id="no-tile",
        ),
        pytest.param(
            "{loop: m, tile: 1}", "{loop: m, tile: 1, on: MAC}",
            "m.yaml:4: on has no effect on loop; leave it out",
            id="no-effect",
        ),
        pytest.param(
            "{loop: m, tile: 1}", "{tile: 1}",
            "m.yaml:4: nodes[1] has no kind, must have one of store, loop, compute and "
            "sequential",
            id="no-kind",
        ),
        pytest.param(
            "{loop: m, tile: 1}", "{loop: m, tile: 0}",
            "m.yaml:4: nodes[1].tile is 0, must be an integer from 1 to 10^15 or null",
            id="zero",
        ),
        pytest.param(
            "      - {compute: T2, on: MAC}\n", "",
            "m.yaml:2: a list of nodes must end in Sequential or compute",
            id="unfinished",
        ),
    ],
)  # fmt: skip
def test_a_broken_mapping_is_refused_by_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file = written(tmp_path, "m.yaml", MAPPING.replace(old, new))
    with pytest.raises(BadInputError) as refused:
        load_mapping(file)
    assert str(refused.value).removeprefix(f"{tmp_path}/") == message


def test_names_that_are_not_there_get_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"no accelerator .* \(did you mean simple"):
        load_accelerator("simpel")
    with pytest.raises(BadInputError, match="has no symbols to bind: m"):
        load_fusion_workload(written(tmp_path, "w.yaml", CHAIN), {"m": 3})
