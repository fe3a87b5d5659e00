"""What is kept of a point: its row, and what rows cannot hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from elkhound.experiments import rows
from elkhound.experiments.outcome import SourcedBound
from elkhound.experiments.rows import Row
from elkhound.model.result import Bound, BoundKind, OrderClass
from elkhound.model.schedule import Contention


@dataclass(frozen=True, slots=True)
class Record:
    """A finished point.

    Parameters
    ----------
    key : str
        The point's key.
    coordinates : mapping of str to object
        What the user calls the point by, flat.
    row : Row
        Its row. The bound and gap in it are what the method and the quick bounds
        know by themselves; `with_shared_bounds` brings in the other methods'.
    problem : str or None
        Hash of the problem's mathematics; None where no problem was made.
    bounds : tuple of SourcedBound
        Every lower bound of the problem found by the way.
    contradictions : tuple of str
        Why the row cannot be trusted.
    plan : mapping or None
        Gates and options, where there is a plan and it has any.
    score : mapping or None
        Split of the makespan, utilisations and other numbers of the simulation.
    failed : bool
        Whether the point ended without an answer of its method: an error, a limit of
        the point, a crash.
    """

    key: str
    coordinates: Mapping[str, Any]
    row: Row
    problem: str | None = None
    bounds: tuple[SourcedBound, ...] = ()
    contradictions: tuple[str, ...] = ()
    plan: Mapping[str, Any] | None = None
    score: Mapping[str, Any] | None = field(default=None, repr=False)
    failed: bool = False

    def flat(self) -> dict[str, Any]:
        """Return coordinates and row as one mapping: a line of the CSV."""
        return {**self.coordinates, **self.row.document()}


def record_document(record: Record) -> dict[str, Any]:
    """Return a record as JSON types."""
    return {
        "coordinates": dict(record.coordinates),
        "row": record.row.document(),
        "problem": record.problem,
        "bounds": [
            [
                source,
                bound.value,
                str(bound.kind),
                bound.order.name,
                bound.order.window,
                None if bound.contention is None else str(bound.contention),
            ]
            for source, bound in record.bounds
        ],
        "contradictions": list(record.contradictions),
        "plan": None if record.plan is None else dict(record.plan),
        "score": None if record.score is None else dict(record.score),
        "failed": record.failed,
    }


def record_from(key: str, document: Mapping[str, Any]) -> Record:
    """Return the record that `record_document` was written from."""
    return Record(
        key,
        document["coordinates"],
        rows.row_from(document["row"]),
        document["problem"],
        tuple(_bound_from(*parts) for parts in document["bounds"]),
        tuple(document["contradictions"]),
        document["plan"],
        document["score"],
        document["failed"],
    )


def _bound_from(
    source: str,
    value: int,
    kind: str,
    order: str,
    window: int | None,
    contention: str | None,
) -> SourcedBound:
    rule = None if contention is None else Contention(contention)
    bound = Bound(value, BoundKind(kind), OrderClass(order, window), rule)
    return SourcedBound(source, bound)


def with_shared_bounds(records: Sequence[Record]) -> tuple[Record, ...]:
    """Return records whose gaps count every bound known of their problem.

    A bound that one method proved holds for the plans of all others of the classes it
    covers, on the same problem under the same rule, as in a comparison.
    """
    known: dict[str, list[SourcedBound]] = {}
    for record in records:
        if record.problem is not None:
            known.setdefault(record.problem, []).extend(record.bounds)
    return tuple(_bounded(r, known.get(r.problem or "", ())) for r in records)


def _bounded(record: Record, known: Sequence[SourcedBound]) -> Record:
    row = record.row
    if row.objective is None or row.verified is not True:
        return record
    best = None
    for _, bound in known:
        rule = None if bound.contention is None else str(bound.contention)
        if rule != row.contention or not bound.order.contains(_class_of(row)):
            continue
        is_larger = best is None or bound.value > best.value
        is_proof = bound.kind is BoundKind.PROOF
        if is_larger or (best is not None and bound.value == best.value and is_proof):
            best = bound
    if best is None:
        return record
    lines = record.contradictions
    if best.value > row.objective:
        lines = (
            *lines,
            f"{row.method}: bound {best.value} of its problem exceeds its verified "
            f"plan worth {row.objective}",
        )
    row = replace(
        row,
        lower_bound=best.value,
        bound_kind=str(best.kind),
        gap=rows.gap(row.objective, best),
    )
    return replace(record, row=row, contradictions=tuple(dict.fromkeys(lines)))


def _class_of(row: Row) -> OrderClass:
    if row.order is None:
        return OrderClass.free()
    name, _, window = row.order.partition(":")
    return OrderClass.windowed(int(window)) if window else OrderClass(name)
