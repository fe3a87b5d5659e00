from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from elkhound.model.errors import BadInputError
from elkhound.model.io import load_graph
from elkhound.model.workloads import build_workload


def test_a_workload_is_found_by_name() -> None:
    bind = {"batch": 2, "seq": 8, "layers": 1}
    assert load_graph("llama-2-7b", bind) == build_workload("llama-2-7b", bind)


def test_an_onnx_file_is_imported(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "one",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT16, ["rows", 16]),
            helper.make_tensor_value_info("w", TensorProto.FLOAT16, [16, 8]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, ["rows", 8])],
    )
    onnx.save(helper.make_model(graph), tmp_path / "one.onnx")
    loaded = load_graph(tmp_path / "one.onnx", {"rows": 4})
    assert loaded.macs == 4 * 16 * 8


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        pytest.param("lama-2-7b", {}, "did you mean llama-2-7b", id="misspelt"),
        pytest.param(
            "llama-2-7b",
            {"weights": ["w"]},
            "workload llama-2-7b: weights has no effect",
            id="weights of a workload",
        ),
        pytest.param(
            "llama-2-7b",
            {"patterns": False},
            "workload llama-2-7b: patterns has no effect",
            id="patterns of a workload",
        ),
        pytest.param(
            "a.onnx",
            {"phase": "decode"},
            r"ONNX file a\.onnx: phase has no effect",
            id="phase of a file",
        ),
    ],
)
def test_a_graph_that_cannot_be_loaded_is_refused(
    model: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInputError, match=message):
        load_graph(model, {"batch": 1, "seq": 1}, **arguments)
