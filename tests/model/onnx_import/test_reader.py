from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
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


def test_the_limit_counts_what_comes_before_the_process_and_its_end(
    files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = files.write([node("Relu", ["x"], ["y"])], {"x": (3, 4)}, "y")
    clock, given = [1000.0], []

    def slowly(path: Path) -> bytes:
        clock[0] += 7.5
        return path.read_bytes()

    def hang(command: Any, *, timeout: float, **options: Any) -> None:
        given.append(timeout)
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    monkeypatch.setattr("elkhound.model.onnx_import.reader.without_weights", slowly)
    monkeypatch.setattr("subprocess.run", hang)
    with pytest.raises(BadInputError, match=r"within 24 s") as error:
        import_onnx(path)
    assert error.value.code == "reader-timeout"
    assert given == [24 - 7.5 - 1]  # a second to end in


def test_a_process_that_hangs_is_killed_with_its_memory(
    files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = files.write([node("Relu", ["x"], ["y"])], {"x": (3, 4)}, "y")
    deaf = tmp_path / "deaf.py"
    deaf.write_text(
        "import os, pathlib, signal\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))\n"
        "while True: pass\n"
    )
    monkeypatch.setattr("elkhound.model.onnx_import.reader.WORKER", deaf)
    with pytest.raises(BadInputError, match=r"within 3 s"):
        import_onnx(path, time_limit_seconds=3)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.slow
def test_reading_is_limited_in_memory(files: Any) -> None:
    # onnx's inference writes out the range, 2^62 elements
    nodes = [
        node("Range", ["zero", "end", "one"], ["r"], name="range"),
        node("Cast", ["r"], ["y"], to=TensorProto.FLOAT),
    ]
    bounds = {"zero": np.array(0), "end": np.array(2**62), "one": np.array(1)}
    path = files.write(nodes, {"x": (3,)}, "y", constants=bounds)
    with pytest.raises(BadInputError):
        import_onnx(path)
    peak_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert peak_bytes < 2.2 * 1024**3


def test_functions_that_double_are_refused_before_they_are_inlined(
    files: Any,
) -> None:
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    # f0 is a Relu, each other calls the one before twice: 2^40 nodes
    functions = [
        helper.make_function(
            "mine", "f0", ["a"], ["b"], [node("Relu", ["a"], ["b"])], imports
        )
    ]
    for depth in range(1, 41):
        calls = [
            node(f"f{depth - 1}", [source], [made], domain="mine")
            for source, made in (("a", "m"), ("m", "b"))
        ]
        functions.append(
            helper.make_function("mine", f"f{depth}", ["a"], ["b"], calls, imports)
        )
    nodes = [node("f40", ["x"], ["y"], domain="mine")]
    path = files.write(nodes, {"x": (3, 4)}, "y", functions=functions)
    # n(0) = 1 and n(d) = 2 + 2·n(d − 1), so n(40) = 3·2^40 − 2, and one node calls it
    with pytest.raises(BadInputError, match=f"{3 * 2**40 - 1} nodes once") as error:
        import_onnx(path)
    assert error.value.code == "too-many-nodes"


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        pytest.param((4, 5), None, id="another-shape"),
        pytest.param((4, 4), ["w"], id="the-same"),
    ],
)
def test_a_constant_stated_twice_must_be_the_same(
    files: Any, shape: tuple[int, ...], names: list[str] | None
) -> None:
    path = files.write(
        [node("MatMul", ["x", "w"], ["y"])], {"x": (3, 4)}, "y", weights={"w": (4, 4)}
    )
    model = onnx.load(path)
    again = TensorProto(name="w", dims=shape, data_type=TensorProto.FLOAT16)
    model.graph.initializer.append(again)
    onnx.save(model, path)
    if names is None:
        with pytest.raises(BadInputError, match="w is stated twice") as error:
            import_onnx(path)
        assert error.value.code == "duplicate-output"
    else:
        assert import_onnx(path).graph.macs == 3 * 4 * 4


@pytest.mark.parametrize("domain", ["elkhound", ""])
def test_operators_of_our_own_making_are_no_files(files: Any, domain: str) -> None:
    op = "Free" if domain else "elkhound::Free"
    path = files.write([node(op, ["x"], ["y"], domain=domain)], {"x": (3, 4)}, "y")
    with pytest.raises(BadInputError, match="operator elkhound::Free") as error:
        import_onnx(path)
    assert error.value.code == "unsupported-operator"


def test_a_sparse_constant_is_the_dense_one_it_stands_for(files: Any) -> None:
    sparse = onnx.SparseTensorProto(
        dims=[4, 5],
        values=TensorProto(dims=[1], data_type=TensorProto.FLOAT16, int32_data=[1]),
        indices=TensorProto(dims=[1], data_type=TensorProto.INT64, int64_data=[7]),
    )
    nodes = [
        node("Constant", [], ["w"], sparse_value=sparse),
        node("MatMul", ["x", "w"], ["y"]),
    ]
    graph = import_onnx(files.write(nodes, {"x": (3, 4)}, "y")).graph
    assert graph.macs == 3 * 4 * 5
    assert graph.streamed_bytes(graph.operators[0]) == 4 * 5 * 2


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


def test_a_refusal_is_text_whatever_bytes_the_files_name_has(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"\xff.onnx")
    odd.write_bytes(b"no model")
    with pytest.raises(BadInputError) as error:
        import_onnx(odd)
    assert ascii(error.value.where).endswith(r"/\ufffd.onnx'")
