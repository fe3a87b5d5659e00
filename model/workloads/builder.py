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
from elkhound.model.passes import (
    ADD_PASSES,
    COPY_PASSES,
    GEGLU_PASSES,
    GELU_PASSES,
    LAYER_NORM_PASSES,
    LAYER_NORM_ROUNDS,
    MATMUL_BIAS_PASSES,
    MATMUL_PASSES,
    RELU_PASSES,
    RMS_NORM_PASSES,
    RMS_NORM_ROUNDS,
    ROPE_PASSES,
    SILU_PASSES,
    SWIGLU_PASSES,
)
from elkhound.model.workloads.catalogue import Activation, Norm

_NORM_PASSES: dict[Norm, tuple[tuple[Pass, ...], int]] = {
    Norm.RMS: (RMS_NORM_PASSES, RMS_NORM_ROUNDS),
    Norm.LAYER: (LAYER_NORM_PASSES, LAYER_NORM_ROUNDS),
}
_ACTIVATION_PASSES = {
    (Activation.RELU, False): RELU_PASSES,
    (Activation.GELU, False): GELU_PASSES,
    (Activation.SILU, False): SILU_PASSES,
    (Activation.GELU, True): GEGLU_PASSES,
    (Activation.SILU, True): SWIGLU_PASSES,
}
WHOLE = Axis(())  # an axis at one fixed place


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

    @property
    def operators(self) -> tuple[Operator, ...]:
        """What was appended so far."""
        return tuple(self._operators)

    def tensor(self, name: str) -> Tensor:
        """Return a declared tensor."""
        return self._tensors[name]

    def spilled(self, name: str, *shape: int) -> str:
        """Declare a tensor that its writer sends to HBM."""
        return self._tensor(name, shape, Home.SPILLED, self._dtype)

    def append(self, operator: Operator) -> None:
        """Append an operator over declared tensors."""
        self._operators.append(operator)

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
        part_of: str = "",
    ) -> str:
        """Append an operator and return its output, a tensor of the same name.

        `output` lists the dimensions that index the output; `rows` and `rounds` are
        the einsum's row dimensions and statistics rounds. With `part_of` it writes
        its part of that tensor instead.
        """
        name = self.scoped(name)
        written = part_of or self.resident(name, *(sizes[axis] for axis in output))
        einsum = Einsum(
            dimensions=tuple(Dimension(d, size) for d, size in sizes.items()),
            inputs=tuple(inputs),
            output=access(written, *output),
            passes=passes,
            row_dimensions=rows,
            statistics_rounds=rounds,
        )
        self.append(Operator(name, kind, einsum, self.layer))
        return written

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

    def norm(
        self,
        name: str,
        x: str,
        sizes: Mapping[str, int],
        norm: Norm,
        *,
        part_of: str = "",
    ) -> str:
        """Append a normalisation of every row x[m, :], with streamed parameters."""
        scoped = self.scoped(name)
        vectors = [self.streamed(f"{scoped}.weight", sizes["n"])]
        passes, rounds = _NORM_PASSES[norm]
        if norm is Norm.LAYER:
            vectors.append(self.streamed(f"{scoped}.bias", sizes["n"]))
        return self.operator(
            name,
            OperatorKind.NORM,
            sizes,
            (access(x, "m", "n"), *(access(vector, "n") for vector in vectors)),
            ("m", "n"),
            passes,
            rows=("n",),
            rounds=rounds,
            part_of=part_of,
        )

    def activate(
        self,
        name: str,
        parts: Sequence[str],
        sizes: Mapping[str, int],
        activation: Activation,
    ) -> str:
        """Append the non-linearity of x[m, n], or of a gate times x."""
        return self.operator(
            name,
            OperatorKind.ACTIVATION,
            sizes,
            [access(part, *sizes) for part in parts],
            tuple(sizes),
            _ACTIVATION_PASSES[activation, len(parts) == 2],
        )

    def rope(
        self,
        name: str,
        x: str,
        sizes: Mapping[str, int],
        width: int,
        *,
        by: Sequence[str] = (),
    ) -> str:
        """Append the rotation of rows of `width` by the angles of their position.

        Dimension r is a row's half, k the place in it; both halves share an angle.
        """
        whole = {**sizes, "r": 2, "k": width // 2}
        angles = [access(table, *by, "k") for table in ("rope.cos", "rope.sin")]
        return self.operator(
            name,
            OperatorKind.ROPE,
            whole,
            (access(x, *whole), *angles),
            tuple(whole),
            ROPE_PASSES,
        )

    def angles(self, *shape: int) -> None:
        """Declare the tables of cosines and sines; the last extent is half a row."""
        for table in ("rope.cos", "rope.sin"):
            self.resident(table, *shape)

    def last_token(self, x: str, batch: int, width: int) -> str:
        """Append a copy of the last row of each sequence."""
        source = Access(x, (*access(x, "m").axes, WHOLE, *access(x, "n").axes))
        return self.copy("last_token", source, {"m": batch, "n": width})

    def copy(self, name: str, source: Access, sizes: Mapping[str, int]) -> str:
        """Append a copy of what `source` reads, with an axis per size."""
        return self.operator(
            name, OperatorKind.COPY, sizes, (source,), tuple(sizes), COPY_PASSES
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
