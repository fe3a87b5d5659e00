"""Where points run: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from elkhound.experiments.point_run import run_point
from elkhound.experiments.points import Point, PointLimits
from elkhound.experiments.records import Record
from elkhound.model.errors import BadInputError
from elkhound.model.result import own_version
from elkhound.model.stopwatch import Stopwatch

_CONNECT_SECONDS = 15


class Workers(Protocol):
    """Runs points through an executor of the `concurrent.futures` interface."""

    @property
    def room(self) -> int:
        """How many more points it takes at the moment."""

    def submit(self, point: Point) -> Future[Record]:
        """Start a point."""

    def lost(self, point: Point, error: BaseException) -> str:
        """Say why a point's future has no record."""

    def close(self) -> None:
        """End at once, whatever runs."""


class LocalWorkers:
    """Process pools of one worker each, so that a crash is one point's own.

    A worker keeps the problems it has made; a point goes to the idle worker that made
    its problem, where there is one. A worker that ends early fails its point alone, and
    another takes its place.

    Parameters
    ----------
    jobs : int
        Points that run at a time.
    limits : PointLimits
        Of every point.
    """

    def __init__(self, jobs: int, limits: PointLimits) -> None:
        self._slots = [_Slot(limits) for _ in range(jobs)]

    @property
    def room(self) -> int:
        """Idle workers."""
        return sum(slot.idle for slot in self._slots)

    def submit(self, point: Point) -> Future[Record]:
        """Start a point on an idle worker, one that knows its problem if there is."""
        idle = [slot for slot in self._slots if slot.idle]
        knowing = [slot for slot in idle if slot.subject == point.subject.key]
        return (knowing or idle)[0].submit(point)

    def lost(self, point: Point, error: BaseException) -> str:
        """Say how the worker ended, and have another take its place."""
        (slot,) = (s for s in self._slots if s.point is point)
        reason = slot.why_it_ended(error)
        slot.open()
        return reason

    def close(self) -> None:
        """Kill the workers."""
        for slot in self._slots:
            slot.close()


class _Slot:
    """A process pool of one worker, and the point it was given last."""

    def __init__(self, limits: PointLimits) -> None:
        self._limits = limits
        self.open()

    def open(self) -> None:
        """Make a pool, whose worker starts with the first point."""
        self._pool = ProcessPoolExecutor(
            1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_prepare,
            initargs=(self._limits.memory_bytes,),
        )
        self._process: BaseProcess | None = None
        self._future: Future[Record] | None = None
        self._clock = Stopwatch()
        self.point: Point | None = None
        self.subject = ""

    @property
    def idle(self) -> bool:
        """Whether it can take a point; not if its worker ended with the last one."""
        if self._future is None:
            return True
        return self._future.done() and self._future.exception() is None

    def submit(self, point: Point) -> Future[Record]:
        """Start a point."""
        try:
            return self._submit(point)
        except BrokenProcessPool:  # its worker ended while it was idle
            self.open()
            return self._submit(point)

    def _submit(self, point: Point) -> Future[Record]:
        before = set(multiprocessing.active_children())
        self._clock = Stopwatch()
        with _interrupts_blocked():
            self._future = self._pool.submit(run_within_limits, point)
        self.point, self.subject = point, point.subject.key
        for process in set(multiprocessing.active_children()) - before:
            self._process = process
        return self._future

    def why_it_ended(self, error: BaseException) -> str:
        """Say what the limit or the exit code tells of a worker that is gone."""
        self.close()
        if not isinstance(error, BrokenProcessPool):
            return f"internal error: {type(error).__name__}: {error}"
        seconds = self._limits.seconds
        if seconds is not None and self._clock.wall_seconds >= seconds:
            return f"out of time: the point may take {seconds:g} s"
        code = None if self._process is None else self._process.exitcode
        if code is None or code >= 0:
            return f"its process ended early, with status {code}"
        name = signal.Signals(-code).name
        hint = "; out of memory?" if name in ("SIGKILL", "SIGABRT", "SIGSEGV") else ""
        remark = self._limits.memory_remark
        return f"its process ended early, by {name}{hint}{remark}"

    def close(self) -> None:
        """Kill the worker, if it has been started."""
        runs = self._future is not None and not self._future.done()
        if self._process is not None and runs:
            self._process.kill()
        self._pool.shutdown(wait=True)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Hold Ctrl-C back; a process started meanwhile never hears of it.

    A terminal sends it to workers too, even before `_prepare` has made them deaf.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare(memory_bytes: int | None) -> None:
    """Make a worker deaf to Ctrl-C, which its parent answers, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if memory_bytes is not None:
        resource = import_module("resource")  # of Unix
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, hard))


def _end_with_parent() -> None:
    """Leave when the parent is gone: nobody would read what is being computed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def run_within_limits(point: Point) -> Record:
    """Run a point in a worker, which ends if the point takes too long."""
    seconds = point.point_limits.seconds
    if seconds is None:
        return run_point(point)
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        try:
            return run_point(point)
        finally:
            faulthandler.cancel_dump_traceback_later()


class ClusterWorkers:
    """The workers of a Dask cluster that runs already.

    The points of a worker that is lost run again on another; one that loses several
    workers fails.

    Parameters
    ----------
    address : str
        Of the scheduler: ``tcp://host:8786``.

    Raises
    ------
    BadInputError
        `distributed` is not installed, nothing answers, or the workers have another
        version of Elkhound.
    """

    def __init__(self, address: str) -> None:
        try:
            distributed = import_module("distributed")
        except ModuleNotFoundError:
            raise BadInputError(
                "needs the library distributed",
                code="not-installed",
                where="--cluster",
                hint="pip install elkhound[cluster]",
            ) from None
        try:
            self._client = distributed.Client(address, timeout=_CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise BadInputError(
                f"no Dask scheduler answers: {' '.join(str(error).split())}",
                code="no-cluster",
                where=f"--cluster {address}",
            ) from error
        self._lost_worker = distributed.scheduler.KilledWorker
        self._require_same_version(address)
        self._executor: Any = self._client.get_executor(pure=False)

    @property
    def room(self) -> int:
        """Any number: the scheduler keeps them."""
        return 1 << 30

    def submit(self, point: Point) -> Future[Record]:
        """Hand a point to the scheduler."""
        future: Future[Record] = self._executor.submit(run_point, point)
        return future

    def lost(self, point: Point, error: BaseException) -> str:
        """Say that it lost several workers, or what else went wrong."""
        if isinstance(error, self._lost_worker):
            return "its worker was lost, as others before that tried it"
        return f"cluster: {type(error).__name__}: {' '.join(str(error).split())}"

    def close(self) -> None:
        """Take back what has not started, and leave the cluster."""
        self._executor.shutdown(wait=False)
        self._client.close()

    def _require_same_version(self, address: str) -> None:
        mine = own_version()
        for worker, version in self._client.run(own_version).items():
            if version != mine:
                self._client.close()
                raise BadInputError(
                    f"worker {worker} has {version}, here is {mine}",
                    code="other-version",
                    where=f"--cluster {address}",
                )
