"""Builds graphs operator by operator, in execution order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elkhound.model.dtype import DTYPES
from elkhound.model.graph import (
    Access,
    Axis,
    Dimension,
    Einsum,
    Graph,
    Home,
    Operator,
    OperatorKind,
    Pass,
    Tensor,
)
from elkhound.model.passes import ADD_PASSES, MATMUL_BIAS_PASSES, MATMUL_PASSES


def access(tensor: str, *dimensions: str) -> Access:
    """Return the access in which axis i of a view is indexed by dimension i."""
    return Access(tensor, tuple(Axis(((name, 1),)) for name in dimensions))


class GraphBuilder:
    """Collects tensors and operators; every operator writes a resident tensor.

    Parameters
    ----------
    dtype : str
        Element type of tensors unless said otherwise.
    """

    def __init__(self, dtype: str) -> None:
        self.layer: int | None = None
        self._dtype = dtype
        self._tensors: dict[str, Tensor] = {}
        self._operators: list[Operator] = []

    def streamed(self, name: str, *shape: int) -> str:
        """Declare a weight or cache in HBM; declaring it again changes nothing."""
        return self._tensor(name, shape, Home.HBM, self._dtype)

    def resident(self, name: str, *shape: int, dtype: str | None = None) -> str:
        """Declare a tensor on the chip."""
        return self._tensor(name, shape, Home.CHIP, dtype or self._dtype)

    def scoped(self, name: str) -> str:
        """Return the name inside the current layer."""
        return name if self.layer is None else f"layer{self.layer}.{name}"

    def operator(
        self,
        name: str,
        kind: OperatorKind,
        sizes: Mapping[str, int],
        inputs: Sequence[Access],
        output: Sequence[str],
        passes: tuple[Pass, ...],
        *,
        rows: tuple[str, ...] = (),
        rounds: int = 0,
    ) -> str:
        """Append an operator and return its output, a tensor of the same name.

        `output` lists the dimensions that index the output; `rows` and `rounds` are
        the einsum's row dimensions and statistics rounds.
        """
        name = self.scoped(name)
        self.resident(name, *(sizes[dimension] for dimension in output))
        einsum = Einsum(
            dimensions=tuple(Dimension(d, size) for d, size in sizes.items()),
            inputs=tuple(inputs),
            output=access(name, *output),
            passes=passes,
            row_dimensions=rows,
            statistics_rounds=rounds,
        )
        self._operators.append(Operator(name, kind, einsum, self.layer))
        return name

    def projection(
        self, name: str, x: str, sizes: Mapping[str, int], *, bias: bool
    ) -> str:
        """Append x[m, k] · weight[k, n] (+ bias[n]); weight and bias are streamed."""
        scoped = self.scoped(name)
        weight = self.streamed(f"{scoped}.weight", sizes["k"], sizes["n"])
        inputs = [access(x, "m", "k"), access(weight, "k", "n")]
        if bias:
            inputs.append(access(self.streamed(f"{scoped}.bias", sizes["n"]), "n"))
        return self.operator(
            name,
            OperatorKind.MATMUL,
            sizes,
            inputs,
            ("m", "n"),
            MATMUL_BIAS_PASSES if bias else MATMUL_PASSES,
        )

    def add(self, name: str, x: str, y: str, sizes: Mapping[str, int]) -> str:
        """Append x[m, n] + y[m, n]."""
        inputs = (access(x, "m", "n"), access(y, "m", "n"))
        return self.operator(
            name, OperatorKind.ELEMENTWISE, sizes, inputs, ("m", "n"), ADD_PASSES
        )

    def graph(self, name: str, outputs: Sequence[str]) -> Graph:
        """Return what was built."""
        return Graph(
            name, tuple(self._tensors.values()), tuple(self._operators), tuple(outputs)
        )

    def _tensor(self, name: str, shape: tuple[int, ...], home: Home, dtype: str) -> str:
        tensor = Tensor(name, shape, DTYPES[dtype], home)
        if self._tensors.setdefault(name, tensor) != tensor:
            raise ValueError(f"tensor {name}: declared with two shapes")
        return name
