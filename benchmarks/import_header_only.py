"""Import 200 GiB of weights that are not there, and weights that are in the file.

    python benchmarks/import_header_only.py

The first file has 200 external initializers of 1 GiB each, and no data beside it. The
others hold their weights. Peak memory is the larger one of the command and the process
apart that runs onnx, in MiB; CPU seconds are those of both, which other work on the
machine does not lengthen.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx
from onnx import TensorProto, helper

COMMAND = """
import json, resource, sys
from elkhound.experiments.cli.main import run
status = run(["import", sys.argv[1], "--json"])
usages = [
    resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
]
print(
    json.dumps([(u.ru_maxrss / 1024, u.ru_utime + u.ru_stime) for u in usages]),
    file=sys.stderr,
)
sys.exit(status)
"""


def chain(count: int, width: int, *, inline: bool) -> bytes:
    """Return x · W₁ · W₂ …, the weights fp32 and (width, width)."""
    nodes, weights = [], []
    for index in range(count):
        weight = TensorProto(
            name=f"w{index}", dims=[width, width], data_type=TensorProto.FLOAT
        )
        if inline:
            weight.raw_data = bytes(4 * width * width)
        else:
            weight.data_location = TensorProto.EXTERNAL
            weight.external_data.add(key="location", value="missing.bin")
        weights.append(weight)
        names = ([f"x{index}", f"w{index}"], [f"x{index + 1}"])
        nodes.append(helper.make_node("MatMul", *names))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "chain",
        [value("x0", TensorProto.FLOAT, [1, width])],
        [value(f"x{count}", TensorProto.FLOAT, [1, width])],
        weights,
    )
    model: onnx.ModelProto = helper.make_model(graph, ir_version=10)
    return bytes(model.SerializeToString())


def write_apart(path: Path, count: int, width: int, inline: bool) -> None:
    """Write a file in a process apart: peaks are handed down to children."""
    numbers = map(str, (count, width, int(inline)))
    subprocess.run([sys.executable, __file__, str(path), *numbers], check=True)


def measure(path: Path) -> tuple[float, float, float, int]:
    """Return wall and CPU seconds, peak MiB and weight bytes of `elkhound import`."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(path)], capture_output=True, check=True
    )
    seconds = time.perf_counter() - start
    peaks, cpu = zip(*json.loads(done.stderr.splitlines()[-1]), strict=True)
    return seconds, sum(cpu), max(peaks), json.loads(done.stdout)["weight_bytes"]


def main() -> None:
    cases = [
        ("200 external weights of 1 GiB", 200, 16384, False),
        ("1 weight of 1 MiB in the file", 1, 512, True),
        ("16 weights of 16 MiB in the file", 16, 2048, True),
        ("64 weights of 16 MiB in the file", 64, 2048, True),
    ]
    print(f"{'':36}{'s':>7}{'CPU s':>7}{'MiB':>7}{'weights, GiB':>14}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.onnx"
        for name, count, width, inline in cases:
            write_apart(path, count, width, inline)
            seconds, cpu, peak, weight_bytes = measure(path)
            size = f"{weight_bytes / 2**30:.3f}"
            print(f"{name:36}{seconds:7.2f}{cpu:7.2f}{peak:7.0f}{size:>14}")


if __name__ == "__main__":
    if len(sys.argv) == 5:
        size, side, held = map(int, sys.argv[2:])
        Path(sys.argv[1]).write_bytes(chain(size, side, inline=bool(held)))
    else:
        main()
