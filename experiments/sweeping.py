"""Run many points, keep each as it finishes, and reuse what is kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

from elkhound.experiments.executors import ClusterWorkers, LocalWorkers, Workers
from elkhound.experiments.point_run import record_without_plan
from elkhound.experiments.points import Point, PointLimits
from elkhound.experiments.records import Record, with_shared_bounds
from elkhound.experiments.row_table import RowTable
from elkhound.experiments.store import Store
from elkhound.model.errors import BadInputError, ElkhoundError


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep has come to.

    Parameters
    ----------
    records : tuple of Record
        Finished points in the order given, with the bounds they share.
    reused, computed : int
        Points that had been finished before, and those finished now.
    missing : int
        Points that are not finished, after Ctrl-C.
    """

    records: tuple[Record, ...]
    reused: int
    computed: int
    missing: int = 0

    @property
    def failed(self) -> tuple[Record, ...]:
        """Points without an answer of their method."""
        return tuple(record for record in self.records if record.failed)

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Answers that cannot all be right."""
        return tuple(line for r in self.records for line in r.contradictions)

    @property
    def rows(self) -> RowTable:
        """Coordinates and rows: a line per point."""
        return RowTable(tuple(record.flat() for record in self.records))

    def to_pandas(self) -> Any:
        """Return a data frame with a line per point; pandas has to be installed."""
        return self.rows.to_pandas()


class SweepInterrupted(KeyboardInterrupt):
    """Ctrl-C during a sweep; carries what is finished and kept."""

    def __init__(self, swept: Swept) -> None:
        super().__init__()
        self.swept = swept


class SweepObserver(Protocol):
    """Who wants to know how far a sweep is."""

    def started(self, points: int, reused: int) -> None:
        """Hear how many points there are, and how many of them are kept already."""

    def finished(self, record: Record) -> None:
        """Get a record that is kept now."""


class _Silent:
    def started(self, points: int, reused: int) -> None:
        pass

    def finished(self, record: Record) -> None:
        pass


def sweep(
    points: Sequence[Point],
    store: Store,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    retry_failed: bool = False,
    observer: SweepObserver | None = None,
) -> Swept:
    """Run the points that the store does not hold, and return the records of all.

    Scripts that call it need ``if __name__ == "__main__":``, as its workers are
    processes that import the script.

    Parameters
    ----------
    points : sequence of Point
        All with the same `point_limits`.
    store : Store
        Where each is kept when it finishes.
    jobs : int
        Processes of this machine that run points at a time.
    cluster : str or None
        Address of a Dask scheduler whose workers run them instead.
    retry_failed : bool
        Whether points that failed before run again.
    observer : SweepObserver or None
        Hears of every finished point.

    Raises
    ------
    SweepInterrupted
        On Ctrl-C, with what had finished.
    """
    hears = observer or _Silent()
    by_key = {point.key: point for point in points}
    store.set_grid(list(by_key.values()))
    if retry_failed:
        store.forget_failed(by_key)
    kept = store.finished(by_key)
    run = _Run(store, hears, deque(p for p in by_key.values() if p.key not in kept))
    try:
        hears.started(len(by_key), len(kept))
        if run.waiting:
            with closing(_workers(points, jobs, cluster)) as workers:
                run.through(workers)
    except KeyboardInterrupt as interrupt:
        swept = _swept(points, store, len(kept) + run.found, run.computed)
        raise SweepInterrupted(swept) from interrupt
    return _swept(points, store, len(kept) + run.found, run.computed)


def _workers(points: Sequence[Point], jobs: int, cluster: str | None) -> Workers:
    limits = {point.point_limits for point in points}
    if len(limits) > 1:
        raise ValueError("points of one sweep have the same point_limits")
    if cluster is None:
        return LocalWorkers(jobs, *limits)
    if limits != {PointLimits()}:
        raise BadInputError(
            "have no effect on a cluster, whose workers have limits of their own",
            code="no-effect",
            where="point_limits",
        )
    return ClusterWorkers(cluster)


def _swept(points: Sequence[Point], store: Store, reused: int, computed: int) -> Swept:
    records = store.records(points)
    missing = len(points) - len(records)
    return Swept(with_shared_bounds(records), reused, computed, missing)


class _Run:
    """A sweep while it runs.

    Parameters
    ----------
    waiting : deque of Point
        Points that have not started.
    """

    def __init__(
        self, store: Store, hears: SweepObserver, waiting: deque[Point]
    ) -> None:
        self.store = store
        self.hears = hears
        self.waiting = waiting
        self.running: dict[Future[Record], Point] = {}
        self.computed = 0
        self.found = 0  # by another process, since this one started

    def through(self, workers: Workers) -> None:
        """Run all that waits."""
        while self.waiting or self.running:
            while self.waiting and workers.room:
                self._start(workers)
            done, _ = wait(self.running, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                self._keep(future, workers)

    def _start(self, workers: Workers) -> None:
        point = self.waiting.popleft()
        record = self.store.get(point.key)
        if record is None:
            self.running[workers.submit(point)] = point
        else:
            self.found += 1
            self.hears.finished(record)

    def _keep(self, future: Future[Record], workers: Workers) -> None:
        point = self.running[future]
        try:
            record = future.result()
        except CancelledError as error:
            raise ElkhoundError(
                "the cluster has gone; what is finished is kept",
                code="cluster-lost",
                hint="go on with --resume",
            ) from error
        except Exception as error:
            record = record_without_plan(point, workers.lost(point, error))
        self.store.add(record)
        self.computed += 1
        del self.running[future]
        self.hears.finished(record)
