"""A sweep on a Dask cluster: a real scheduler and two workers, each a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from elkhound.experiments.cli.main import run
from elkhound.experiments.points import PointLimits, point, subject
from elkhound.experiments.records import Record
from elkhound.experiments.store import Store
from elkhound.experiments.sweeping import sweep
from elkhound.model.errors import BadInputError
from elkhound.model.instances import random_schedule
from elkhound.model.limits import Limits

pytest.importorskip("distributed", reason="needs the extra cluster")

DASK = [sys.executable, "-m", "dask"]


class Cluster:
    """A scheduler, and workers of one thread each without a nanny."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.log = (folder / "log").open("w")
        self.processes = [
            self.start(
                "scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard"
            )
        ]
        self.workers = [self.worker(), self.worker()]

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*DASK, *arguments, "--scheduler-file", str(self.file)],
            stdout=self.log,
            stderr=self.log,
            cwd=self.file.parent,
        )

    def worker(self) -> subprocess.Popen[bytes]:
        process = self.start(
            "worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"
        )
        self.processes.append(process)
        return process

    @property
    def address(self) -> str:
        """Wait until the scheduler has written where it listens."""
        for _ in range(600):
            if self.file.exists() and self.file.stat().st_size:
                return str(json.loads(self.file.read_text())["address"])
            time.sleep(0.1)
        raise AssertionError("the scheduler does not start")

    def end(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        self.log.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler and two workers."""
    made = Cluster(tmp_path)
    yield made
    made.end()


class KillsAWorker:
    """Kills a worker as soon as the second point has finished."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.finished_points = 0

    def started(self, points: int, reused: int) -> None:
        pass

    def finished(self, record: Record) -> None:
        self.finished_points += 1
        if self.finished_points == 2:
            os.kill(self.cluster.workers[0].pid, signal.SIGKILL)


def test_all_rows_are_there_though_a_worker_was_killed(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Twelve points of half a second, a worker killed in the middle of them."""
    points = [
        point(
            subject(random_schedule(seed, 60, options=(4, 4))),
            "cp-sat",
            limits=Limits(seconds=0.5, workers=1),
        )
        for seed in range(12)
    ]
    killer = KillsAWorker(cluster)
    with Store(tmp_path / "store.sqlite") as store:
        swept = sweep(points, store, cluster=cluster.address, observer=killer)
    assert cluster.workers[0].wait() == -signal.SIGKILL
    assert [r.key for r in swept.records] == [p.key for p in points]
    assert (swept.computed, swept.missing, swept.failed) == (12, 0, ())


def test_the_verb_takes_a_cluster(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("grid.yaml").write_text(
        "grid: {model: gpt-3-6.7b, bind: {batch: 1, seq: 64, layers: 1},"
        " chip: ipu-pod4-hbm, spill: auto, methods: [basic, ideal]}"
    )
    ask = ["sweep", "grid.yaml", "--cluster", cluster.address, "--output", "run"]
    assert run(ask) == 0
    with Store(Path("run/store.sqlite")) as store:
        assert [r.row.method for r in store.records()] == ["basic", "ideal"]


def test_an_address_without_a_scheduler_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elkhound.experiments.executors._CONNECT_SECONDS", 1)
    points = [point(subject(random_schedule(1, 3)), "basic")]
    with (
        Store(tmp_path / "store.sqlite") as store,
        pytest.raises(BadInputError, match="no Dask scheduler answers") as refused,
    ):
        sweep(points, store, cluster="tcp://127.0.0.1:9")
    assert "\n" not in str(refused.value)


def test_limits_of_points_have_no_effect_on_a_cluster(tmp_path: Path) -> None:
    limits = PointLimits(seconds=1)
    points = [point(subject(random_schedule(1, 3)), "basic", point_limits=limits)]
    with (
        Store(tmp_path / "store.sqlite") as store,
        pytest.raises(BadInputError, match="no effect on a cluster"),
    ):
        sweep(points, store, cluster="tcp://127.0.0.1:9")
