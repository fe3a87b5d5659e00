"""Nodes, weights and constants of an ONNX file in the making."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from elkhound.model.graph import Graph

OPSET = 24
CONTRIB = "com.microsoft"
IR_VERSION = 11
DTYPES = {
    "float16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "int32": "INT32",
    "int64": "INT64",
}


class OnnxFile:
    """Collects nodes; every tensor of the graph is a value of its name and shape."""

    def __init__(self, graph: Graph) -> None:
        from onnx import helper

        self.helper = helper
        self.graph = graph
        self.tensors = graph.tensor
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.declared: dict[str, Any] = {}
        self.values = 0

    def model(self, metadata: Mapping[str, str]) -> Any:
        """Return the model."""
        made = {name for node in self.nodes for name in node.output}
        read = {name for node in self.nodes for name in node.input}
        inputs = [
            self.info(name)
            for name in self.tensors
            if name in read and name not in made and name not in self.initializers
        ]
        outputs = [name for name in self.declared if name in made]
        outputs += [name for name in self.graph.outputs if name in made]
        graph = self.helper.make_graph(
            self.nodes,
            self.graph.name,
            inputs,
            [self.declared.get(name) or self.info(name) for name in outputs],
            list(self.initializers.values()),
        )
        domains = sorted({node.domain for node in self.nodes} - {""})
        model = self.helper.make_model(
            graph,
            ir_version=IR_VERSION,
            opset_imports=[
                self.helper.make_opsetid("", OPSET),
                *(self.helper.make_opsetid(domain, 1) for domain in domains),
            ],
            producer_name="elkhound",
        )
        self.helper.set_model_props(model, dict(metadata))
        return model

    def node(
        self,
        op: str,
        inputs: Sequence[str],
        *,
        output: str = "",
        outputs: Sequence[str] = (),
        **attributes: Any,
    ) -> str:
        """Write a node, perhaps of a domain, and return its first output."""
        self.values += 1
        domain, _, plain = op.rpartition("::")
        name = f"{plain}_{self.values}"
        made = list(outputs) or [output or name]
        self.nodes.append(
            self.helper.make_node(
                plain, list(inputs), made, name=name, domain=domain, **attributes
            )
        )
        return made[0]

    def fresh(self, name: str) -> str:
        """Return a name for a value that nobody reads."""
        self.values += 1
        return f"{name}_{self.values}"

    def reshape(
        self,
        value: str,
        shape: Sequence[int],
        known: Sequence[int] | None = None,
        *,
        output: str = "",
    ) -> str:
        """Return a value in another shape; itself if it has that already."""
        if known is None and value in self.tensors:
            known = self.tensors[value].shape
        if not output and known is not None and list(known) == list(shape):
            return value
        target = self.integers(list(shape))
        return self.node("Reshape", (value, target), output=output)

    def transpose(self, value: str, perm: Sequence[int]) -> str:
        """Return a value with its axes in another order; itself if it is the same."""
        if list(perm) == sorted(perm):
            return value
        return self.node("Transpose", (value,), perm=list(perm))

    def slice(self, value: str, axis: int, start: int, end: int) -> str:
        """Return a part of one of a value's axes."""
        bounds = (self.integers([n]) for n in (start, end, axis))
        return self.node("Slice", (value, *bounds))

    def weight(self, name: str, dtype: str, shape: Sequence[int]) -> str:
        """Declare a weight without data."""
        import onnx

        tensor = onnx.TensorProto(name=name, data_type=number_of(dtype), dims=shape)
        self.initializers.setdefault(name, tensor)
        return name

    def integers(self, numbers: Sequence[int] | int) -> str:
        """Declare an int64 constant, a list or one number."""
        several = not isinstance(numbers, int)
        elements = list(numbers) if not isinstance(numbers, int) else [numbers]
        shape = [len(elements)] if several else []
        name = f"constant_{'_'.join(map(str, elements))}_{len(shape)}"
        return self.constant(name, "int64", shape, elements)

    def constant(
        self, name: str, dtype: str, shape: Sequence[int], elements: Sequence[float]
    ) -> str:
        """Declare a constant with elements."""
        if name not in self.initializers:
            self.initializers[name] = self.helper.make_tensor(
                name, number_of(dtype), shape, elements
            )
        return name

    def number(self, value: float, dtype: str) -> str:
        """Declare a constant of one element."""
        return self.constant(f"number_{value}_{dtype}", dtype, [], [value])

    def leaves(self, name: str, dtype: str, shape: Sequence[int]) -> None:
        """Declare an output of the file that is a part of one of the graph's."""
        self.declared[name] = self.helper.make_tensor_value_info(
            name, number_of(dtype), shape
        )

    def info(self, name: str) -> Any:
        """Return the declaration of a tensor."""
        tensor = self.tensors[name]
        return self.helper.make_tensor_value_info(
            name, number_of(tensor.dtype.name), tensor.shape
        )


def number_of(dtype: str) -> int:
    """Return onnx's number of an element type."""
    import onnx

    number: int = onnx.TensorProto.DataType.Value(DTYPES[dtype])
    return number
