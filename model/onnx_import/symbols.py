"""Symbolic dimensions: what is free, where it comes from, and what binds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.onnx_import.source import Declared

LARGEST_EXTENT = 10**15


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbolic dimension of the inputs.

    Parameters
    ----------
    name : str
        The file's name, or ``input[axis]`` where it gives none.
    value : int
        Extent it is bound to.
    origins : tuple of str
        Input axes that carry it, such as ``input x axis 0``.
    """

    name: str
    value: int
    origins: tuple[str, ...]


def symbol_name(value: Declared, axis: int) -> str:
    """Return the name by which a symbolic axis is bound."""
    dim = value.dims[axis] if value.dims is not None else None
    return dim if isinstance(dim, str) else f"{value.name}[{axis}]"


def is_symbolic(value: Declared, axis: int) -> bool:
    """Tell whether an axis has no number in the file."""
    return (
        value.dims is not None
        and axis < len(value.dims)
        and not isinstance(value.dims[axis], int)
    )


def check_bind(bind: Mapping[str, int]) -> None:
    """Refuse extents that no dimension has."""
    for name, extent in bind.items():
        if not 1 <= extent <= LARGEST_EXTENT:
            raise BadInputError(
                f"{name}={extent}: an extent must be from 1 to 10^15",
                code="bad-extent",
                where="--bind",
            )


def bound_symbols(
    inputs: Iterable[Declared], needed: frozenset[str], bind: Mapping[str, int]
) -> tuple[Symbol, ...]:
    """Return every symbol with its extent; refuse unknown and unbound ones.

    Parameters
    ----------
    inputs : iterable of Declared
        All inputs, as the file states them.
    needed : frozenset of str
        Inputs that reach an output: only their symbols must be bound.
    bind : mapping of str to int
        What the user bound.
    """
    origins: dict[str, list[str]] = {}
    required: set[str] = set()
    for value in inputs:
        for axis in range(len(value.dims or ())):
            if is_symbolic(value, axis):
                name = symbol_name(value, axis)
                origins.setdefault(name, []).append(f"input {value.name} axis {axis}")
                if value.name in needed:
                    required.add(name)
    _refuse_unknown(bind, origins)
    _refuse_unbound([n for n in origins if n in required and n not in bind], origins)
    return tuple(
        Symbol(name, bind[name], tuple(places))
        for name, places in origins.items()
        if name in bind
    )


def _refuse_unknown(bind: Mapping[str, int], origins: Mapping[str, list[str]]) -> None:
    for name in bind:
        if name not in origins:
            raise BadInputError(
                f"the model has no symbolic dimension {name}",
                code="unknown-symbol",
                where="--bind",
                hint=nearest(name, list(origins))
                if origins
                else "all its dimensions are numbers",
            )


def _refuse_unbound(unbound: list[str], origins: Mapping[str, list[str]]) -> None:
    if unbound:
        listed = "; ".join(f"{origins[name][0]}: {name}" for name in unbound)
        raise BadInputError(
            f"symbolic dimensions without a number: {listed}",
            code="unbound-symbol",
            hint="--bind " + ",".join(f"{name}=1" for name in unbound),
        )
