"""Small ONNX files, written with onnx.helper and imported at once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from elkhound.model.onnx_import import ImportReport, import_onnx
from elkhound.model.onnx_import.worker import read

Dims = Sequence[int | str | None]


class Files:
    """Writes models into a folder of the test, and imports them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "model.onnx"

    def write(
        self,
        nodes: Sequence[onnx.NodeProto],
        inputs: Mapping[str, Dims],
        output: str | Sequence[str],
        *,
        weights: Mapping[str, Sequence[int]] | None = None,
        constants: Mapping[str, Any] | None = None,
        opset: int = 17,
        functions: Sequence[onnx.FunctionProto] = (),
        element_type: int = TensorProto.FLOAT16,
    ) -> Path:
        """Write a model; `weights` have a shape and no data, `constants` have data."""
        initializers = [
            TensorProto(name=name, dims=dims, data_type=element_type)
            for name, dims in (weights or {}).items()
        ]
        initializers += [
            numpy_helper.from_array(np.asarray(value), name)
            for name, value in (constants or {}).items()
        ]
        outputs = [output] if isinstance(output, str) else output
        graph = helper.make_graph(
            list(nodes),
            "test",
            [
                helper.make_tensor_value_info(name, element_type, dims)
                for name, dims in inputs.items()
            ],
            [onnx.ValueInfoProto(name=name) for name in outputs],
            initializers,
        )
        domains = sorted({node.domain for node in nodes} - {""})
        model = helper.make_model(
            graph,
            ir_version=10,
            opset_imports=[
                helper.make_opsetid("", opset),
                *(helper.make_opsetid(domain, 1) for domain in domains),
            ],
            functions=list(functions),
        )
        self.path.write_bytes(model.SerializeToString())
        return self.path

    def read(self, *model: Any, options: Any = None, **named: Any) -> ImportReport:
        """Write a model as `write` does, and import it with `options`."""
        return import_onnx(self.write(*model, **named), **(options or {}))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A folder for one model at a time."""
    return Files(tmp_path)


@pytest.fixture(autouse=True)
def in_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files in the test's process, but where the process is what is tested."""
    if request.module.__name__.endswith(
        ("test_reader", "test_wire", "test_cases", "test_case_table")
    ):
        return

    def ask(content: bytes, bind: Mapping[str, int], limit: float) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(json.dumps(read(content, dict(bind))))
        return answer

    monkeypatch.setattr("elkhound.model.onnx_import.reader.ask_worker", ask)
