"""What to do with operators nobody knows: refuse, let go free, or ask a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from elkhound.model.dtype import DTYPES
from elkhound.model.errors import BadInputError, nearest
from elkhound.model.graph import Pass
from elkhound.model.io.document import Document, read_document
from elkhound.model.io.fields import FileModel, Positive
from elkhound.model.io.validate import validated

PassName = Literal["elementwise", "unary", "reduce", "slice", "gather"]
Extent = Positive | Annotated[str, Field(pattern=r"^\d+\[-?\d+\]$")]


class OperatorModel(FileModel):
    """How one operator type is shaped and costed."""

    as_: str | None = Field(
        None, alias="as", description="a known operator that stands in for it"
    )
    shape: list[Extent] | None = Field(
        None,
        description="numbers, or '0[1]' for axis 1 of input 0; input 0's if absent",
    )
    dtype: str | None = Field(None, description="element type; input 0's if absent")
    passes: list[PassName] | None = Field(
        None, description="sweeps over the output, in order"
    )


class OperatorsModel(FileModel):
    """Operators that users describe, by type with domain."""

    operators: dict[str, OperatorModel] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class UserOperator:
    """An operator type as a user describes it; see `OperatorModel`."""

    stands_for: str | None
    shape: tuple[int | str, ...] | None
    dtype: str | None
    passes: tuple[Pass, ...]


class Policy(StrEnum):
    """What becomes of an unknown operator."""

    ERROR = "error"  # refuses the file
    ZERO = "zero"  # costs nothing, and is listed


@dataclass(frozen=True, slots=True)
class Unknown:
    """The decision about unknown operators.

    Parameters
    ----------
    policy : Policy
        For types that no file describes.
    described : mapping of str to UserOperator
        Types that a file describes.
    """

    policy: Policy = Policy.ERROR
    described: Mapping[str, UserOperator] | None = None

    def allows(self, op: str) -> bool:
        """Tell whether an unknown operator type can be planned."""
        return self.policy is Policy.ZERO or op in (self.described or {})

    def description(self, op: str) -> UserOperator | None:
        """Return what the user's file says of an operator type."""
        return (self.described or {}).get(op)


def unknown_of(choice: str | Path) -> Unknown:
    """Return the decision that ``--unknown`` stands for.

    Parameters
    ----------
    choice : str or Path
        ``error``, ``zero``, or a YAML file that describes operators.
    """
    if choice in tuple(Policy):
        return Unknown(Policy(str(choice)))
    if not Path(choice).exists():
        raise BadInputError(
            f"{choice} is neither error nor zero, and no such file",
            code="bad-value",
            where="--unknown",
        )
    document = read_document(choice)
    model = validated(document, OperatorsModel)
    return Unknown(
        described={
            op: _user_operator(document, op, described)
            for op, described in model.operators.items()
        }
    )


def _user_operator(document: Document, op: str, model: OperatorModel) -> UserOperator:
    path = ("operators", op)
    others = {"shape", "dtype", "passes"} & model.model_fields_set
    if model.as_ is not None and others:
        document.refuse(
            f"{op}: {', '.join(sorted(others))} has no effect beside as",
            path,
            code="no-effect",
        )
    if model.as_ is None and not model.passes:
        document.refuse(
            f"{op}: needs as, a known operator, or passes, what it costs",
            path,
            code="missing-key",
        )
    if model.dtype is not None and model.dtype not in DTYPES:
        legal = nearest(model.dtype, list(DTYPES))
        document.refuse(
            f"{op}: no element type {model.dtype} ({legal})",
            (*path, "dtype"),
            code="bad-value",
        )
    return UserOperator(
        model.as_,
        None if model.shape is None else tuple(model.shape),
        model.dtype,
        tuple(Pass(name) for name in model.passes or ()),
    )


def extent(stated: int | str, shapes: list[tuple[int, ...] | None]) -> int:
    """Return an extent: a number, or that of an input's axis."""
    if isinstance(stated, int):
        return stated
    index, axis = (int(number) for number in re.findall(r"-?\d+", stated))
    shape = shapes[index] if index < len(shapes) else None
    if shape is None or not -len(shape) <= axis < len(shape):
        raise ValueError(f"there is no {stated} for its shape")
    return shape[axis]


def attributes_of(user: UserOperator) -> dict[str, Any]:
    """Return what a node carries of the description, for its shape and its cost."""
    return {
        "shape": None if user.shape is None else list(user.shape),
        "passes": list(user.passes),
        **({} if user.dtype is None else {"result_type": user.dtype}),
    }
