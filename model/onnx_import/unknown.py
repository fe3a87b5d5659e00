"""What to do with operators nobody knows: refuse, let go free, or ask a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from elkhound.model.dtype import DTYPES
from elkhound.model.errors import BadInputError, nearest
from elkhound.model.graph import Pass
from elkhound.model.io.document import Document, KeyPath, read_document
from elkhound.model.io.fields import Count, FileModel, Positive
from elkhound.model.io.validate import validated
from elkhound.model.onnx_import.formula import Formula, parse
from elkhound.model.onnx_import.user_operators import (
    OperatorCall,
    OutputCost,
    StandIn,
    UserOperator,
    installed,
)

PassName = Literal["matmul", "elementwise", "unary", "reduce", "slice", "gather"]
Extent = Positive | str
View = list[Extent]


class OutputModel(FileModel):
    """One output, and the work that makes it."""

    shape: list[Extent] | None = Field(
        None, description="numbers or formulas; input 0's shape if absent"
    )
    dtype: str | None = Field(None, description="element type; input 0's if absent")
    passes: list[PassName] = Field(
        min_length=1, description="sweeps over a tile, in order"
    )
    reads: list[Count] | None = Field(
        None, description="inputs that it reads, in this order; all if absent"
    )
    einsum: str | None = Field(
        None, description="which elements meet, such as bmk,nk->bmn"
    )
    views: list[View | None] | None = Field(
        None,
        description="shape in which the einsum sees each input read; null for its own",
    )
    result: list[Extent] | None = Field(
        None, description="shape in which the einsum sees the output"
    )


class OperatorModel(FileModel):
    """How one operator type is shaped and costed."""

    as_: str | None = Field(
        None, alias="as", description="a known operator that stands in for it"
    )
    inputs: list[Count] | None = Field(
        None, description="which inputs the stand-in has, in its order; all if absent"
    )
    attributes: dict[str, int | float | str | list[int] | list[float]] | None = Field(
        None, description="attributes of the stand-in beside those of the node"
    )
    outputs: list[OutputModel] | None = Field(
        None, min_length=1, description="one per output of the node"
    )
    shape: list[Extent] | None = None
    dtype: str | None = None
    passes: Annotated[list[PassName], Field(min_length=1)] | None = None
    reads: list[Count] | None = None
    einsum: str | None = None
    views: list[View | None] | None = None
    result: list[Extent] | None = None


class OperatorsModel(FileModel):
    """Operators that users describe, by type with domain."""

    operators: dict[str, OperatorModel] = Field(min_length=1)


class Policy(StrEnum):
    """What becomes of an unknown operator."""

    ERROR = "error"  # refuses the file
    ZERO = "zero"  # costs nothing, and is listed


@dataclass(frozen=True, slots=True)
class Unknown:
    """The decision about unknown operators.

    A file's description comes before that of an installed package.

    Parameters
    ----------
    policy : Policy
        For types that nobody describes.
    described : mapping of str to UserOperator
        Types that a file describes.
    """

    policy: Policy = Policy.ERROR
    described: Mapping[str, UserOperator] = field(default_factory=dict)
    _installed: dict[str, UserOperator | None] = field(default_factory=dict)

    def allows(self, op: str) -> bool:
        """Tell whether an unknown operator type can be planned."""
        return self.policy is Policy.ZERO or self.description(op) is not None

    def description(self, op: str) -> UserOperator | None:
        """Return what the user's file, or else a package, says of an operator type."""
        if op in self.described:
            return self.described[op]
        if op not in self._installed:
            self._installed[op] = installed(op)
        return self._installed[op]


def unknown_of(choice: str | Path) -> Unknown:
    """Return the decision that ``--unknown`` stands for.

    Parameters
    ----------
    choice : str or Path
        ``error``, ``zero``, or a YAML file that describes operators.
    """
    if choice in tuple(Policy):
        return Unknown(Policy(str(choice)))
    if not str(choice) or not Path(choice).exists():
        raise BadInputError(
            f"{str(choice)!r} is neither error nor zero, and no such file",
            code="bad-value",
            where="--unknown",
        )
    document = read_document(choice)
    model = validated(document, OperatorsModel)
    return Unknown(
        described={
            op: UserOperator(
                _Reading(document, op, described).description(),
                document.where(("operators", op)),
            )
            for op, described in model.operators.items()
        }
    )


@dataclass(frozen=True, slots=True)
class _Output:
    """An `OutputModel` with its formulas read."""

    shape: tuple[Formula, ...] | None
    dtype: str | None
    passes: tuple[Pass, ...]
    reads: tuple[int, ...] | None
    einsum: str
    views: tuple[tuple[Formula, ...] | None, ...]
    result: tuple[Formula, ...] | None

    def cost(self, call: OperatorCall) -> OutputCost:
        """Return what it says of one node."""
        first = call.shapes[0] if call.shapes else None
        dtype = self.dtype or (call.dtypes[0] if call.dtypes else None)
        shape = first if self.shape is None else _extents(self.shape, call)
        if shape is None or dtype is None:
            raise ValueError("there is no input 0 to take shape and type from")
        return OutputCost(
            shape,
            dtype,
            self.passes,
            self.reads,
            self.einsum,
            tuple(None if v is None else _extents(v, call) for v in self.views),
            None if self.result is None else _extents(self.result, call),
        )


def _extents(formulas: Sequence[Formula], call: OperatorCall) -> tuple[int, ...]:
    return tuple(
        extent
        for formula in formulas
        for extent in formula.extents(call.shapes, call.attributes)
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads what a file says of one operator type, refusing it by its line."""

    document: Document
    op: str
    model: OperatorModel

    def description(self) -> _StandsIn | _Costs:
        """Return the function from a node to what stands for it."""
        model, given = self.model, self.model.model_fields_set
        own = {"shape", "dtype", "passes", "reads", "einsum", "views", "result"}
        if model.as_ is not None:
            self._refuse_beside("as", given & {*own, "outputs"})
            inputs = None if model.inputs is None else tuple(model.inputs)
            return _StandsIn(StandIn(model.as_, inputs, dict(model.attributes or {})))
        self._refuse_without("as", given & {"inputs", "attributes"})
        if model.outputs is not None:
            self._refuse_beside("outputs", given & own)
            outputs = [
                self._output(output, ("outputs", index))
                for index, output in enumerate(model.outputs)
            ]
            return _Costs(tuple(outputs), every=False)
        if model.passes is None:
            self._refuse(
                "needs as, a known operator, or passes, what it costs",
                code="missing-key",
            )
        only = OutputModel(**{key: getattr(model, key) for key in given & own})
        return _Costs((self._output(only, ()),), every=True)

    def _output(self, model: OutputModel, path: KeyPath) -> _Output:
        if model.dtype is not None and model.dtype not in DTYPES:
            near = nearest(model.dtype, list(DTYPES))
            self._refuse(f"no element type {model.dtype} ({near})", (*path, "dtype"))
        if model.einsum is None:
            for key in ("views", "result"):
                if key in model.model_fields_set:
                    self._refuse(
                        f"{key} has no effect without einsum", (*path, key), "no-effect"
                    )
            if "matmul" in model.passes:
                self._refuse("a matmul pass needs an einsum", (*path, "passes"))
        views = enumerate(model.views or ())
        return _Output(
            self._formulas(model.shape, (*path, "shape")),
            model.dtype,
            tuple(Pass(name) for name in model.passes),
            None if model.reads is None else tuple(model.reads),
            model.einsum or "",
            tuple(self._formulas(view, (*path, "views", i)) for i, view in views),
            self._formulas(model.result, (*path, "result")),
        )

    def _formulas(
        self, stated: Sequence[Extent] | None, path: KeyPath
    ) -> tuple[Formula, ...] | None:
        return (
            None
            if stated is None
            else tuple(
                self._formula(str(extent), (*path, index))
                for index, extent in enumerate(stated)
            )
        )

    def _formula(self, text: str, path: KeyPath) -> Formula:
        try:
            return parse(text)
        except ValueError as error:
            self._refuse(f"formula {text[:40]!r} {error}", path)
            raise

    def _refuse_beside(self, key: str, others: set[str]) -> None:
        if others:
            listed = ", ".join(sorted(others))
            self._refuse(f"{listed} has no effect beside {key}", code="no-effect")

    def _refuse_without(self, key: str, given: set[str]) -> None:
        if given:
            listed = ", ".join(sorted(given))
            self._refuse(f"{listed} has no effect without {key}", code="no-effect")

    def _refuse(
        self, message: str, path: KeyPath = (), code: str = "bad-value"
    ) -> None:
        place = ("operators", self.op, *path)
        self.document.refuse(f"{self.op}: {message}", place, code=code)


@dataclass(frozen=True, slots=True)
class _StandsIn:
    """Describes every node by the same known operator."""

    known: StandIn

    def __call__(self, call: OperatorCall) -> StandIn:
        return self.known


@dataclass(frozen=True, slots=True)
class _Costs:
    """Describes outputs one by one, or every output alike."""

    outputs: tuple[_Output, ...]
    every: bool

    def __call__(self, call: OperatorCall) -> list[OutputCost]:
        outputs = self.outputs * call.outputs if self.every else self.outputs
        return [output.cost(call) for output in outputs]
