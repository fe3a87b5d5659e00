"""Run a point to its record; points of one process share graphs and problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from elkhound.experiments.comparison import compare
from elkhound.experiments.kinds import kind_of
from elkhound.experiments.outcome import Outcome
from elkhound.experiments.points import Point, Subject
from elkhound.experiments.records import Record
from elkhound.experiments.rows import Row
from elkhound.experiments.source import (
    ReadGraph,
    Source,
    is_problem_file,
    read_graph,
    read_source,
    source_on_chip,
)
from elkhound.model.errors import ElkhoundError, InfeasibleError
from elkhound.model.result import Bound, Status, own_version
from elkhound.model.stopwatch import Stopwatch

_SUBJECTS_KEPT = 4  # sweeps go through the methods of one before the next


def run_point(point: Point) -> Record:
    """Plan, judge and simulate a point.

    What goes wrong becomes a record with its reason: a problem without a plan an
    infeasible row, anything else a failed one.
    """
    clock = Stopwatch()
    try:
        return _run(point)
    except InfeasibleError as error:
        status, failed, reason = Status.INFEASIBLE, False, str(error)
    except ElkhoundError as error:
        status, failed, reason = Status.UNKNOWN, True, str(error)
    except MemoryError:
        status, failed = Status.UNKNOWN, True
        reason = f"out of memory{point.point_limits.memory_remark}"
    except Exception as error:
        status, failed = Status.UNKNOWN, True
        told = f"{type(error).__name__}: {error}"
        reason = f"internal error: {told}{point.point_limits.memory_remark}"
    return record_without_plan(point, reason, status=status, failed=failed, clock=clock)


def record_without_plan(
    point: Point,
    reason: str,
    *,
    status: Status = Status.UNKNOWN,
    failed: bool = True,
    clock: Stopwatch | None = None,
) -> Record:
    """Return the record of a point that came to no answer of its method.

    Parameters
    ----------
    clock : Stopwatch or None
        Started with the point; None where its time is not known.
    """
    row = Row(
        kind=point.subject.kind,
        method=point.method,
        status=status,
        objective=None,
        lower_bound=None,
        bound_kind="none",
        order=None,
        contention=point.subject.flags.contention,
        gap=None,
        rounding_error=0,
        simulated=None,
        model_error=None,
        verified=None,
        wall_seconds=0.0 if clock is None else clock.wall_seconds,
        cpu_seconds=0.0 if clock is None else clock.cpu_seconds,
        seed=point.limits.seed,
        version=own_version(),
        reason=reason,
    )
    return Record(point.key, point.coordinates, row, failed=failed)


def _run(point: Point) -> Record:
    from elkhound.model.io import problem_hash

    source = problem_of(point.subject)
    table = compare(
        source.problem,
        [point.method],
        chip=source.chip,
        graph=source.graph,
        held=source.held,
        limits=point.limits,
        thin_permille=point.thin_permille,
        bounds=_bounds_of(point.subject),
        fused=source.groups,
    )
    (row,), (outcome,) = table.rows, table.outcomes
    error = outcome.error
    return Record(
        point.key,
        point.coordinates,
        row,
        problem=problem_hash(source.problem),
        bounds=table.bounds,
        contradictions=table.contradictions,
        plan=_plan_document(outcome),
        score=_score_document(outcome),
        failed=error is not None and not isinstance(error, InfeasibleError),
    )


@lru_cache(maxsize=_SUBJECTS_KEPT)
def problem_of(subject: Subject) -> Source:
    """Return the problem that points of a subject plan, and what it was made of."""
    if subject.problem is not None:
        return Source(subject.model, subject.problem, None)
    if is_problem_file(subject.model):
        return read_source(subject.model, subject.flags)
    if subject.chip is None:
        raise TypeError(f"{subject.model}: a model is planned on a chip")
    read = _graph_of(_Graph(subject))
    return source_on_chip(subject.model, read, subject.flags, subject.chip)


@lru_cache(maxsize=_SUBJECTS_KEPT)
def _bounds_of(subject: Subject) -> tuple[Bound, ...]:
    """Return the bounds that belong to no method; none where no plan can exist."""
    problem = problem_of(subject).problem
    kind = kind_of(problem)
    kind.require_feasible(problem)
    return kind.bounds(problem)


class _Graph:
    """A subject as its graph knows it: equal by graph key."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    def __hash__(self) -> int:
        return hash(self.subject.graph_key)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Graph):
            return False
        return self.subject.graph_key == other.subject.graph_key


@lru_cache(maxsize=_SUBJECTS_KEPT)
def _graph_of(graph: _Graph) -> ReadGraph:
    return read_graph(graph.subject.model, graph.subject.flags)


def _plan_document(outcome: Outcome) -> Mapping[str, Any] | None:
    """Return gates and options of a plan that has any."""
    plan = outcome.plan
    if plan is None or not hasattr(plan, "options"):
        return None
    gates = getattr(plan, "gates", None)
    document = {} if gates is None else {"gates": list(gates)}
    return document | {"options": list(plan.options)}


def _score_document(outcome: Outcome) -> Mapping[str, Any] | None:
    """Return the numbers of a simulation, without what it says of each operator."""
    score = outcome.score
    if score is None:
        return None
    measured = (
        (name, getattr(score, name)) for name in type(score).__dataclass_fields__
    )
    numbers = {
        name: value
        for name, value in measured
        if value is None or isinstance(value, bool | int | float | str)
    }
    return numbers | {"split": asdict(score.split)}
