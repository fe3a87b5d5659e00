"""Free order by CP-SAT: small problems to the proof, layers of models to a gap.

    python benchmarks/free_order.py [seconds=60] [workers=2] [size=16] [seeds=5]
                                    [sram=1,3/8] [WORKLOAD …]

Problems of 3 execute plans by 2 preload states, each family and seed; then one layer
of each workload (the four of docs/certificates.md), batch 32, 2,048 tokens, with the
final norm and the head, at parts of the SRAM. Prints Markdown tables.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction

from elkhound.experiments.methods import SCHEDULE, variant
from elkhound.model import load_chip, schedule_problem
from elkhound.model.errors import InfeasibleError
from elkhound.model.instances import random_schedule
from elkhound.model.limits import Limits
from elkhound.model.result import Result, Status
from elkhound.model.schedule import Schedule
from elkhound.model.workloads import build_workload
from elkhound.solvers.schedule.bounds import best_bounds
from elkhound.solvers.schedule.cp_sat import CpSat

WORKLOADS = ("llama-2-13b", "llama-2-70b", "gemma-2-27b", "opt-30b")
FAMILIES = ("balanced", "tight-sram", "unstructured")


def main(arguments: list[str]) -> None:
    given = dict(a.split("=") for a in arguments if "=" in a)
    workloads = [a for a in arguments if "=" not in a] or list(WORKLOADS)
    limits: Limits[Schedule] = Limits(
        seconds=float(given.get("seconds", "60")),
        workers=int(given.get("workers", "2")),
    )
    size, seeds = int(given.get("size", "16")), int(given.get("seeds", "5"))
    print("| family | proved | wall s, worst | CPU s, mean | CPU s, worst |")
    print("| --- | --- | --- | --- | --- |")
    for family in FAMILIES:
        print(random_row(family, size, seeds, limits), flush=True)
    headings = "one layer", "SRAM ×", "operators", "streaming", "plan", "bound", "gap"
    print(f"\n| {' | '.join(headings)} | CPU s |\n{'| --- ' * 8}|")
    for workload in workloads:
        for sram in given.get("sram", "1,3/8").split(","):
            print(layer_row(workload, Fraction(sram), limits), flush=True)


def random_row(family: str, size: int, seeds: int, limits: Limits[Schedule]) -> str:
    results = [
        CpSat().solve(
            random_schedule(
                seed, size, family, options=(3, 2), link_stretch_permille=977
            ),
            limits,
        )
        for seed in range(seeds)
    ]
    proved = sum(result.status is Status.OPTIMAL for result in results)
    wall = max(result.wall_seconds for result in results)
    spent = [result.cpu_seconds for result in results]
    return (
        f"| {family} | {proved} of {seeds} | {wall:.1f} | "
        f"{sum(spent) / seeds:.1f} | {max(spent):.1f} |"
    )


def layer_row(workload: str, sram: Fraction, limits: Limits[Schedule]) -> str:
    graph = build_workload(workload, {"batch": 32, "seq": 2048, "layers": 1})
    chip = load_chip("ipu-pod4-hbm")
    usable = int(chip.core.usable_bytes * sram)
    core = replace(chip.core, sram_bytes=usable + chip.core.reserved_bytes)
    chip = replace(chip, core=core)
    try:
        problem = schedule_problem(graph, chip)
    except InfeasibleError:
        return f"| {workload} | {sram} | {len(graph.operators)} | no plan{' | –' * 4} |"
    plans = [
        variant(name, SCHEDULE).build().solve(problem, limits)
        for name in ("static", "elk-full")
    ]
    start = min(
        (plan for plan in plans if plan.objective is not None),
        key=lambda plan: plan.objective or 0,
        default=None,
    )
    if start is not None:
        limits = replace(limits, warm_start=start.plan)
    result: Result[Schedule] = CpSat().solve(problem, limits)
    bounds = [b.value for b in best_bounds(problem) if str(b.order) == "free"]
    if result.bound is not None:
        bounds.append(result.bound.value)
    plan, bound = result.objective, max(bounds)
    assert plan is not None
    gap = (plan - bound) / plan
    sizes = f"{len(problem.operators)} | {len(problem.streaming)}"
    return (
        f"| {workload} | {sram} | {sizes} | {plan:,} | {bound:,} | "
        f"{'**0**' if gap == 0 else f'{gap:.3%}'} | {result.cpu_seconds:.0f} |"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
