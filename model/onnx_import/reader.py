"""ONNX file → `Source`, through a process with a time limit; weights stay unread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from elkhound.model.dtype import DTYPES, DType
from elkhound.model.errors import BadInputError
from elkhound.model.io.text import name_of
from elkhound.model.onnx_import.source import (
    Declared,
    Node,
    Source,
    Subgraph,
    Unread,
    Value,
    captured,
)
from elkhound.model.onnx_import.wire import NestedError, WireError, without_weights

WORKER = Path(__file__).with_name("worker.py")
ENVIRONMENT = {"PYTHONUTF8": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads reserve memory
ENDING_SECONDS = 1.0  # until a killed process has given back its memory
OURS = "elkhound::"  # operators that the import itself makes
STANDARD_DOMAINS = ("", "ai.onnx")
CONTRIB = "com.microsoft"
CONTRIB_ONLY = frozenset(
    {"BiasGelu", "EmbedLayerNormalization", "FastGelu", "GroupQueryAttention"}
    | {"MatMulNBits", "MultiHeadAttention", "SkipLayerNormalization"}
    | {"SkipSimplifiedLayerNormalization"}
)
ONNX_TYPE_NAMES = {"FLOAT": "float32", "DOUBLE": "float64"}
CONSTANT_LISTS = {"value_ints": "int64", "value_floats": "float32"}
CONSTANT_SCALARS = {"value_int": "int64", "value_float": "float32"}


def read_source(
    path: Path, bind: Mapping[str, int], time_limit_seconds: float
) -> Source:
    """Return what a file says once its symbols are bound.

    Parameters
    ----------
    path : Path
        The ONNX file; its external data may be missing.
    bind : mapping of str to int
        Extents of symbolic dimensions.
    time_limit_seconds : float
        Limit on onnx's native code, which some well-formed files make hang; from now
        until its process is gone.
    """
    deadline = time.monotonic() + time_limit_seconds
    _check_file(path)
    try:
        content = without_weights(path)
    except WireError as error:
        raise _not_onnx(str(error)) from None
    except NestedError as error:
        raise BadInputError(str(error), code="too-deep") from None
    ending = min(ENDING_SECONDS, time_limit_seconds / 10)
    left = max(deadline - time.monotonic() - ending, 0)
    try:
        answer = ask_worker(content, bind, left)
    except subprocess.TimeoutExpired:
        raise BadInputError(
            f"onnx did not finish reading it within {time_limit_seconds:g} s",
            code="reader-timeout",
        ) from None
    if "error" in answer:
        said = " ".join(str(answer["error"]).split())
        if "code" in answer:
            raise BadInputError(said, code=answer["code"])
        raise _not_onnx(said)
    return _source(path, answer)


def dtype_of(onnx_name: str | None, owner: str) -> DType:
    """Return the element type of a value, refusing strings, sequences and the like."""
    if onnx_name is not None:
        name = ONNX_TYPE_NAMES.get(onnx_name, onnx_name.lower())
        if name in DTYPES:
            return DTYPES[name]
    raise BadInputError(
        f"{owner}: element type {onnx_name or 'unknown'} cannot be planned",
        code="unsupported-type",
    )


def _not_onnx(detail: str) -> BadInputError:
    return BadInputError(f"is not an ONNX model ({detail})", code="not-onnx")


def ask_worker(
    content: bytes, bind: Mapping[str, int], time_limit_seconds: float
) -> dict[str, Any]:
    """Return what worker.py says of a model, run in a process of its own.

    Raises
    ------
    TimeoutExpired
        It did not answer in time, and was killed.
    """
    request = json.dumps({"bind": dict(bind)}).encode() + b"\n"
    search_path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-P", str(WORKER)],
        input=request + content,
        capture_output=True,
        timeout=time_limit_seconds,
        env={**os.environ, "PYTHONPATH": search_path} | ENVIRONMENT,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        last = (said or ["no message"])[-1]
        raise BadInputError(
            f"onnx failed to read it, exit status {done.returncode}: {last}",
            code="reader-failed",
        )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _check_file(path: Path) -> None:
    if not path.exists():
        raise BadInputError("no such file", code="missing-file")
    if not path.is_file():
        raise BadInputError("is a directory, not an ONNX file", code="not-a-file")
    if not os.access(path, os.R_OK):
        raise BadInputError("cannot be read", code="unreadable-file")
    if path.stat().st_size == 0:
        raise _not_onnx("it is empty")


def _source(path: Path, answer: dict[str, Any]) -> Source:
    opsets = answer["opsets"]
    contents = _contents(answer, opsets)
    given = {*contents.constants, *contents.unplannable}
    return Source(
        name=name_of(path),
        nodes=contents.nodes,
        inputs=tuple(
            _declared(raw) for raw in answer["inputs"] if raw["name"] not in given
        ),
        outputs=contents.outputs,
        constants=contents.constants,
        inferred={raw["name"]: _declared(raw) for raw in answer["inferred"]},
        declared={raw["name"]: _declared(raw) for raw in answer["declared"]},
        unplannable=contents.unplannable,
        warnings=tuple(answer["warnings"]),
        spilled=tuple(answer["spilled"]),
    )


def _contents(graph: dict[str, Any], opsets: dict[str, int]) -> Subgraph:
    """Return what is in a graph; Constant nodes become constants."""
    constants: dict[str, Value] = {}
    unplannable: dict[str, BadInputError] = {}

    def add(
        name: str, stated: Callable[[dict[str, Any], str], Value], raw: Any
    ) -> None:
        try:
            constants[name] = stated(raw, name)
        except BadInputError as error:  # nothing may read it
            unplannable[name] = error

    for name, tensor in graph["initializers"].items():
        add(name, _constant, tensor)
    nodes = []
    for raw in graph["nodes"]:
        constant = raw["op"] == "Constant" and raw["domain"] in STANDARD_DOMAINS
        if constant and not raw["misfit"]:
            add(raw["outputs"][0], _constant_node, raw)
        else:
            nodes.append(_node(raw, opsets))
    return Subgraph(
        tuple(nodes),
        tuple(raw if isinstance(raw, str) else raw["name"] for raw in graph["inputs"]),
        tuple(graph["outputs"]),
        constants,
        unplannable,
    )


def _declared(raw: dict[str, Any]) -> Declared:
    dims = None if raw["dims"] is None else tuple(raw["dims"])
    return Declared(name=raw["name"], dtype=raw["dtype"], dims=dims)


def _node(raw: dict[str, Any], opsets: dict[str, int]) -> Node:
    domain, op = raw["domain"], raw["op"]
    standard = domain in STANDARD_DOMAINS
    version = opsets.get("", 1)
    if standard and (op in CONTRIB_ONLY or (op == "Attention" and version < 23)):
        domain, standard = CONTRIB, False  # exporters drop the domain of these
    op = op if standard else f"{domain}::{op}"
    if op.startswith(OURS):
        raise BadInputError(
            f"node {raw['name'] or raw['outputs'][:1]}: operator {op} is of the domain "
            f"that an import makes its own operators in",
            code="unsupported-operator",
        )
    attributes: dict[str, object] = {}
    subgraphs: dict[str, Subgraph] = {}
    misfit, code = raw["misfit"], raw["misfit_code"]
    for key, value in raw["attributes"].items():
        if isinstance(value, dict) and "nodes" in value:
            subgraphs[key] = _contents(value, opsets)
        elif isinstance(value, dict) and "kind" in value:
            attributes[key] = Unread(value["kind"])
        elif isinstance(value, dict):
            try:
                attributes[key] = _constant(value, f"in attribute {key}")
            except BadInputError as error:  # the node may reach no output
                misfit, code = (misfit, code) if misfit else (error.message, error.code)
        else:
            attributes[key] = value
    return Node(
        name=raw["name"],
        op=op,
        inputs=tuple(raw["inputs"]),
        outputs=tuple(raw["outputs"]),
        attributes=attributes,
        version=version if standard else opsets.get(domain, 1),
        misfit=misfit,
        misfit_code=code,
        subgraphs=subgraphs,
        captured=captured(subgraphs.values()),
    )


def _constant(tensor: dict[str, Any], name: str) -> Value:
    shape = tuple(tensor["dims"])
    if any(extent < 0 for extent in shape):
        raise BadInputError(
            f"constant {name}: shape {list(shape)} has an extent below 0",
            code="empty-dimension",
        )
    dtype = dtype_of(tensor["dtype"], f"constant {name}")
    data = None
    if tensor["values"] is not None:
        whole = np.int64 if dtype.name.startswith(("int", "uint", "bool")) else None
        data = np.array(tensor["values"], dtype=whole or np.float64).reshape(shape)
    return Value(dtype=dtype, shape=shape, constant=True, data=data)


def _constant_node(raw: dict[str, Any], name: str) -> Value:
    """Return a Constant node's value, in whichever attribute it is stated."""
    for key, value in raw["attributes"].items():
        if key in ("value", "sparse_value") and isinstance(value, dict):
            return _constant(value, name)
        if key in CONSTANT_SCALARS:
            data = np.array(value)
            return Value(DTYPES[CONSTANT_SCALARS[key]], (), constant=True, data=data)
        if key in CONSTANT_LISTS:
            data = np.array(value)
            return Value(
                DTYPES[CONSTANT_LISTS[key]], data.shape, constant=True, data=data
            )
    raise BadInputError(
        f"constant {name}: only tensors and numbers can be planned, "
        f"got {', '.join(raw['attributes']) or 'nothing'}",
        code="unsupported-type",
    )
