"""Weights in the file are stepped over, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from elkhound.model.onnx_import import import_onnx
from elkhound.model.onnx_import.wire import WireError, without_weights

node = helper.make_node
value = helper.make_tensor_value_info

MEASURE = """
import resource, sys
from elkhound.model.onnx_import import import_onnx
report = import_onnx(sys.argv[1])
usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(max(usage.ru_maxrss for usage in usages))
"""


def model(width: int) -> Any:
    """x · W, W in the file, and a Constant node as large."""
    weight = numpy_helper.from_array(np.ones((width, width), np.float32), "w")
    nodes = [
        node("MatMul", ["x", "w"], ["h"]),
        node("Constant", [], ["c"], value=weight),
        node("MatMul", ["h", "c"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "test",
        [value("x", TensorProto.FLOAT, [1, width])],
        [value("y", TensorProto.FLOAT, [1, width])],
        [weight],
    )
    return helper.make_model(graph, ir_version=10)


def written(path: Path, width: int) -> Path:
    path.write_bytes(model(width).SerializeToString())
    return path


def test_what_has_no_long_data_is_unchanged(tmp_path: Path) -> None:
    path = written(tmp_path / "small.onnx", 4)
    assert without_weights(path) == path.read_bytes()


def test_long_data_goes_and_the_rest_stays(tmp_path: Path) -> None:
    path = written(tmp_path / "large.onnx", 256)
    content = without_weights(path)
    assert len(content) < 1000
    slim = onnx.load_from_string(content)
    whole = model(256)
    for tensor in (whole.graph.initializer[0], whole.graph.node[1].attribute[0].t):
        tensor.ClearField("raw_data")
    assert slim == whole


def test_weights_without_data_are_weights(tmp_path: Path) -> None:
    graph = import_onnx(written(tmp_path / "large.onnx", 256)).graph
    streamed = sum(graph.streamed_bytes(o) for o in graph.operators)
    assert streamed == 2 * 4 * 256 * 256


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\x3a\xff\xff\xff\xff\x0f", id="longer-than-the-file"),
        pytest.param(b"\x08\xff", id="open-number"),
        pytest.param(b"\x0b", id="group"),
        pytest.param(b"\x3a\x02\x0a\x7f", id="longer-than-its-message"),
        pytest.param(b"\x09\x00", id="short-double"),
    ],
)
def test_bytes_that_are_no_message_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(WireError):
        without_weights(path)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux")
def test_memory_does_not_grow_with_weights(tmp_path: Path) -> None:
    peaks = []
    for width in (64, 2048):  # 32 KiB, and 32 MiB of weights
        path = tmp_path / f"{width}.onnx"
        subprocess.run([sys.executable, "-c", WRITE, str(path), str(width)], check=True)
        search = {"PYTHONPATH": ":".join(p for p in sys.path if p), "PATH": "/usr/bin"}
        # from a shell, since a program takes over the peak of what starts it
        shell = ["/bin/sh", "-c", '"$0" "$@"; exit $?']
        done = subprocess.run(
            [*shell, sys.executable, "-c", MEASURE, str(path)],
            env=search,
            capture_output=True,
            check=True,
        )
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < 8 * 1024


WRITE = """
import sys
from onnx import TensorProto, helper
width = int(sys.argv[2])
value = helper.make_tensor_value_info
weights = [
    TensorProto(
        name=name, dims=[width, width], data_type=1, raw_data=bytes(4 * width * width)
    )
    for name in ("v", "w")
]
nodes = [
    helper.make_node("MatMul", ["x", "v"], ["h"]),
    helper.make_node("MatMul", ["h", "w"], ["y"]),
]
ends = [[value(name, TensorProto.FLOAT, [1, width])] for name in "xy"]
graph = helper.make_graph(nodes, "test", *ends, weights)
open(sys.argv[1], "wb").write(
    helper.make_model(graph, ir_version=10).SerializeToString()
)
"""
