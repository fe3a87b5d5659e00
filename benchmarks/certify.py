"""Certified gaps of whole models: plan, bound and thinning error by SRAM and HBM.

    python benchmarks/certify.py [WORKLOAD …] [seconds=60] [batch=32] [seq=2048]
                                 [sram=1,1/2,3/8,3/10,1/4] [hbm=1,1/2,3/2,2]

Without workloads: the four of docs/certificates.md. Prints a Markdown table, one
process a row. `dp` starts from the better of Basic and Static and has the seconds; wall
and CPU seconds are of the whole row, options and heuristics included.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction

from elkhound.heuristics.schedule import Basic, Static
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
CHIP = "ipu-pod4-hbm"
SRAM = "1,1/2,3/8,3/10,1/4"
HBM = "1,1/2,3/2,2"
HEADING = (
    "model | SRAM × | HBM × | Static | plan | bound | kind | gap | thinning error | "
    "labels | wall s | CPU s | peak MiB"
)


@dataclass(frozen=True)
class Case:
    """A workload on the chip with scaled memories."""

    workload: str
    sram: Fraction
    hbm: Fraction
    bind: dict[str, int]

    def problem(self) -> ScheduleProblem:
        """Build it; every operator has all its options."""
        chip = scaled(load_chip(CHIP), self.sram, self.hbm)
        return schedule_problem(build_workload(self.workload, self.bind), chip)


def main(arguments: list[str]) -> None:
    given = dict(a.split("=") for a in arguments if "=" in a)
    seconds = float(given.pop("seconds", "60"))
    srams = [Fraction(x) for x in given.pop("sram", SRAM).split(",")]
    hbms = [Fraction(x) for x in given.pop("hbm", HBM).split(",")]
    bind = {"batch": 32, "seq": 2048} | {key: int(v) for key, v in given.items()}
    workloads = [a for a in arguments if "=" not in a] or list(WORKLOADS)
    print(as_row(HEADING))
    print(as_row(" | ".join(["---"] * (HEADING.count("|") + 1))))
    cases = [
        Case(workload, sram, hbm, bind)
        for workload in workloads
        for hbm in hbms
        for sram in srams
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
    static = Static().solve(problem, limits)
    start = warm_start(problem, limits)
    result = LabelDp().solve(problem, replace(limits, warm_start=start))
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


def warm_start(problem: ScheduleProblem, limits: Limits[Schedule]) -> Schedule | None:
    """Return the best heuristic plan in identity order."""
    best: tuple[int, Schedule] | None = None
    for heuristic in (Basic(), Static()):
        plan = heuristic.solve(problem, limits).plan
        if plan is None:
            continue
        verdict = judge(problem, plan)
        if verdict.objective is None or not verdict.belongs_to(OrderClass.identity()):
            continue
        if best is None or verdict.objective < best[0]:
            best = verdict.objective, plan
    return None if best is None else best[1]


if __name__ == "__main__":
    main(sys.argv[1:])
