"""Runs HiGHS on a PuLP model and reads what HiGHS itself says."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pulp

from elkhound.model.limits import Limits, Plan, Progress
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

_STDOUT = threading.Lock()

# Coefficients reach millions of cycles: at HiGHS's own 1e-6, a nearly integral
# variable hides several of them.
_FEASIBILITY = 1e-9

_GRACE_SECONDS = 0.5  # HiGHS ends by itself at its limit, or is cancelled


@cache
def version() -> str:
    """Return the version of HiGHS, and swallow its banner."""
    with _quiet_stdout():
        import highspy

        instance: Any = highspy.Highs
        return str(instance().version())


@contextmanager
def _quiet_stdout() -> Iterator[None]:
    """Send the process's standard output nowhere: HiGHS prints a banner once."""
    with _STDOUT:
        saved = os.dup(1)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        try:
            yield
        finally:
            os.dup2(saved, 1)
            os.close(saved)


def run(
    model: Model,
    limits: Limits[Plan],
    seconds: float,
    absolute_gap: float,
    progress: Progress | None = None,
) -> MilpAnswer:
    """Minimise a model; see `elkhound.solvers.backends.pulp.run`.

    No solution is handed over to start from: HiGHS 1.16 has been seen to count too
    little for it, and then to call that value optimal.
    """
    import highspy

    stopwatch = Stopwatch(seconds)
    version()  # the banner, if it has not been swallowed yet
    highspy.Highs.resetGlobalScheduler(True)  # or another thread count is refused
    options: dict[str, Any] = {
        "random_seed": limits.seed % 2**31,
        "mip_feasibility_tolerance": _FEASIBILITY,
        "primal_feasibility_tolerance": _FEASIBILITY,
    }
    if limits.deterministic_work is not None:
        options["mip_max_nodes"] = int(limits.deterministic_work)
    solver = pulp.HiGHS(
        msg=False,
        gapRel=limits.relative_gap,
        gapAbs=absolute_gap,
        threads=limits.workers,
        **options,
    )
    solver.createAndConfigureSolver(model.lp)
    solver.buildSolverModel(model.lp)
    highs = model.lp.solverModel
    left = max(0.01, stopwatch.remaining_seconds)
    highs.setOptionValue("time_limit", left)
    highs.HandleUserInterrupt = True
    if progress is not None:
        constant = float(model.lp.objective.constant)
        highs.cbMipInterrupt += _Heard(progress, constant).on_step
    run_interruptibly(highs.run, highs.cancelSolve, left + _GRACE_SECONDS)
    return _read(model)


class _Heard:
    """Passes on what HiGHS says at every step of its search, where it is news."""

    def __init__(self, progress: Progress, constant: float) -> None:
        self.progress = progress
        self.constant = constant
        self.said: tuple[float | None, float | None] = (None, None)

    def on_step(self, event: Any) -> None:
        """Look at the best objective and the dual bound."""
        said = (
            self._value(event.data_out.mip_primal_bound),
            self._value(event.data_out.mip_dual_bound),
        )
        if said != self.said:
            self.said = said
            self.progress(*said)

    def _value(self, value: float) -> float | None:
        return value + self.constant if math.isfinite(value) else None


def _read(model: Model) -> MilpAnswer:
    import highspy

    highs = model.lp.solverModel
    code = highs.getModelStatus()
    known: Any = highspy.HighsModelStatus
    stopped = (
        known.kTimeLimit,
        known.kIterationLimit,
        known.kSolutionLimit,
        known.kInterrupt,
        known.kHighsInterrupt,
        known.kMemoryLimit,
        known.kObjectiveBound,
        known.kObjectiveTarget,
        known.kUnknown,
    )
    info = highs.getInfo()
    release = f"HiGHS {highs.version()}, PuLP {pulp.__version__}"
    counts = statistics(model, max(0, int(info.mip_node_count)))
    counts["solver_status"] = highs.modelStatusToString(code)
    if code == known.kInfeasible:
        return MilpAnswer(Status.INFEASIBLE, None, None, {}, counts, release)
    if code != known.kOptimal and code not in stopped:
        raise MilpError(
            f"HiGHS ended with {highs.modelStatusToString(code)}", code="highs-status"
        )
    constant = float(model.lp.objective.constant)
    integral = any(v.cat == pulp.LpInteger for v in model.lp.variables())
    bound: float | None = info.mip_dual_bound + constant
    if not integral:
        bound = info.objective_function_value + constant
    if bound is None or abs(bound) >= highspy.kHighsInf or bound != bound:
        bound = None
    if not integral and code != known.kOptimal:
        bound = None
    objective, values = None, {}
    if info.primal_solution_status == 2:  # kSolutionStatusFeasible
        objective = info.objective_function_value + constant
        columns = highs.getSolution().col_value
        values = {v.name: columns[v.index] for v in model.lp.variables()}
    status = settle(code == known.kOptimal, objective, bound)
    return MilpAnswer(status, objective, bound, values, counts, release)
