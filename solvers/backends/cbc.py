"""Runs the CBC program on a PuLP model and reads its log."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pulp

from elkhound.model.limits import Limits, Plan
from elkhound.model.result import Status
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.backends.interrupt import run_interruptibly
from elkhound.solvers.backends.milp_model import (
    MilpAnswer,
    MilpError,
    Model,
    settle,
    statistics,
)

_GRACE_SECONDS = 2.0  # CBC ends by itself at its limit, or is ended and its plan lost


def path() -> str | None:
    """Return where CBC is: the one in PuLP, else the one on PATH."""
    bundled = pulp.apis.coin_api.pulp_cbc_path
    if bundled and os.path.isfile(bundled) and os.access(bundled, os.X_OK):
        return str(bundled)
    return shutil.which("cbc")


@cache
def version(program: str) -> str:
    """Return the version that the program prints."""
    said = subprocess.run(
        [program, "-quit"], capture_output=True, text=True, timeout=20
    )
    match = re.search(r"Version: (\S+)", said.stdout)
    return match.group(1) if match else "unknown"


def run(
    model: Model, limits: Limits[Plan], seconds: float, absolute_gap: float
) -> MilpAnswer:
    """Minimise a model; see `elkhound.solvers.backends.pulp.run`."""
    program = path()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "cbc.log"
        nodes = limits.deterministic_work
        started = Path(folder) / "pid"
        solver = _Cbc(
            Stopwatch(seconds),
            path=_launcher(Path(folder), str(program), started),
            msg=False,
            gapRel=limits.relative_gap,
            gapAbs=absolute_gap,
            threads=limits.workers,
            maxNodes=None if nodes is None else max(1, int(nodes)),
            options=[f"randomCbcSeed {limits.seed % 2**31}"],
            logPath=str(log),
        )
        solver.tmpDir = folder
        release = f"CBC {version(str(program))}, PuLP {pulp.__version__}"
        ended = Path(folder) / "ended"
        try:
            run_interruptibly(
                lambda: model.lp.solve(solver),
                lambda: None if solver.has_ended else _end(started, ended),
                seconds + _GRACE_SECONDS,
            )
        except pulp.PulpSolverError as failure:
            if ended.exists():
                counts = {**statistics(model, None), "solver_status": "ended late"}
                return MilpAnswer(Status.UNKNOWN, None, None, {}, counts, release)
            raise MilpError(f"CBC failed: {failure}", code="cbc") from failure
        return _read(model, log.read_text(), release)


class _Cbc(pulp.COIN_CMD):  # type: ignore[misc]
    """CBC that counts the writing of its model in its time, and tells when it ended.

    Parameters
    ----------
    stopwatch : Stopwatch
        Started, with the limit.
    """

    def __init__(self, stopwatch: Stopwatch, **settings: Any) -> None:
        super().__init__(**settings)
        self.stopwatch = stopwatch
        self.has_ended = False

    def getOptions(self) -> list[str]:
        """Return the settings; PuLP asks for them when the model is written."""
        left = max(0.01, self.stopwatch.remaining_seconds)
        return [*super().getOptions(), f"sec {left}"]

    def readsol_MPS(self, *arguments: Any) -> Any:
        """Read the solution; PuLP does so as soon as the process has ended."""
        self.has_ended = True
        return super().readsol_MPS(*arguments)


def _launcher(folder: Path, program: str, started: Path) -> str:
    """Return a program that leaves its process number in `started`, then is CBC.

    PuLP keeps the process it waits for to itself, and Ctrl-C must be able to end it.
    """
    if os.name != "posix":
        return program
    launcher = folder / "cbc"
    launcher.write_text(
        f"#!/bin/sh\necho $$ > {shlex.quote(str(started))}\n"
        f'exec {shlex.quote(program)} "$@"\n'
    )
    launcher.chmod(0o700)
    return str(launcher)


def _end(started: Path, ended: Path) -> None:
    """End the CBC that was started, if it was and still runs; leave word of it."""
    said = started.read_text().strip() if started.exists() else ""
    if said:
        ended.touch()
        try:
            os.kill(int(said), signal.SIGTERM)
        except ProcessLookupError:
            return


def _read(model: Model, log: str, release: str) -> MilpAnswer:
    nodes = re.search(r"^Enumerated nodes:\s+(\d+)", log, re.MULTILINE)
    counts = statistics(model, int(nodes.group(1)) if nodes else None)
    said = model.lp.sol_status
    counts["solver_status"] = pulp.LpSolution.get(said, str(said))
    if model.lp.status == pulp.LpStatusInfeasible and "infeasible" in log:
        return MilpAnswer(Status.INFEASIBLE, None, None, {}, counts, release)
    lower = re.search(r"^Lower bound:\s+(\S+)", log, re.MULTILINE)
    bound = float(lower.group(1)) if lower else None
    if said == pulp.LpSolutionNoSolutionFound:
        return MilpAnswer(Status.UNKNOWN, None, bound, {}, counts, release)
    if said not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        raise MilpError(f"CBC ended with status {said}", code="cbc-status")
    proved = said == pulp.LpSolutionOptimal
    objective = float(pulp.value(model.lp.objective))
    if proved and bound is None:
        bound = objective
    values = {v.name: float(v.varValue or 0) for v in model.lp.variables()}
    status = settle(proved, objective, bound)
    return MilpAnswer(status, objective, bound, values, counts, release)
