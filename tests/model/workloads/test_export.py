"""Workloads as ONNX files, and back."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph
from elkhound.model.onnx_import import import_onnx
from elkhound.model.options.shape import canonical
from elkhound.model.workloads import workload_names, workload_phases
from elkhound.model.workloads.export import export_workload

EXPORTABLE = [
    (name, phase)
    for name in workload_names()
    for phase in workload_phases(name)
    if phase != "training" and name != "deepseek-v3"
]


def there_and_back(name: str, bind: dict[str, int], phase: str) -> tuple[Graph, Graph]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "workload.onnx"
        graph = export_workload(name, bind, phase, path)
        return graph, import_onnx(path).graph


def require_equal(graph: Graph, back: Graph) -> None:
    """Equal kinds, dimensions, accesses, passes, widths, homes, bytes, one by one.

    A canonical shape is all of that without names; see `model/options/shape.py`.
    """
    assert len(graph.operators) == len(back.operators)
    for before, after in zip(graph.operators, back.operators, strict=True):
        assert (before.kind, canonical(graph, before)[0]) == (
            after.kind,
            canonical(back, after)[0],
        )
        assert before.einsum.macs == after.einsum.macs
        assert graph.streamed_bytes(before) == back.streamed_bytes(after)
    assert graph.held_bytes(7) == back.held_bytes(7)


@pytest.mark.parametrize(("name", "phase"), EXPORTABLE)
def test_an_exported_workload_is_imported_as_the_same_graph(
    name: str, phase: str
) -> None:
    require_equal(*there_and_back(name, {"batch": 2, "seq": 24, "layers": 2}, phase))


@given(
    workload=st.sampled_from(EXPORTABLE),
    batch=st.integers(1, 40),
    seq=st.integers(1, 300),
)
@settings(derandomize=True, deadline=None, max_examples=12)
def test_any_batch_and_length_comes_back(
    workload: tuple[str, str], batch: int, seq: int
) -> None:
    name, phase = workload
    require_equal(
        *there_and_back(name, {"batch": batch, "seq": seq, "layers": 1}, phase)
    )


def test_weights_have_dimensions_and_no_data(tmp_path: Path) -> None:
    path = tmp_path / "llama.onnx"
    bind = {"batch": 2, "seq": 24, "layers": 1}
    export_workload("llama-2-7b", bind, "decode", path)
    assert path.stat().st_size < 50_000
    weights = {t.name: t for t in onnx.load(str(path)).graph.initializer}
    assert list(weights["layer0.up.weight"].dims) == [4096, 11_008]
    assert not weights["layer0.up.weight"].raw_data


@pytest.mark.parametrize(
    ("name", "phase", "extra"),
    [
        pytest.param("deepseek-v3", "decode", {}, id="experts"),
        pytest.param("llama-2-7b", "training", {}, id="training"),
        pytest.param("llama-2-7b", "decode", {"tensor_parallel": 2}, id="all-reduce"),
    ],
)
def test_what_no_plain_operator_gives_back_is_refused(
    tmp_path: Path, name: str, phase: str, extra: dict[str, int]
) -> None:
    path = tmp_path / "refused.onnx"
    bind = {"batch": 2, "seq": 24, "layers": 1, **extra}
    with pytest.raises(BadInputError, match="plain ONNX operators do not give"):
        export_workload(name, bind, phase, path)
    assert not path.exists()
