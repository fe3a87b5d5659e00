"""Runs CP-SAT under `Limits` and reports truthfully what it found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from ortools.sat.python import cp_model

from elkhound.model.errors import ElkhoundError
from elkhound.model.limits import Limits, Plan, Progress
from elkhound.model.result import Status
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.backends.interrupt import run_interruptibly
from elkhound.solvers.backends.scaling import ACTIVITY_LIMIT

VERSION = f"ortools {version('ortools')}"

_STATUS = {
    cp_model.OPTIMAL: Status.OPTIMAL,
    cp_model.FEASIBLE: Status.FEASIBLE,
    cp_model.INFEASIBLE: Status.INFEASIBLE,
    cp_model.UNKNOWN: Status.UNKNOWN,
}


class CpSatError(ElkhoundError):
    """CP-SAT refused a model, or the model is not safe to hand over."""


@dataclass(frozen=True, slots=True)
class CpSatAnswer:
    """What CP-SAT knows at the end of a run.

    Parameters
    ----------
    status : Status
        OPTIMAL only if the objective equals the bound: a run that stopped at a
        relative gap is FEASIBLE.
    objective, bound : int or None
        Value of the best solution and proven bound; None where there is none, or
        the model has no objective.
    statistics : dict
        Counts of the search and size of the model.
    solution : tuple of int
        Value of every variable by index; empty without a solution.
    """

    status: Status
    objective: int | None
    bound: int | None
    statistics: dict[str, int | float | str]
    solution: tuple[int, ...] = ()

    def value(self, variable: cp_model.IntVar) -> int:
        """Return what the best solution gives a variable."""
        return self.solution[variable.index]


def run(
    model: cp_model.CpModel,
    limits: Limits[Plan],
    seconds: float | None = None,
    *,
    in_turns: bool = False,
    progress: Progress | None = None,
) -> CpSatAnswer:
    """Minimise (or maximise, or satisfy) a model whose objective is integral.

    Parameters
    ----------
    model : CpModel
        Checked by `check_activity` first.
    limits : Limits
        Seconds, deterministic time, seed, workers and relative gap are used.
    seconds : float or None
        What is left of `limits.seconds`; None for all of it.
    in_turns : bool
        Whether a single worker takes turns, a slice of work each, of a search with
        linear relaxation, one without, and large neighbourhoods of what is found.
    progress : Progress or None
        Told of better solutions and bounds of a minimisation, in the model's units.

    Raises
    ------
    CpSatError
        If CP-SAT calls the model invalid, answers with a status that this file does
        not know, or the model could overflow.
    KeyboardInterrupt
        As soon as CP-SAT has stopped after Ctrl-C.
    """
    stopwatch = Stopwatch(limits.seconds if seconds is None else seconds)
    check_activity(model)
    solver = cp_model.CpSolver()
    configure(solver, limits, stopwatch.remaining_seconds)
    if in_turns and limits.workers == 1:
        solver.parameters.interleave_search = True
        solver.parameters.subsolvers.extend(["default_lp", "no_lp"])
    heard = None
    if progress is not None:
        heard = _Heard(progress)
        solver.best_bound_callback = heard.on_bound
    code = run_interruptibly(lambda: solver.solve(model, heard), solver.stop_search)
    return _answer(model, solver, code)


def configure(solver: cp_model.CpSolver, limits: Limits[Plan], seconds: float) -> None:
    """Set the parameters that `Limits` stand for."""
    parameters = solver.parameters
    parameters.max_time_in_seconds = max(seconds, 0.01)
    if limits.deterministic_work is not None:
        parameters.max_deterministic_time = limits.deterministic_work
    parameters.random_seed = limits.seed % ACTIVITY_LIMIT
    parameters.num_workers = limits.workers
    parameters.relative_gap_limit = limits.relative_gap
    parameters.catch_sigint_signal = False  # `run_interruptibly` does


class _Heard(cp_model.CpSolverSolutionCallback):
    """Passes on what CP-SAT says while it searches, from its own threads."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self.progress = progress
        self.objective: float | None = None
        self.bound: float | None = None

    def on_solution_callback(self) -> None:
        """Hear of a better solution."""
        self.objective = self.objective_value
        self.on_bound(self.best_objective_bound)

    def on_bound(self, bound: float) -> None:
        """Hear of a better bound."""
        if math.isfinite(bound):
            self.bound = bound
        self.progress(self.objective, self.bound)


def _answer(
    model: cp_model.CpModel, solver: cp_model.CpSolver, code: cp_model.CpSolverStatus
) -> CpSatAnswer:
    if code == cp_model.MODEL_INVALID:
        raise CpSatError(f"CP-SAT calls the model invalid: {model.validate()}")
    status = _STATUS.get(code)
    if status is None:
        raise CpSatError(f"CP-SAT answered with an unknown status: {code}")
    response = solver.response_proto
    solved = status in (Status.OPTIMAL, Status.FEASIBLE)
    objective = bound = None
    if model.has_objective() and solved:
        objective = round(solver.objective_value)
        minimise = model.proto.objective.scaling_factor >= 0
        # The bound is an integer up to the conversion to float.
        rounded = math.ceil if minimise else math.floor
        slack = -1e-6 if minimise else 1e-6
        bound = rounded(solver.best_objective_bound + slack)
        if status is Status.OPTIMAL and bound != objective:
            status = Status.FEASIBLE
    return CpSatAnswer(
        status,
        objective,
        bound,
        {
            "branches": solver.num_branches,
            "conflicts": solver.num_conflicts,
            "deterministic_time": round(solver.deterministic_time, 6),
            "model_variables": len(model.proto.variables),
            "model_constraints": len(model.proto.constraints),
            "solver_status": code.name,
        },
        tuple(response.solution),
    )


def check_activity(model: cp_model.CpModel) -> None:
    """Refuse a model in which a linear sum could reach 2^31 in magnitude.

    Activity of Σ a·x: the largest |Σ| over all values of the variables' domains.

    Raises
    ------
    CpSatError
        Naming the constraint and its activity.
    """
    proto = model.proto
    domains = [list(variable.domain) for variable in proto.variables]
    reach = [(domain[0], domain[-1]) for domain in domains]
    for index, constraint in enumerate(proto.constraints):
        if constraint.has_linear():
            linear = constraint.linear
            worst = _activity(linear.vars, linear.coeffs, reach)
            if worst >= ACTIVITY_LIMIT:
                label = constraint.name or f"number {index}"
                raise CpSatError(
                    f"constraint {label}: activity reaches {worst}, "
                    f"must stay below 2^31 = {ACTIVITY_LIMIT}",
                    code="cp-sat-activity",
                    hint="larger granules",
                )
    if model.has_objective():
        objective = proto.objective
        worst = _activity(objective.vars, objective.coeffs, reach)
        if worst >= ACTIVITY_LIMIT:
            raise CpSatError(
                f"objective: activity reaches {worst}, "
                f"must stay below 2^31 = {ACTIVITY_LIMIT}",
                code="cp-sat-activity",
                hint="larger granules",
            )


def _activity(
    variables: Sequence[int],
    coefficients: Sequence[int],
    reach: list[tuple[int, int]],
) -> int:
    low = high = 0
    for index, factor in zip(variables, coefficients, strict=True):
        least, most = reach[index if index >= 0 else -index - 1]
        if index < 0:  # a negated variable −x
            least, most = -most, -least
        ends = (factor * least, factor * most)
        low += min(ends)
        high += max(ends)
    return max(-low, high)
