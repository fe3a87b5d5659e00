"""Answers that cannot all be right, found by comparing every method's claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from elkhound.experiments.outcome import Outcome, SourcedBound
from elkhound.model.errors import ContradictionError
from elkhound.model.result import Status


def contradictions(
    outcomes: Sequence[Outcome], bounds: Sequence[SourcedBound]
) -> tuple[str, ...]:
    """Return one line per contradiction, naming who said what."""
    lines: list[str] = []
    for outcome in outcomes:
        if isinstance(outcome.error, ContradictionError):
            lines.append(f"{outcome.method}: {outcome.error}")
        lines += _against_referee(outcome)
        lines += _against_simulator(outcome)
        lines += _against_plans(outcome, outcomes)
    lines += _bounds_above_plans(outcomes, bounds)
    return tuple(lines)


def _against_referee(outcome: Outcome) -> Iterator[str]:
    """Find a plan that breaks a rule, or is not worth what its method says."""
    judgement, result = outcome.judgement, outcome.result
    if judgement is None or result is None:
        return
    if not judgement.feasible:
        yield (
            f"{outcome.method}: its plan fails verification: "
            + "; ".join(judgement.violations)
        )
    elif not judgement.is_worth(result.objective):
        yield (
            f"{outcome.method}: says its plan is worth {result.objective}, "
            f"the referee computes {judgement.objective}"
        )
    elif not judgement.belongs_to(result.order):
        yield (
            f"{outcome.method}: searches order {result.order}, but its plan has "
            "another order"
        )


def _against_simulator(outcome: Outcome) -> Iterator[str]:
    """Find a plan that the referee accepts and the simulated chip cannot run."""
    if outcome.refused_by_simulator:
        yield (
            f"{outcome.method}: the referee accepts its plan, the simulator does not: "
            f"{outcome.refused_by_simulator}"
        )


def _against_plans(outcome: Outcome, others: Sequence[Outcome]) -> Iterator[str]:
    """Find a verified plan where none was to exist, or one better than optimal."""
    result = outcome.result
    if result is None or result.status not in (Status.OPTIMAL, Status.INFEASIBLE):
        return
    for other in others:
        value = other.verified_objective
        if value is None or other.judgement is None:
            continue
        if not other.judgement.belongs_to(result.order):
            continue
        if result.status is Status.INFEASIBLE:
            yield (
                f"{outcome.method}: says there is no plan, {other.method} has a "
                f"verified one worth {value}"
            )
        elif result.objective is not None and other is not outcome:
            error = result.rounding_error + result.thinning_error
            if other.judgement.is_below(result.objective - error):
                yield (
                    f"{outcome.method}: says {result.objective} is optimal, "
                    f"{other.method} has a verified plan worth {value}"
                )


def _bounds_above_plans(
    outcomes: Sequence[Outcome], bounds: Sequence[SourcedBound]
) -> Iterator[str]:
    """Find bounds that exceed a verified plan of a class they cover."""
    for outcome in outcomes:
        value, judgement = outcome.verified_objective, outcome.judgement
        if value is None or judgement is None:
            continue
        for source, bound in bounds:
            if judgement.is_below(bound.value) and judgement.belongs_to(bound.order):
                yield (
                    f"{source}: bound {bound.value} ({bound.kind}, order "
                    f"{bound.order}) exceeds the verified plan of {outcome.method} "
                    f"worth {value}"
                )
