"""How lines come about: from points of a sweep, or from pieces computed one by one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elkhound.experiments.figures.figure import Bench, Line, Measured
from elkhound.experiments.grid import grid_points
from elkhound.experiments.points import Point
from elkhound.experiments.records import Record
from elkhound.experiments.replacing import replace_file
from elkhound.experiments.sweeping import sweep
from elkhound.model.io.document import Document
from elkhound.model.io.grid_file import grid_of
from elkhound.model.result import own_version

Grids = Sequence[Mapping[str, Any]]
"""Grids as in the files of `elkhound sweep`, without the outermost key."""
Finished = Sequence[tuple[Point, Record]]


def points_of_grids(grids: Grids) -> tuple[Point, ...]:
    """Return the points of several grids, each once."""
    points: dict[str, Point] = {}
    for grid in grids:
        value = {"grid": dict(grid)}
        document = Document("grid of the figure", value, json.dumps(value), {})
        points |= {made.key: made for made in grid_points(grid_of(document))}
    return tuple(points.values())


@dataclass(frozen=True, slots=True)
class Swept:
    """Lines from points, which run through the sweep's store.

    Parameters
    ----------
    configure : callable
        Whether quick → what is varied: grids, unless `points` takes something else.
    lines : callable
        Finished points to lines.
    points : callable
        Configuration to points.
    """

    configure: Callable[[bool], Any]
    lines: Callable[[Finished], Iterable[Line]]
    points: Callable[[Any], Sequence[Point]] = points_of_grids

    def configuration(self, quick: bool) -> Any:
        """Return the grids."""
        return self.configure(quick)

    def measured(self, bench: Bench) -> Measured:
        """Run the points that the store does not hold."""
        points = self.points(self.configure(bench.quick))
        swept = sweep(
            points,
            bench.store,
            jobs=bench.jobs,
            retry_failed=True,
            observer=bench.observer,
        )
        by_key = {point.key: point for point in points}
        finished = [(by_key[record.key], record) for record in swept.records]
        return Measured(
            tuple(self.lines(finished)),
            swept.reused,
            swept.computed,
            tuple(_failure(record) for record in swept.failed),
            swept.contradictions,
        )


def _failure(record: Record) -> str:
    called = " ".join(str(value) for value in record.coordinates.values())
    return f"{called} {record.row.method}: {record.row.reason}"


@dataclass(frozen=True, slots=True)
class Computed:
    """Lines from pieces of work that are no points; each is kept when it finishes.

    Parameters
    ----------
    name : str
        Tells the pieces of one computation from those of others.
    pieces : callable
        Whether quick → arguments of every piece, as JSON types.
    compute : callable
        Takes the arguments of a piece and returns its lines, JSON types as well.
    """

    name: str
    pieces: Callable[[bool], Sequence[Mapping[str, Any]]]
    compute: Callable[..., Iterable[Line]]

    def configuration(self, quick: bool) -> Any:
        """Return the arguments of all pieces."""
        return [dict(piece) for piece in self.pieces(quick)]

    def measured(self, bench: Bench) -> Measured:
        """Compute the pieces that are not kept yet."""
        lines: list[Line] = []
        reused = computed = 0
        for piece in self.pieces(bench.quick):
            place = bench.pieces / f"{self.name}-{_key(self.name, piece)}.json"
            if place.exists():
                reused += 1
            else:
                found = [dict(line) for line in self.compute(**piece)]
                replace_file(place, json.dumps(found) + "\n")
                computed += 1
            lines += json.loads(place.read_text(encoding="utf-8"))
        return Measured(tuple(lines), reused, computed)


def _key(name: str, piece: Mapping[str, Any]) -> str:
    """Return what a piece is kept under: it changes with arguments and version."""
    text = json.dumps([name, own_version(), piece], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
