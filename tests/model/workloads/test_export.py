"""Workloads as ONNX files, and back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx
import onnx.shape_inference
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph
from elkhound.model.onnx_import import import_onnx
from elkhound.model.onnx_import.worker import read
from elkhound.model.options.shape import canonical
from elkhound.model.workloads import workload_names, workload_phases
from elkhound.model.workloads.export import export_workload

PHASES = [(name, phase) for name in workload_names() for phase in workload_phases(name)]
FORMS = pytest.mark.parametrize("form", ["plain", "contrib"])


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files in the test's process, which is faster."""

    def ask(content: bytes, bind: Mapping[str, int], limit: float) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(json.dumps(read(content, dict(bind))))
        return answer

    monkeypatch.setattr("elkhound.model.onnx_import.reader.ask_worker", ask)


def there_and_back(
    name: str, bind: dict[str, int], phase: str, form: str
) -> tuple[Graph, Graph]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "workload.onnx"
        graph = export_workload(name, bind, phase, path, form)
        report = import_onnx(path)
        assert report.warnings == ()
        return graph, report.graph


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
        for own, other in zip(
            graph.spilled_bytes(before), back.spilled_bytes(after), strict=True
        ):
            assert sorted(own.values()) == sorted(other.values())
    assert graph.held_bytes(7) == back.held_bytes(7)


@FORMS
@pytest.mark.parametrize(("name", "phase"), PHASES)
@pytest.mark.parametrize("layers", [1, 2])
def test_an_exported_workload_is_imported_as_the_same_graph(
    name: str, phase: str, form: str, layers: int
) -> None:
    # The first layers of DeepSeek-V3 have no experts, the fourth has.
    layers = 4 if name == "deepseek-v3" and layers == 2 else layers
    bind = {"batch": 2, "seq": 24, "layers": layers}
    require_equal(*there_and_back(name, bind, phase, form))


@FORMS
@given(
    workload=st.sampled_from(PHASES),
    batch=st.sampled_from((1, 2, 40)),
    seq=st.sampled_from((1, 2, 7, 300)),
)
@settings(
    derandomize=True,
    deadline=None,
    max_examples=16,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_batch_and_length_comes_back(
    workload: tuple[str, str], batch: int, seq: int, form: str
) -> None:
    name, phase = workload
    bind = {"batch": batch, "seq": seq, "layers": 1}
    require_equal(*there_and_back(name, bind, phase, form))


@FORMS
@pytest.mark.parametrize(
    ("bind", "phase"),
    [
        pytest.param({"batch": 33, "experts_at_once": 100}, "decode", id="padded"),
        pytest.param({"batch": 1, "experts_at_once": 1}, "training", id="one-by-one"),
        pytest.param({"batch": 40, "experts_at_once": 256}, "prefill", id="one-group"),
    ],
)
def test_any_number_of_experts_at_once_comes_back(
    bind: dict[str, int], phase: str, form: str
) -> None:
    whole = {"seq": 3, "layers": 4, **bind}
    require_equal(*there_and_back("deepseek-v3", whole, phase, form))


@FORMS
@pytest.mark.parametrize("phase", ["decode", "prefill"])
@pytest.mark.parametrize("name", ["llama-2-70b", "gpt-3-6.7b", "gemma-2-27b"])
def test_one_chip_of_several_comes_back(name: str, phase: str, form: str) -> None:
    bind = {"batch": 2, "seq": 24, "layers": 2, "tensor_parallel": 4}
    require_equal(*there_and_back(name, bind, phase, form))


@FORMS
@pytest.mark.parametrize(
    ("name", "phase", "operators"),
    [
        pytest.param("llama-2-13b", "decode", 723, id="decode"),
        pytest.param("llama-2-13b", "training", 2050, id="training"),
    ],
)
def test_a_whole_model_comes_back(
    name: str, phase: str, operators: int, form: str
) -> None:
    bind = {"batch": 32 if phase == "decode" else 2, "seq": 2048}
    graph, back = there_and_back(name, bind, phase, form)
    assert len(graph.operators) == operators
    require_equal(graph, back)


@FORMS
@pytest.mark.parametrize(("name", "phase"), PHASES)
def test_onnx_accepts_the_types_of_every_node(
    tmp_path: Path, name: str, phase: str, form: str
) -> None:
    path = tmp_path / "workload.onnx"
    layers = 4 if name == "deepseek-v3" else 1
    export_workload(name, {"batch": 2, "seq": 24, "layers": layers}, phase, path, form)
    model = onnx.load(str(path))
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    domains = {node.domain for node in model.graph.node}
    assert domains <= {"", "com.microsoft"}
    assert form == "contrib" or domains == {""}


CONTRIB = [
    pytest.param(
        ("llama-3-8b", "prefill"),
        {"SkipSimplifiedLayerNormalization": 1, "RotaryEmbedding": 2, "QuickGelu": 1}
        | {"GroupQueryAttention": 1},
        id="llama-3",
    ),
    pytest.param(
        ("llama-2-7b", "decode"), {"MultiHeadAttention": 1, "QuickGelu": 1}, id="cache"
    ),
    pytest.param(("gemma-2-27b", "decode"), {"Attention": 1, "FastGelu": 1}, id="cap"),
    pytest.param(
        ("opt-30b", "prefill"),
        {"SkipLayerNormalization": 1, "Gemm": 6, "MultiHeadAttention": 1},
        id="opt",
    ),
    pytest.param(
        ("gpt-3-6.7b", "training"),
        {"SoftmaxGrad_13": 1, "GeluGrad": 1, "GatherGrad": 1},
        id="gradients",
    ),
]


@pytest.mark.parametrize(("workload", "wanted"), CONTRIB)
def test_fused_operators_stand_for_several(
    tmp_path: Path, workload: tuple[str, str], wanted: dict[str, int]
) -> None:
    path = tmp_path / "workload.onnx"
    name, phase = workload
    bind = {"batch": 2, "seq": 24, "layers": 1}
    export_workload(name, bind, phase, path, "contrib")
    found = Counter(node.op_type for node in onnx.load(str(path)).graph.node)
    assert {op: found[op] for op in wanted} == wanted


def test_weights_have_dimensions_and_no_data(tmp_path: Path) -> None:
    path = tmp_path / "llama.onnx"
    bind = {"batch": 2, "seq": 24, "layers": 1}
    export_workload("llama-2-7b", bind, "decode", path)
    assert path.stat().st_size < 50_000
    weights = {t.name: t for t in onnx.load(str(path)).graph.initializer}
    assert list(weights["layer0.up.weight"].dims) == [4096, 11_008]
    assert not weights["layer0.up.weight"].raw_data


def test_other_forms_are_refused(tmp_path: Path) -> None:
    bind = {"batch": 2, "seq": 24, "layers": 1}
    path = tmp_path / "refused.onnx"
    with pytest.raises(BadInputError, match="no form of export is called 'fused'"):
        export_workload("llama-2-7b", bind, "decode", path, "fused")
    assert not path.exists()
