from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.methods import PROBLEM

from elkhound.experiments.points import Point, PointLimits, point, subject
from elkhound.experiments.records import Record
from elkhound.experiments.store import Store
from elkhound.experiments.sweeping import SweepInterrupted, sweep
from elkhound.model.instances import random_schedule
from elkhound.model.limits import Limits
from elkhound.model.result import Status

ONE_WORKER: Limits[Any] = Limits(workers=1, seconds=60)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(tmp_path / "store.sqlite") as made:
        yield made


class Heard:
    """An observer that does something at every finished point."""

    def __init__(self, at: object = None) -> None:
        self.points = self.reused = 0
        self.methods: list[str] = []
        self.at = at

    def started(self, points: int, reused: int) -> None:
        self.points, self.reused = points, reused

    def finished(self, record: Record) -> None:
        self.methods.append(record.row.method)
        if callable(self.at):
            self.at()


def three(*methods: str, limits: PointLimits | None = None) -> list[Point]:
    about = subject(PROBLEM)
    return [
        point(about, name, limits=ONE_WORKER, point_limits=limits) for name in methods
    ]


def endless(limits: PointLimits | None = None) -> Point:
    """CP-SAT on a problem that it does not finish in minutes."""
    about = subject(random_schedule(0, 60, options=(4, 4)))
    return point(
        about,
        "cp-sat",
        limits=Limits(seconds=10_000, workers=1),
        point_limits=limits,
        coordinates={"model": "hard"},
    )


def test_a_sweep_computes_each_point_once_and_reuses_it(store: Store) -> None:
    points = three("basic", "cp-sat", "ideal")
    first = sweep(points, store, jobs=2)
    assert (first.reused, first.computed, first.missing) == (0, 3, 0)
    assert [r.row.method for r in first.records] == ["basic", "cp-sat", "ideal"]
    assert first.records[0].row.bound_kind == "proof"  # cp-sat's
    heard = Heard()
    more = sweep(three("static", "basic", "cp-sat", "ideal"), store, observer=heard)
    assert (more.reused, more.computed) == (3, 1)
    assert (heard.points, heard.reused, heard.methods) == (4, 3, ["static"])
    again = sweep(points, store)
    assert (again.reused, again.computed) == (3, 0)
    assert again.records == first.records


def test_a_point_that_another_process_finished_meanwhile_is_not_run_again(
    store: Store, tmp_path: Path
) -> None:
    points = three("basic", "static", "cp-sat")

    def other_process() -> None:
        with Store(tmp_path / "store.sqlite") as other:
            sweep(points, other)

    done = iter([other_process])
    heard = Heard(at=lambda: next(done, lambda: None)())
    swept = sweep(points, store, jobs=1, observer=heard)
    assert (swept.computed, swept.reused) == (1, 2)
    assert [r.row.method for r in swept.records] == ["basic", "static", "cp-sat"]


def test_a_point_out_of_time_is_a_failed_row_and_the_others_go_on(
    store: Store,
) -> None:
    limits = PointLimits(seconds=10)
    points = [endless(limits), *three("basic", limits=limits)]
    late, basic = sweep(points, store, jobs=1).records
    assert (late.failed, late.row.status) == (True, Status.UNKNOWN)
    assert late.row.reason == "out of time: the point may take 10 s"
    assert basic.row.verified


def test_a_worker_that_is_killed_fails_its_point_alone(store: Store) -> None:
    """As the system kills a process for want of memory."""
    points = [endless(), *three("basic", "static")]
    killed: list[int] = []

    def kill_the_busy_worker() -> None:
        import multiprocessing

        workers = [c.pid for c in multiprocessing.active_children() if c.pid]
        if len(workers) > 1 and not killed:  # the second finished its first point
            killed.append(min(workers))
            os.kill(killed[0], signal.SIGKILL)

    heard = Heard(at=kill_the_busy_worker)
    lost, basic, static = sweep(points, store, jobs=2, observer=heard).records
    assert lost.failed
    assert lost.row.reason == "its process ended early, by SIGKILL; out of memory?"
    assert basic.row.verified
    assert static.row.verified


def test_a_point_out_of_memory_is_a_failed_row(store: Store) -> None:
    """Python and its libraries alone take more than 16 MB of data."""
    points = three("cp-sat", limits=PointLimits(memory_bytes=16_000_000))
    (record,) = sweep(points, store).records
    assert record.failed
    assert record.row.reason.endswith("(the point may take 16000000 B of memory)")


def test_ctrl_c_keeps_finished_points_and_ends_the_others(store: Store) -> None:
    def ctrl_c() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    points = [*three("basic"), endless()]
    with pytest.raises(SweepInterrupted) as interrupt:
        sweep(points, store, jobs=2, observer=Heard(at=ctrl_c))
    swept = interrupt.value.swept
    assert (swept.computed, swept.missing) == (1, 1)
    assert [r.row.method for r in store.all_records()] == ["basic"]


def test_failed_points_run_again_when_asked(store: Store) -> None:
    bad = point(subject("gpt-3-6.7b"), "basic", limits=ONE_WORKER)  # batch is missing
    assert sweep([bad], store).records[0].failed
    assert sweep([bad], store).computed == 0
    assert sweep([bad], store, retry_failed=True).computed == 1


def test_points_of_one_problem_share_it(store: Store) -> None:
    """A process makes a problem and its quick bounds once."""
    from elkhound.experiments.point_run import _bounds_of, problem_of, run_point

    problem_of.cache_clear()
    _bounds_of.cache_clear()
    for method in ("basic", "static", "elk-dyn"):
        run_point(three(method)[0])
    assert problem_of.cache_info().misses == 1
    assert _bounds_of.cache_info().misses == 1
