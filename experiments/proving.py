"""Which second formulation is to prove again what an exact method says it proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elkhound.experiments.methods import Entry, Role, Variant, variant
from elkhound.experiments.outcome import Outcome
from elkhound.model.errors import BadInputError
from elkhound.model.result import Status

SECONDS = ("cp-sat", "milp", "dp", "knapsack-dp", "search")
"""Methods that prove again, the first that is another one; none enumerates."""


def require_exact(chosen: Sequence[Variant]) -> None:
    """Refuse to prove again where nothing is going to be proved."""
    if not any(v.entry.proves for v in chosen):
        raise BadInputError(
            "has no effect without an exact method", code="no-effect", where="--prove"
        )


def second_formulation(first: Variant, registry: Mapping[str, Entry]) -> Variant:
    """Return another exact method that searches the same class of schedules.

    Every kind of problem has two exact methods at least, and every class of orders.
    """
    own = _name(first)
    order = first.settings.get("order")
    for name in SECONDS:
        entry = registry.get(name)
        if entry is None or name == own or entry.role is not Role.EXACT:
            continue
        if order is None:
            return variant(name, registry)
        try:
            return variant(f"{name}:order={order}", registry)
        except BadInputError:
            continue  # it does not search this class
    raise BadInputError(
        f"no second method proves what {first.text} does",
        code="no-second",
        where="--prove",
    )


def is_proof(outcome: Outcome | None) -> bool:
    """Whether a method ended with a proof: of an optimum, or that there is no plan."""
    if outcome is None or outcome.result is None:
        return False
    return outcome.result.status in (Status.OPTIMAL, Status.INFEASIBLE)


def proved_by(
    first: Variant, variants: Sequence[Variant], outcomes: Mapping[str, Outcome]
) -> Variant | None:
    """Return a method of another formulation that proved something of the same class.

    Whether it is the same thing that they proved, `contradictions` tells.
    """
    for other in variants:
        another = other.entry.proves and _name(other) != _name(first)
        if (
            another
            and other.order == first.order
            and is_proof(outcomes.get(other.text))
        ):
            return other
    return None


def remark(second: Variant, outcome: Outcome) -> str:
    """Say of the first proof what became of the second."""
    if is_proof(outcome):
        return f"proved again by {second.text}"
    known = outcome.result.bound if outcome.result is not None else None
    reached = "ended without a bound" if known is None else f"ended at {known.value}"
    return f"not proved again: {second.text} {reached}"


def _name(method: Variant) -> str:
    return method.text.partition(":")[0]
