"""The row of an outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from elkhound.experiments import rows
from elkhound.experiments.kind import Kind
from elkhound.experiments.outcome import Outcome, SourcedBound
from elkhound.model.errors import InfeasibleError
from elkhound.model.result import Bound, BoundKind, OrderClass, Status, own_version


def outcome_row(
    kind: Kind[Any, Any],
    problem: Any,
    outcome: Outcome,
    bounds: Iterable[SourcedBound],
    seed: int,
) -> rows.Row:
    """Return what an outcome is worth on its problem.

    Parameters
    ----------
    bounds : iterable of SourcedBound
        All that are known under the problem's contention rule.
    seed : int
        What a method was given that ended in an error.
    """
    result, judgement = outcome.result, outcome.judgement
    rule = kind.contention(problem)
    if result is None:
        return _failed(kind.name, rule, outcome, seed)
    order = result.order or OrderClass.free()
    covering = [b.bound for b in bounds if b.bound.order.contains(order)]
    bound = largest(covering) if result.plan is not None else result.bound
    simulated = outcome.simulated_cycles
    columns = kind.columns(problem, result)
    latency = outcome.simulated_latency
    planned = result.objective if latency is None else columns["latency"]
    taken = simulated if latency is None else latency
    return rows.Row(
        kind=kind.name,
        method=outcome.method,
        status=result.status,
        objective=result.objective,
        lower_bound=None if bound is None else bound.value,
        bound_kind="none" if bound is None else str(bound.kind),
        order=None if result.order is None else str(result.order),
        contention=rule,
        gap=rows.gap(result.objective, bound),
        rounding_error=result.rounding_error + result.thinning_error,
        simulated=taken,
        model_error=rows.model_error(taken, planned),
        verified=outcome.verified,
        wall_seconds=result.wall_seconds,
        cpu_seconds=result.cpu_seconds,
        seed=result.seed,
        version=result.version,
        reason=_reason(outcome),
        simulated_cycles=simulated,
        simulated_latency=latency,
        bytes_used=None if judgement is None else judgement.bytes_used,
        height_bytes=None if judgement is None else judgement.height_bytes,
        **columns,
    )


def _failed(kind: str, rule: str | None, outcome: Outcome, seed: int) -> rows.Row:
    infeasible = isinstance(outcome.error, InfeasibleError)
    return rows.Row(
        kind=kind,
        method=outcome.method,
        status=Status.INFEASIBLE if infeasible else Status.UNKNOWN,
        objective=None,
        lower_bound=None,
        bound_kind="none",
        order=None,
        contention=rule,
        gap=None,
        rounding_error=0,
        simulated=None,
        model_error=None,
        verified=None,
        wall_seconds=outcome.wall_seconds,
        cpu_seconds=outcome.cpu_seconds,
        seed=seed,
        version=own_version(),
        reason=str(outcome.error),
    )


def largest(bounds: Sequence[Bound]) -> Bound | None:
    """Return the largest bound; among equal ones a proof."""
    return max(bounds, key=lambda b: (b.value, b.kind is BoundKind.PROOF), default=None)


def _reason(outcome: Outcome) -> str:
    """Say why there is no plan, or why it cannot be trusted."""
    if outcome.refused_by_simulator:
        return f"simulator: {outcome.refused_by_simulator}"
    if outcome.judgement is not None and not outcome.judgement.feasible:
        return "referee: " + "; ".join(outcome.judgement.violations)
    result = outcome.result
    if outcome.note:
        return outcome.note
    if result is None or result.status not in (Status.UNKNOWN, Status.INFEASIBLE):
        return ""
    said: Mapping[str, Any] = result.statistics
    if "reason" in said:
        return str(said["reason"])
    is_said = result.bound is not None or result.status is Status.INFEASIBLE
    return "" if is_said else "no plan found"
