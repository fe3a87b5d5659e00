"""Import broken ONNX files: each must end in status 0, 2 or 3, without a traceback.

    python benchmarks/fuzz_onnx.py --files 2000 --seed 0

The files are small models and, if ELKHOUND_CASES names them, real ones, with bytes
flipped, cut or inserted, fields removed, shapes zeroed or made huge, names exchanged
and operators renamed. Each is imported in a process of its own, forked with onnx
loaded; one that crashes or hangs there is imported once more as users do, where a
process apart shields the command from onnx's native code.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from elkhound.experiments.cli.main import run
from elkhound.model.errors import BadInputError
from elkhound.model.onnx_import import reader, worker

LIMIT_SECONDS = 30
LARGEST_SEED_BYTES = 100_000
GOOD = (0, 2, 3)
node, value = helper.make_node, helper.make_tensor_value_info
HUGE = (0, -1, 1, 2**20, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))


def small_models() -> list[bytes]:
    """Return models of a few nodes that reach most rules."""
    x, y = (value(name, TensorProto.FLOAT, ["n", 8]) for name in ("x", "y"))
    image = value("i", TensorProto.FLOAT, [1, 4, "h", 8])
    weights = {
        "w": (8, 8), "b": (8,), "k": (6, 4, 3, 3), "t": (4, 2, 3, 3),
        "l": (1, 32, 8), "r": (1, 32, 8), "c": (1, 2, 5, 4),
    }  # fmt: skip
    numbers = {"shape": [2, -1], "axes": [1], "starts": [0], "ends": [4], "k2": [2]}
    branch = helper.make_graph(
        [node("Relu", ["x"], ["z"])], "then", [], [value("z", TensorProto.FLOAT, None)]
    )
    body = helper.make_graph(
        [node("MatMul", ["s", "w"], ["q"]), node("Identity", ["g"], ["f"])],
        "body",
        [
            value("j", TensorProto.INT64, []),
            value("g", TensorProto.BOOL, []),
            value("s", TensorProto.FLOAT, ["n", 8]),
        ],
        [value("f", TensorProto.BOOL, []), value("q", TensorProto.FLOAT, ["n", 8])],
    )
    contrib = "com.microsoft"
    bodies = [
        [node("MatMul", ["x", "w"], ["h"]), node("Add", ["h", "b"], ["a"]),
         node("Softmax", ["a"], ["y"], axis=-1)],
        [node("LayerNormalization", ["x", "b", "b"], ["h"]),
         node("Slice", ["h", "starts", "ends", "axes"], ["y"])],
        [node("Conv", ["i", "k"], ["h"], pads=[1] * 4), node("Relu", ["h"], ["y"])],
        [node("ConvTranspose", ["i", "t"], ["h"], strides=[2, 2]),
         node("MaxPool", ["h"], ["y"], kernel_shape=[2, 2])],
        [node("Unsqueeze", ["x", "axes"], ["u"]),
         node("LSTM", ["u", "l", "r"], ["y", "last"], hidden_size=8)],
        [node("TopK", ["x", "k2"], ["y", "index"], axis=1)],
        [node("Einsum", ["x", "w"], ["y"], equation="ab,bc->ac")],
        [node("Cast", ["x"], ["p"], to=TensorProto.BOOL),
         node("ReduceMax", ["p"], ["m"], keepdims=0),
         node("If", ["m"], ["y"], then_branch=branch, else_branch=branch)],
        [node("Loop", ["k2", "", "x"], ["y"], body=body)],
        [node("DynamicQuantizeLinear", ["x"], ["d", "ds", "dz"]),
         node("DequantizeLinear", ["d", "ds", "dz"], ["y"])],
        [node("Unsqueeze", ["x", "axes"], ["u"]),
         node("MultiHeadAttention", ["u", "u", "u", "", "", "", "c", "c"],
              ["y", "pk", "pv"], domain=contrib, num_heads=2)],
        [node("SkipLayerNormalization", ["x", "x", "b", "b"], ["h"], domain=contrib),
         node("FastGelu", ["h", "b"], ["y"], domain=contrib)],
        [node("Reshape", ["x", "shape"], ["v"]), node("Transpose", ["v"], ["t1"]),
         node("Exp", ["t1"], ["y"])],
        [node("ScatterND", ["x", "axes", "b"], ["h"]),
         node("Pad", ["h", "pads"], ["y"])],
    ]  # fmt: skip
    numbers["pads"] = [0, 1, 0, 1]
    initializers = [
        TensorProto(name=name, dims=dims, data_type=TensorProto.FLOAT)
        for name, dims in weights.items()
    ]
    initializers += [
        helper.make_tensor(name, TensorProto.INT64, [len(data)], data)
        for name, data in numbers.items()
    ]
    imports = [helper.make_opsetid("", 18), helper.make_opsetid(contrib, 1)]
    return [
        helper.make_model(
            helper.make_graph(nodes, "seed", [x, image], [y], initializers),
            ir_version=10,
            opset_imports=imports,
        ).SerializeToString()
        for nodes in bodies
    ]


def seeds() -> list[bytes]:
    """Return the files to break."""
    found = small_models()
    if "ELKHOUND_CASES" in os.environ:
        folder = Path(os.environ["ELKHOUND_CASES"]) / "onnx"
        for path in sorted(folder.glob("*.onnx")):
            if path.stat().st_size <= LARGEST_SEED_BYTES:
                found.append(path.read_bytes())
    return found


def flip(content: bytes, luck: random.Random) -> bytes:
    """Change, cut or insert a few bytes."""
    data = bytearray(content)
    for _ in range(luck.choice((1, 1, 2, 4, 16))):
        place = luck.randrange(len(data) or 1)
        how = luck.randrange(4)
        if how == 0 and data:
            data[place % len(data)] ^= 1 << luck.randrange(8)
        elif how == 1 and data:
            data[place % len(data)] = luck.randrange(256)
        elif how == 2:
            del data[place : place + luck.randrange(1, 9)]
        else:
            data[place:place] = luck.randbytes(luck.randrange(1, 5))
    return bytes(
        data[: luck.randrange(len(data) or 1)] if luck.random() < 0.1 else data
    )


def messages(message: Any) -> Iterator[Any]:
    """Yield a message and all that it holds."""
    yield message
    for field, held in message.ListFields():
        if field.message_type is not None:
            for part in held if field.is_repeated else (held,):
                yield from messages(part)


def rewrite(content: bytes, luck: random.Random) -> bytes:
    """Change what a model says, so that it still is one."""
    model = onnx.load_from_string(content)
    for _ in range(luck.choice((1, 1, 2, 3))):
        change = luck.choice((drop_field, change_number, change_text, swap_nodes))
        change(model, luck)
    return bytes(model.SerializeToString())


def drop_field(model: Any, luck: random.Random) -> None:
    """Remove a field somewhere."""
    chosen = luck.choice(list(messages(model)))
    fields = chosen.ListFields()
    if fields:
        chosen.ClearField(luck.choice(fields)[0].name)


def change_number(model: Any, luck: random.Random) -> None:
    """Make an integer zero, negative or huge."""
    places = [
        (message, field, held)
        for message in messages(model)
        for field, held in message.ListFields()
        if field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_INT32)
    ]
    message, field, held = luck.choice(places)
    number = luck.choice(HUGE)
    if field.cpp_type == field.CPPTYPE_INT32:
        number = max(-(2**31), min(number, 2**31 - 1))
    if field.is_repeated:
        held[luck.randrange(len(held))] = number
    else:
        setattr(message, field.name, number)


def change_text(model: Any, luck: random.Random) -> None:
    """Give something the name of something else."""
    places = [
        (message, field, held)
        for message in messages(model)
        for field, held in message.ListFields()
        if field.type == field.TYPE_STRING
    ]
    words = [
        "",
        "MatMul",
        "Reshape",
        "Split",
        "Concat",
        "GRU",
        "Gather",
        "Loop",
        "Resize",
    ]
    for _, _, held in places:
        words += [held] if isinstance(held, str) else list(held)
    message, field, held = luck.choice(places)
    if field.is_repeated:
        held[luck.randrange(len(held))] = luck.choice(words)
    else:
        setattr(message, field.name, luck.choice(words))


def swap_nodes(model: Any, luck: random.Random) -> None:
    """Exchange the inputs of two nodes."""
    nodes = [m for m in messages(model) if isinstance(m, onnx.NodeProto)]
    if nodes:
        one, other = luck.choice(nodes), luck.choice(nodes)
        kept = list(one.input)
        one.input[:] = list(other.input)
        other.input[:] = kept


def broken(content: bytes, luck: random.Random) -> bytes:
    """Return a file with something wrong."""
    mutate: Callable[[bytes, random.Random], bytes]
    mutate = luck.choice((flip, rewrite, rewrite))
    try:
        return mutate(content, luck)
    except (ValueError, TypeError, IndexError):
        return flip(content, luck)


def symbols_of(content: bytes) -> list[str]:
    """Return flags that bind every symbol of a file, if it can be read."""
    try:
        model = onnx.load_from_string(content)
    except Exception:  # whatever protobuf makes of it
        return []
    names = set()
    for graph_input in model.graph.input:
        for axis, dim in enumerate(graph_input.type.tensor_type.shape.dim):
            if not dim.HasField("dim_value"):
                names.add(dim.dim_param or f"{graph_input.name}[{axis}]")
    plain = [n for n in names if n and "," not in n and "=" not in n]
    return [f"--bind={name}=3" for name in plain]


def in_a_fork(arguments: list[str], log: Path) -> int | None:
    """Return the exit status of the command; None if it crashed or took too long."""
    child = os.fork()
    if child == 0:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os._exit(run(arguments))
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else None
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def as_users_do(arguments: list[str], log: Path) -> int | None:
    """Return the exit status of the real command; None if it hangs."""
    code = "from elkhound.experiments.cli.main import main; main()"
    with log.open("wb") as output:
        try:
            done = subprocess.run(
                [sys.executable, "-c", code, *arguments],
                stdout=output,
                stderr=output,
                timeout=LIMIT_SECONDS + 15,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
    return done.returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="where to keep files that fail")
    options = parser.parse_args()
    originals = seeds()

    def ask(content: bytes, bind: Any, limit: float) -> Any:
        try:
            return worker.read(content, dict(bind))
        except Exception as error:  # ends the process apart, and so the command
            raise BadInputError(repr(error), code="reader-failed") from None

    reader.ask_worker = ask
    counts: collections.Counter[str] = collections.Counter()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        for number in range(options.files):
            luck = random.Random(f"{options.seed} {number}")
            content = broken(luck.choice(originals), luck)
            path = Path(folder) / f"{number}.onnx"
            path.write_bytes(content)
            extra = ["--no-patterns"] if luck.random() < 0.2 else []
            extra += ["--unknown=zero"] if luck.random() < 0.2 else []
            arguments = ["import", str(path), "--json", *symbols_of(content), *extra]
            status = in_a_fork(arguments, log)
            if status is None:
                counts["again, as users do"] += 1
                status = as_users_do(arguments, log)
            said = log.read_text(errors="replace")
            good = status in GOOD and "Traceback" not in said
            counts[f"status {status}" if good else "FAILED"] += 1
            if not good:
                failed += 1
                tail = "\n    ".join(said.strip().splitlines()[-3:])
                print(f"file {number}: status {status}\n    {tail}", flush=True)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (options.keep / path.name).write_bytes(content)
            path.unlink()
    print(", ".join(f"{name}: {count}" for name, count in sorted(counts.items())))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
