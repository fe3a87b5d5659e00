from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from elkhound.model.errors import BadInputError
from elkhound.model.onnx_import import import_onnx

node = helper.make_node


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"none\.onnx: no such file") as error:
        import_onnx(tmp_path / "none.onnx")
    assert error.value.code == "missing-file"


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="is a directory") as error:
        import_onnx(tmp_path)
    assert error.value.code == "not-a-file"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"just some text\nof two lines\n", id="text"),
        pytest.param(b"\x00" * 100, id="zeros"),
        pytest.param(b'{"irVersion": "10"}', id="json"),
    ],
)
def test_a_file_that_is_no_model_is_refused_in_one_line(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "text.onnx"
    path.write_bytes(content)
    with pytest.raises(BadInputError, match="is not an ONNX model") as error:
        import_onnx(path)
    assert error.value.code == "not-onnx"
    assert "\n" not in str(error.value)


def test_a_truncated_file_is_refused_in_one_line(files: Any) -> None:
    path = files.write([node("Relu", ["x"], ["y"])], {"x": (3, 4)}, "y")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadInputError, match="is not an ONNX model") as error:
        import_onnx(path)
    assert "\n" not in str(error.value)


def test_reading_is_limited_in_time(files: Any) -> None:
    path = files.write([node("Relu", ["x"], ["y"])], {"x": (3, 4)}, "y")
    with pytest.raises(BadInputError, match=r"within 0\.001 s") as error:
        import_onnx(path, time_limit_seconds=0.001)
    assert error.value.code == "reader-timeout"


# A process takes over the peak of the one it was forked from: RUSAGE_SELF would tell of
# the test runner. What the reader's process takes over is this small one's.
STREAMED_AND_PEAKS = """
import resource, sys
from elkhound.model.onnx_import import import_onnx
graph = import_onnx(sys.argv[1]).graph
print(sum(graph.streamed_bytes(operator) for operator in graph.operators))
if sys.platform == "linux":  # kibibytes
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    status = open("/proc/self/status").read()
    print(status.split("VmHWM:")[1].split()[0])
"""


def test_two_hundred_gibibytes_of_weights_need_no_memory(tmp_path: Path) -> None:
    # 200 external weights of 16384 × 16384 fp32 = 1 GiB each; the file is not there.
    nodes, weights = [], []
    for index in range(200):
        weight = TensorProto(
            name=f"w{index}", dims=[16384, 16384], data_type=TensorProto.FLOAT
        )
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="missing.bin")
        weights.append(weight)
        nodes.append(node("MatMul", [f"x{index}", f"w{index}"], [f"x{index + 1}"]))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "large",
        [value("x0", TensorProto.FLOAT, [1, 16384])],
        [value("x200", TensorProto.FLOAT, [1, 16384])],
        weights,
    )
    path = tmp_path / "large.onnx"
    path.write_bytes(helper.make_model(graph, ir_version=10).SerializeToString())
    done = subprocess.run(
        [sys.executable, "-c", STREAMED_AND_PEAKS, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    streamed, *peaks_kib = map(int, done.stdout.split())
    assert streamed == 200 * 2**30
    assert max(peaks_kib, default=0) < 300 * 1024


def test_the_caller_never_loads_onnx() -> None:

    check = (
        "import sys, elkhound.model.onnx_import; "
        "sys.exit(any(m.split('.')[0] == 'onnx' for m in sys.modules))"
    )
    search_path = {"PYTHONPATH": ":".join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", check], env=search_path, check=False)
    assert done.returncode == 0


def test_local_functions_are_inlined(files: Any) -> None:
    silu = helper.make_function(
        "my.domain",
        "Silu",
        ["a"],
        ["b"],
        [node("Sigmoid", ["a"], ["s"]), node("Mul", ["a", "s"], ["b"])],
        [helper.make_opsetid("", 17)],
    )
    nodes = [node("Silu", ["x"], ["y"], domain="my.domain")]
    report = files.read(nodes, {"x": (3, 4)}, "y", functions=[silu])
    assert report.pattern_counts == {"silu": 1}


def test_a_model_needs_neither_weights_nor_a_clean_bill_from_the_checker(
    files: Any,
) -> None:
    # Nodes out of order and a weight without data: onnx's checker refuses both.
    nodes = [node("Relu", ["h"], ["y"]), node("MatMul", ["x", "w"], ["h"])]
    path = files.write(nodes, {"x": (3, 4)}, "y", weights={"w": (4, 5)})
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(str(path))
    report = import_onnx(path)
    assert [o.name for o in report.graph.operators] == ["h", "y"]
    assert report.warnings[0].startswith("onnx's checker objects:")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("Relu", id="operator"),
        pytest.param("value", id="value"),
        pytest.param("weight", id="weight"),
    ],
)
def test_names_that_are_no_text_are_refused(files: Any, name: str) -> None:
    nodes = [
        node("Relu", ["x"], ["value"]),
        node("MatMul", ["value", "weight"], ["y"]),
    ]
    path = files.write(nodes, {"x": (3, 4)}, "y", weights={"weight": (4, 4)})
    spoilt = b"\xff" + name.encode()[1:]
    path.write_bytes(path.read_bytes().replace(name.encode(), spoilt))
    with pytest.raises(BadInputError, match="a name in it is not UTF-8") as error:
        import_onnx(path)
    assert error.value.code == "not-onnx"


def test_a_graph_has_a_name_that_files_may_hold(files: Any, tmp_path: Path) -> None:
    path = files.write([node("Relu", ["x"], ["y"])], {"x": (3, 4)}, "y")
    odd = path.rename(tmp_path / os.fsdecode(b"\xff" + b"a" * 230 + b".onnx"))
    assert import_onnx(odd).graph.name == "\ufffd" + "a" * 199
