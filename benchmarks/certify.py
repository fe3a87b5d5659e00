"""Certified gaps of whole models: plan, bound and thinning error by SRAM and HBM.

    python benchmarks/certify.py [WORKLOAD …] [seconds=60] [batch=32] [seq=2048]
                                 [sram=1,1/2,3/8,3/10,1/4] [hbm=1,1/2,3/2,2]
                                 [order=identity,window:1,window:2]

Without workloads: the four of docs/certificates.md. Prints a Markdown table, one
process a row. `dp` has the seconds and starts from the best of Basic, Static and
Elk-Dyn, if that is of the order class; wall and CPU seconds are of the whole row,
options and heuristics included.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction

from elkhound.experiments.methods import SCHEDULE, order_class, variant
from elkhound.model import load_chip, schedule_problem
from elkhound.model.chip import Chip
from elkhound.model.errors import InfeasibleError
from elkhound.model.limits import Limits
from elkhound.model.referee import judge
from elkhound.model.result import OrderClass
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.model.workloads import build_workload
from elkhound.solvers.schedule.labels.dp import LabelDp

WORKLOADS = ("llama-2-13b", "llama-2-70b", "gemma-2-27b", "opt-30b")
HEURISTICS = ("basic", "static", "elk-dyn")
CHIP = "ipu-pod4-hbm"
SRAM = "1,1/2,3/8,3/10,1/4"
HBM = "1,1/2,3/2,2"
HEADING = (
    "model | SRAM × | HBM × | Static | plan | bound | kind | gap | thinning error | "
    "labels | wall s | CPU s | peak MiB"
)


@dataclass(frozen=True)
class Case:
    """A workload on the chip with scaled memories, and an order class."""

    workload: str
    sram: Fraction
    hbm: Fraction
    bind: dict[str, int]
    order: OrderClass

    def problem(self) -> ScheduleProblem:
        """Build it; every operator has all its options."""
        chip = scaled(load_chip(CHIP), self.sram, self.hbm)
        return schedule_problem(build_workload(self.workload, self.bind), chip)


def main(arguments: list[str]) -> None:
    given = dict(a.split("=") for a in arguments if "=" in a)
    seconds = float(given.pop("seconds", "60"))
    srams = [Fraction(x) for x in given.pop("sram", SRAM).split(",")]
    hbms = [Fraction(x) for x in given.pop("hbm", HBM).split(",")]
    orders = [order_class(x) for x in given.pop("order", "identity").split(",")]
    bind = {"batch": 32, "seq": 2048} | {key: int(v) for key, v in given.items()}
    workloads = [a for a in arguments if "=" not in a] or list(WORKLOADS)
    print(as_row(HEADING))
    print(as_row(" | ".join(["---"] * (HEADING.count("|") + 1))))
    cases = [
        Case(workload, sram, hbm, bind, order)
        for workload in workloads
        for hbm in hbms
        for sram in srams
        for order in orders
    ]
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawning, max_tasks_per_child=1) as pool:
        for line in pool.map(row, cases, [seconds] * len(cases)):
            print(as_row(line), flush=True)


def as_row(cells: str) -> str:
    return f"| {cells} |"


def scaled(chip: Chip, sram: Fraction, hbm: Fraction) -> Chip:
    """Return the chip with other usable bytes per core and another HBM rate."""
    core = chip.core
    usable = int(core.usable_bytes * sram)
    rate = int(chip.hbm.bytes_per_second * hbm)
    return replace(
        chip,
        core=replace(core, sram_bytes=usable + core.reserved_bytes),
        hbm=replace(chip.hbm, bytes_per_second=rate),
    )


def row(case: Case, seconds: float) -> str:
    stopwatch = Stopwatch()
    name = f"{case.workload} | {case.sram} | {case.hbm}"
    try:
        problem = case.problem()
    except InfeasibleError:
        return f"{name} | no plan" + " | –" * 9
    limits: Limits[Schedule] = Limits(seconds=seconds, memory_bytes=2 << 30)
    basic, static, elk_dyn = (
        variant(name, SCHEDULE).build().solve(problem, limits) for name in HEURISTICS
    )
    plans = (basic.plan, static.plan, elk_dyn.plan)
    start = best_of(problem, plans, case.order)
    method = LabelDp(case.order)
    result = method.solve(problem, replace(limits, warm_start=start))
    plan, bound = result.objective, result.bound
    assert plan is not None
    assert bound is not None
    gap = (plan - bound.value) / plan
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    numbers = (
        "–" if static.objective is None else f"{static.objective:,}",
        f"{plan:,}",
        f"{bound.value:,}",
        f"{bound.kind}, {bound.order}",
        "**0**" if gap == 0 else f"{gap:.4%}",
        f"{result.thinning_error:,}",
        f"{result.statistics['labels']:,}",
        f"{stopwatch.wall_seconds:.0f}",
        f"{stopwatch.cpu_seconds:.0f}",
        str(peak),
    )
    return f"{name} | " + " | ".join(numbers)


def best_of(
    problem: ScheduleProblem, plans: Iterable[Schedule | None], order: OrderClass
) -> Schedule | None:
    """Return the plan of the order class with the least makespan."""
    best: tuple[int, Schedule] | None = None
    for plan in plans:
        if plan is None:
            continue
        verdict = judge(problem, plan)
        if verdict.objective is None or not verdict.belongs_to(order):
            continue
        if best is None or verdict.objective < best[0]:
            best = verdict.objective, plan
    return None if best is None else best[1]


if __name__ == "__main__":
    main(sys.argv[1:])
