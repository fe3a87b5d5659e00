"""Reads one ONNX file in a process of its own and prints what planning needs.

onnx's native code hangs or crashes on some files, so it never runs in the caller's
process. This script is run by path and needs only onnx. Standard input holds a line of
JSON, ``{"bind"}``, and the bytes of the model; it prints a JSON object: no weights, at
most `SMALL` elements of any constant.
"""

from __future__ import annotations

import json
import math
import resource
import sys
from collections.abc import Iterable

import onnx
import onnx.checker
import onnx.defs
import onnx.inliner
import onnx.numpy_helper
import onnx.shape_inference
from google.protobuf.descriptor import (  # type: ignore[import-untyped]
    FieldDescriptor,
)
from google.protobuf.message import (  # type: ignore[import-untyped]
    DecodeError,
    Message,
)

Json = dict[str, object]

MEMORY_BYTES = 2 * 1024**3  # onnx's inference writes out Ranges of any length
MOST_NODES = 50_000  # once local functions are inlined
SMALL = 4096  # elements of a constant that are read; the rest are weights
SPILLED = "elkhound.spilled"  # metadata property: a JSON list of value names
DATA_FIELDS = (
    "raw_data",
    "float_data",
    "int32_data",
    "int64_data",
    "double_data",
    "uint64_data",
    "string_data",
    "external_data",
)
KINDS = {
    "INT": "an integer",
    "FLOAT": "a number",
    "STRING": "a text",
    "INTS": "a list of integers",
    "FLOATS": "a list of numbers",
    "STRINGS": "a list of texts",
    "TENSOR": "a tensor",
    "GRAPH": "a graph",
}
REFUSALS = (  # what onnx raises on files that can still be planned
    onnx.checker.ValidationError,
    onnx.shape_inference.InferenceError,
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
    MemoryError,
)


def type_name(element_type: int) -> str:
    """Return onnx's own name of an element type, such as ``BFLOAT16``."""
    if element_type in onnx.TensorProto.DataType.values():
        return str(onnx.TensorProto.DataType.Name(element_type))
    return f"TYPE_{element_type}"


def standard(domain: str) -> str:
    """Return a domain, ONNX's own under the shorter of its two names."""
    return "" if domain == "ai.onnx" else domain


def tensors_of(nodes: Iterable[onnx.NodeProto]) -> Iterable[onnx.TensorProto]:
    """Yield the tensors in attributes, through subgraphs."""
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            for graph in (attribute.g, *attribute.graphs):
                yield from graph.initializer
                yield from tensors_of(graph.node)


def is_text(message: Message) -> bool:
    """Tell whether every name in a message is UTF-8; protobuf lets others through."""
    for field, value in message.ListFields():
        several = value if field.is_repeated else (value,)
        if field.type == FieldDescriptor.TYPE_STRING:
            good = all(isinstance(text, str) for text in several)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            good = all(is_text(part) for part in several)
        else:
            continue
        if not good:
            return False
    return True


def strip(tensor: onnx.TensorProto) -> None:
    """Drop a tensor's data where it is large: its shape and type stay."""
    external = tensor.data_location == onnx.TensorProto.EXTERNAL
    if external or math.prod(tensor.dims) > SMALL:
        for field in DATA_FIELDS:
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.DEFAULT


def tensor_json(tensor: onnx.TensorProto) -> Json:
    """Return a tensor's type and shape, and its elements if they are in the file."""
    elements = math.prod(tensor.dims)
    present = any(len(getattr(tensor, field)) for field in DATA_FIELDS[:-1])
    values = None
    number = tensor.data_type != onnx.TensorProto.STRING
    if number and elements <= SMALL and (present or elements == 0):
        try:
            array = onnx.numpy_helper.to_array(tensor)
        except (ValueError, TypeError, KeyError):
            array = None  # data that does not fit its shape: as good as absent
        if array is not None:
            kind = int if array.dtype.kind in "iub" else float
            values = [kind(value) for value in array.reshape(-1)]
    return {
        "dtype": type_name(tensor.data_type),
        "dims": list(tensor.dims),
        "values": values,
    }


def attribute_json(attribute: onnx.AttributeProto, opsets: dict[str, int]) -> object:
    """Return a plain value; tensors as `tensor_json`, graphs as `graph_json`.

    What is none of these, or a reference, says only what it is, as ``{"kind"}``.
    """
    if attribute.ref_attr_name:
        return {"kind": "a reference to an attribute of a function around it"}
    kind = kind_of(attribute)
    if kind not in KINDS and kind != "SPARSE_TENSOR":
        return {"kind": f"of type {kind}"}
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, onnx.TensorProto):
        return tensor_json(value)
    if isinstance(value, onnx.SparseTensorProto):
        return sparse_json(value)
    if isinstance(value, onnx.GraphProto):
        return graph_json(value, opsets)
    if isinstance(value, (int, float)):
        return value
    if kind == "STRINGS":
        return [text.decode(errors="replace") for text in value]
    return list(value)


def kind_of(attribute: onnx.AttributeProto) -> str:
    """Return onnx's own name of an attribute's type, such as ``INTS``."""
    if attribute.type in onnx.AttributeProto.AttributeType.values():
        return str(onnx.AttributeProto.AttributeType.Name(attribute.type))
    return f"TYPE_{attribute.type}"


def is_number(dim: onnx.TensorShapeProto.Dimension) -> bool:
    """Tell whether a dimension has an extent; some exporters write −1 for unknown."""
    return dim.HasField("dim_value") and dim.dim_value != -1


def value_json(value: onnx.ValueInfoProto) -> Json:
    """Return name, type and dims: an integer, a symbol, or None where unnamed."""
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        other = kind.upper() if kind else None
        return {"name": value.name, "dtype": other, "dims": None}
    tensor = value.type.tensor_type
    dims: list[int | str | None] | None = None
    if tensor.HasField("shape"):
        dims = [
            dim.dim_value if is_number(dim) else dim.dim_param or None
            for dim in tensor.shape.dim
        ]
    return {
        "name": value.name,
        "dtype": type_name(tensor.elem_type) if tensor.elem_type else None,
        "dims": dims,
    }


def wanted_kind(wanted: onnx.defs.OpSchema.Attribute) -> str:
    """Return onnx's own name of the type that a schema asks of an attribute."""
    return str(wanted.type).rpartition(".")[2]


def shown(attribute: onnx.AttributeProto) -> str:
    """Return an attribute's value and type as a few characters of a message."""
    kind = kind_of(attribute)
    if kind not in KINDS:
        return f"of type {kind}"
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, Message):
        return f"a {kind}"
    if kind.endswith("S"):
        value = [
            v.decode(errors="replace") if isinstance(v, bytes) else v
            for v in list(value)[:9]
        ]
    text = repr(value.decode(errors="replace") if isinstance(value, bytes) else value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({kind})"


def misfit(node: onnx.NodeProto, opsets: dict[str, int]) -> tuple[str, str]:
    """Return how a node differs from its operator's schema, and the refusal's code.

    The first is empty if it does not differ.
    """
    domain = standard(node.domain)
    try:
        schema = onnx.defs.get_schema(node.op_type, opsets.get(domain, 1), domain)
    except (onnx.defs.SchemaError, TypeError):
        return "", ""  # not an operator onnx knows, or no opset it can have
    for what, names, least, most in (
        ("inputs", node.input, schema.min_input, schema.max_input),
        ("outputs", node.output, schema.min_output, schema.max_output),
    ):
        if not least <= len(names) <= most:
            return f"has {len(names)} {what}, takes {least} to {most}", "bad-node"
    return unlike(node, schema), "bad-attribute"


def unlike(node: onnx.NodeProto, schema: onnx.defs.OpSchema) -> str:
    """Return which attribute differs from a schema, and how; empty if none does."""
    given = {attribute.name: attribute for attribute in node.attribute}
    for name, attribute in given.items():
        if attribute.ref_attr_name:
            return f"attribute {name} refers to a function, which is not around it"
    for name, wanted in schema.attributes.items():
        kind = wanted_kind(wanted)
        words = f"{KINDS.get(kind, 'an attribute')} ({kind})"
        if name in given and kind_of(given[name]) != kind:
            return f"attribute {name} is {shown(given[name])}, must be {words}"
        if name not in given and wanted.required:
            return f"lacks attribute {name}, {words}"
    return ""


def node_json(node: onnx.NodeProto, opsets: dict[str, int]) -> Json:
    """Return a node with plain attributes."""
    text, code = misfit(node, opsets)
    return {
        "misfit": text,
        "misfit_code": code,
        "name": node.name,
        "domain": node.domain,
        "op": node.op_type,
        "inputs": list(node.input),
        "outputs": list(node.output),
        "attributes": {a.name: attribute_json(a, opsets) for a in node.attribute},
    }


def graph_json(graph: onnx.GraphProto, opsets: dict[str, int]) -> Json:
    """Return a subgraph: nodes, constants, names of inputs and outputs."""
    return {
        "nodes": [node_json(node, opsets) for node in graph.node],
        "initializers": initializers_json(graph),
        "inputs": [value.name for value in graph.input],
        "outputs": [value.name for value in graph.output],
    }


def initializers_json(graph: onnx.GraphProto) -> dict[str, Json]:
    """Return the constants of a graph by name; sparse ones by shape."""
    found = {t.name: tensor_json(t) for t in graph.initializer}
    for sparse in graph.sparse_initializer:
        found[sparse.values.name] = sparse_json(sparse)
    return found


def sparse_json(sparse: onnx.SparseTensorProto) -> Json:
    """Return a sparse tensor as the dense one it stands for, its elements unknown."""
    return {
        "dtype": type_name(sparse.values.data_type),
        "dims": list(sparse.dims),
        "values": None,
    }


def stated_twice(graph: onnx.GraphProto) -> str:
    """Return an input or initializer of which the graph holds two that differ."""
    for values in (graph.input, graph.initializer):
        seen: dict[str, Message] = {}
        for value in values:
            if seen.setdefault(value.name, value) != value:
                return str(value.name)
    return ""


def inlined_nodes(model: onnx.ModelProto) -> int:
    """Return how many nodes there are once local functions are inlined.

    Counted before onnx does it: a function that calls another twice, which calls
    another twice, doubles them every time. One that calls itself counts as one node.
    """
    functions = {(f.domain, f.name): f for f in model.functions}
    counts: dict[tuple[str, str], int] = {}

    def count(nodes: Iterable[onnx.NodeProto]) -> int:
        return sum(1 + called(node) + inside(node) for node in nodes)

    def inside(node: onnx.NodeProto) -> int:
        graphs = [g for a in node.attribute for g in (a.g, *a.graphs)]
        return sum(count(graph.node) for graph in graphs)

    def called(node: onnx.NodeProto) -> int:
        key = (node.domain, node.op_type)
        if key in functions and key not in counts:
            counts[key] = 0  # as long as it is counted: it may call itself
            counts[key] = count(functions[key].node)
        return counts.get(key, 0)

    return count(model.graph.node)


def bind_inputs(graph: onnx.GraphProto, bind: dict[str, int]) -> None:
    """Replace symbols of the inputs by numbers and forget all other shapes.

    Recorded shapes of intermediates may stem from the exporter's sample input, so
    inference starts from the inputs alone.
    """
    for value in graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if not is_number(dim):
                symbol = dim.dim_param or f"{value.name}[{axis}]"
                if symbol in bind:
                    dim.dim_value = bind[symbol]
    del graph.value_info[:]
    for output in graph.output:
        if output.type.WhichOneof("value") == "tensor_type":
            output.type.tensor_type.ClearField("shape")


def objections(model: onnx.ModelProto) -> list[str]:
    """Return what onnx's checker says of everything but the weights' data.

    It refuses many files that can be planned, so it only warns. Weights are shown to
    it as inputs, because their data is gone.
    """
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    fed = {value.name for value in shown.graph.input}
    for tensor in shown.graph.initializer:
        if tensor.name not in fed:
            shown.graph.input.append(
                onnx.helper.make_tensor_value_info(
                    tensor.name, tensor.data_type, tensor.dims
                )
            )
    del shown.graph.initializer[:]
    for tensor in tensors_of(shown.graph.node):
        if not any(len(getattr(tensor, field)) for field in DATA_FIELDS):
            tensor.dims[:] = [0]  # its data is gone as well: nothing to hold against it
    try:
        onnx.checker.check_model(shown)
    except REFUSALS as error:
        return [f"onnx's checker objects: {first_line(error)}"]
    return []


def first_line(error: Exception) -> str:
    """Return the first line of onnx's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def spilled(model: onnx.ModelProto) -> list[str]:
    """Return the values that the file's metadata sends to HBM."""
    for entry in model.metadata_props:
        if entry.key == SPILLED:
            try:
                names = json.loads(entry.value)
            except ValueError:
                return []
            listed = names if isinstance(names, list) else []
            return [name for name in listed if isinstance(name, str)]
    return []


def read(content: bytes, bind: dict[str, int]) -> Json:
    """Parse, strip, inline, bind and infer one model."""
    try:
        model = onnx.load_from_string(content, format="protobuf")
    except (DecodeError, ValueError, RuntimeError) as error:
        return {"error": str(error) or type(error).__name__}
    if not model.HasField("graph"):
        return {"error": "it has no graph"}
    if not is_text(model):
        return {"error": "a name in it is not UTF-8"}
    twice = stated_twice(model.graph)
    if twice:
        return {
            "error": f"{twice} is stated twice, and differently",
            "code": "duplicate-output",
        }
    for tensor in model.graph.initializer:
        strip(tensor)
    warnings = objections(model)
    for tensor in tensors_of(model.graph.node):
        strip(tensor)
    for function in model.functions:
        for tensor in tensors_of(function.node):
            strip(tensor)
    if model.functions:
        nodes = inlined_nodes(model)
        if nodes > MOST_NODES:
            return {
                "error": f"{nodes} nodes once its local functions are inlined, "
                f"at most {MOST_NODES} can be planned",
                "code": "too-many-nodes",
            }
        try:
            model = onnx.inliner.inline_local_functions(model)
        except DecodeError:
            return {
                "error": "once its local functions are inlined, Ifs, Loops and Scans "
                "are nested deeper than protobuf reads messages",
                "code": "too-deep",
            }
        except REFUSALS as error:
            warnings.append(
                f"local functions could not be inlined: {first_line(error)}"
            )
    graph = model.graph
    declared = [value_json(v) for v in (*graph.value_info, *graph.output)]
    inputs = [value_json(value) for value in graph.input]
    bind_inputs(graph, bind)
    inferred = graph
    try:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except REFUSALS as error:
        warnings.append(f"onnx shape inference gave up: {first_line(error)}")
    opsets = {standard(o.domain): o.version for o in model.opset_import}
    return {
        "opsets": opsets,
        "inputs": inputs,
        "outputs": [value.name for value in graph.output],
        "initializers": initializers_json(graph),
        "nodes": [node_json(node, opsets) for node in graph.node],
        "declared": declared,
        "inferred": [value_json(v) for v in (*inferred.value_info, *inferred.output)],
        "warnings": warnings,
        "spilled": spilled(model),
    }


def main() -> None:
    """Answer the one request on standard input."""
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    request = json.loads(sys.stdin.buffer.readline())
    json.dump(read(sys.stdin.buffer.read(), request["bind"]), sys.stdout)


if __name__ == "__main__":
    main()
