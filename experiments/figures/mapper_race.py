"""Races of mappers: the join against searches among the same partial mappings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from elkhound.experiments.figures.figure import Line

SEARCHES = ("set", "tileflow", "timeloop")
_MOST_SECONDS = 3600.0  # no limit in practice: evaluations end a search


def race(
    workload: str,
    bind: Mapping[str, int],
    accelerator: str,
    objective: str,
    evaluations: int,
    seeds: int,
) -> Iterator[Line]:
    """Yield a line for the join, and one per improvement of every search and seed.

    `cpu_seconds` is measured, the searches' with the generation of all partial
    mappings, which the searches of one race share. `priced_seconds` is the paper's
    estimate of a search: partial mappings priced × what pricing one takes with
    `cost_of`. `gap` is value / optimum − 1.
    """
    from elkhound.experiments.fusion_methods import FUSION
    from elkhound.experiments.methods import variant
    from elkhound.model.fusion.mapspace import Objective
    from elkhound.model.fusion.pmappings import generate
    from elkhound.model.fusion.problem import FusionPlan, FusionProblem
    from elkhound.model.io import load_accelerator, load_fusion_workload
    from elkhound.model.limits import Limits
    from elkhound.model.stopwatch import Stopwatch

    problem = FusionProblem(
        load_fusion_workload(workload, dict(bind)),
        load_accelerator(accelerator),
        Objective(objective),
    )
    about = {
        "workload": workload,
        **{f"bind.{name}": value for name, value in bind.items()},
        "accelerator": accelerator,
        "objective": objective,
    }
    joined = (
        variant("pareto-join", FUSION).build().solve(problem, Limits(_MOST_SECONDS))
    )
    one = _seconds_a_pmapping(problem, joined.plan)
    yield about | {
        "method": "pareto-join",
        "status": str(joined.status),
        "value": joined.objective,
        "gap": 0.0,
        "cpu_seconds": joined.cpu_seconds,
        "seconds_a_pmapping": one,
        "evaluations_limit": evaluations,
    }
    clock = Stopwatch()
    pmappings = generate(
        problem.workload,
        problem.accelerator,
        problem.mapspace,
        problem.objective.criteria,
    )
    generation = clock.cpu_seconds
    for method in SEARCHES:
        for seed in range(seeds):
            limits: Limits[FusionPlan] = Limits(
                _MOST_SECONDS, deterministic_work=evaluations, seed=seed
            )
            search: Any = variant(method, FUSION).build()
            found = search.search(pmappings, problem.objective, limits)
            for step in found.curve:
                yield about | {
                    "method": method,
                    "seed": seed,
                    "status": str(found.status),
                    "evaluations": step.evaluations,
                    "value": step.objective,
                    "gap": step.objective / joined.objective - 1,
                    "cpu_seconds": generation + step.cpu_seconds,
                    "generation_cpu_seconds": generation,
                    "priced_seconds": step.evaluations * one,
                    "evaluations_limit": evaluations,
                }


def _seconds_a_pmapping(problem: Any, plan: Any) -> float:
    """Return the CPU seconds in which `cost_of` prices one partial mapping."""
    from elkhound.model.fusion import cost_of
    from elkhound.model.stopwatch import Stopwatch

    spent = []
    for _ in range(5):
        clock = Stopwatch()
        cost_of(problem.accelerator, problem.workload, plan.tree)
        spent.append(clock.cpu_seconds)
    return median(spent) / len(problem.workload.einsums)


def runs(lines: Sequence[Line]) -> dict[str, list[list[Line]]]:
    """Return the improvements of every run of a search, by method."""
    found: dict[str, dict[int, list[Line]]] = {}
    for line in lines:
        if line.get("seed") is not None:
            own = found.setdefault(str(line["method"]), {})
            own.setdefault(line["seed"], []).append(line)
    return {method: list(by_seed.values()) for method, by_seed in found.items()}


def first_within(run: Sequence[Line], gap: float, column: str) -> float | None:
    """Return where a run first came within a gap; None if it never did."""
    for line in run:
        if line["gap"] <= gap:
            value: float = line[column]
            return value
    return None


def typical(values: Sequence[float | None]) -> float | None:
    """Return the median over runs; None if half of them or more never got there.

    Examples
    --------
    >>> typical([3, None, 1]), typical([None, 1]), typical([2, 4])
    (3, None, 3.0)
    """
    reached = [value for value in values if value is not None]
    if 2 * len(reached) <= len(values):
        return None
    most = sorted(reached) + [float("inf")] * (len(values) - len(reached))
    middle = median(most)
    return None if middle == float("inf") else middle
