"""Names, bindings and phases of the built-in workloads."""

from __future__ import annotations

from collections.abc import Mapping

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.graph import Graph
from elkhound.model.workloads.catalogue import CATALOGUE
from elkhound.model.workloads.decoder import decode_step

_PHASES = ("decode",)
_REQUIRED = ("batch", "seq")
_LARGEST = 2**24


def workload_names() -> tuple[str, ...]:
    """Return the names that `build_workload` knows."""
    return tuple(CATALOGUE)


def build_workload(name: str, bind: Mapping[str, int], phase: str = "decode") -> Graph:
    """Return a built-in workload as a graph.

    Parameters
    ----------
    name : str
        One of `workload_names`.
    bind : mapping of str to int
        ``batch`` sequences with ``seq`` cached tokens each; ``layers`` to build, all
        of the model's if absent. One layer still has embedding and head around it.
    phase : str
        ``decode``: one new token per sequence.

    Raises
    ------
    BadInputError
        Unknown workload, phase or symbol, a symbol missing or out of range.
    """
    model = CATALOGUE.get(name)
    if model is None:
        raise BadInputError(
            f"no built-in workload is called {name!r}",
            code="unknown-workload",
            hint=nearest(name, list(CATALOGUE)),
        )
    if phase not in _PHASES:
        raise BadInputError(
            f"workload {name}: phase {phase!r} does not exist",
            code="unknown-phase",
            hint=nearest(phase, list(_PHASES)),
        )
    largest = {"batch": _LARGEST, "seq": _LARGEST, "layers": model.layers}
    _check(name, bind, largest)
    batch, seq = bind["batch"], bind["seq"]
    layers = bind.get("layers", model.layers)
    return decode_step(
        f"{name} {phase} batch={batch} seq={seq} layers={layers}",
        model,
        batch=batch,
        cached=seq,
        layers=layers,
    )


def _check(name: str, bind: Mapping[str, int], largest: Mapping[str, int]) -> None:
    for symbol, value in bind.items():
        if symbol not in largest:
            raise BadInputError(
                f"workload {name}: unknown symbol {symbol!r} to bind",
                code="unknown-symbol",
                hint=nearest(symbol, list(largest)),
            )
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if not is_integer or not 1 <= value <= largest[symbol]:
            raise BadInputError(
                f"workload {name}: {symbol} is {value!r}, must be an integer from 1 "
                f"to {largest[symbol]}",
                code="bad-value",
            )
    missing = [symbol for symbol in _REQUIRED if symbol not in bind]
    if missing:
        raise BadInputError(
            f"workload {name}: {' and '.join(missing)} must be bound",
            code="unbound-symbol",
            hint="as in --bind batch=32,seq=2048",
        )
