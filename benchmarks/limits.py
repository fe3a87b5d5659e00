"""How long methods take to stop at a time limit, and what they say then.

    python benchmarks/limits.py [seconds=30] [METHOD …]

Each method gets a large random schedule (80 operators, 8 execute plans × 4 preload
states) and a limit of so many seconds; it has to answer within 5 more, with status,
plan, bound and gap. Then each MILP backend gets a market split (4 equality rows, 26
binaries) and 3 seconds, and 2 more. Prints Markdown tables; the exit status is 1 if
one is late or says what it cannot know.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from oracles.market_split import market_split

from elkhound.experiments.methods import SCHEDULE, variant
from elkhound.model.instances import random_schedule
from elkhound.model.limits import Limits
from elkhound.model.result import Status
from elkhound.model.schedule import Schedule
from elkhound.solvers.backends import pulp
from elkhound.solvers.schedule.bounds import best_bounds

METHODS = (
    "brute-force",
    "cp-sat",
    "cp-sat:order=identity",
    "milp",
    "milp:order=identity",
    "milp:order=identity,backend=cbc",
    "dp",
    "dp:order=window:2",
    "dp:order=free",
    "elk-full",
)
GRACE_SECONDS, MARKET_SECONDS, MARKET_GRACE = 5.0, 3.0, 2.0


def main(arguments: list[str]) -> int:
    given = dict(a.split("=", 1) for a in arguments if a.startswith("seconds="))
    names = [a for a in arguments if not a.startswith("seconds=")] or list(METHODS)
    seconds = float(given.get("seconds", "30"))
    print("| method | limit s | wall s | CPU s | status | plan | bound | gap |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    good = [schedule_row(name, seconds) for name in names]
    print("\n| market split by | limit s | wall s | status | objective | bound |")
    print("| --- | --- | --- | --- | --- | --- |")
    good += [market_row(backend) for backend in pulp.versions()]
    return 0 if all(good) else 1


def schedule_row(name: str, seconds: float) -> bool:
    """Print a row; return whether the method was in time and said what it knows."""
    problem = random_schedule(1, 80, "unstructured", options=(8, 4))
    limits: Limits[Schedule] = Limits(seconds=seconds)
    begin = perf_counter()
    result = variant(name, SCHEDULE).build().solve(problem, limits)
    wall = perf_counter() - begin
    order = result.order
    bounds = [
        b.value
        for b in best_bounds(problem)
        if order is None or b.order.contains(order)
    ]
    if result.bound is not None:
        bounds.append(result.bound.value)
    bound, plan = max(bounds), result.objective
    gap = "–" if plan is None else f"{(plan - bound) / plan:.1%}"
    found = "none found" if plan is None else f"{plan:,}"
    print(
        f"| {name} | {seconds:g} | {wall:.1f} | {result.cpu_seconds:.1f} | "
        f"{result.status} | {found} | {bound:,} | {gap} |",
        flush=True,
    )
    honest = result.status is not Status.OPTIMAL or plan == bound
    return wall <= seconds + GRACE_SECONDS and honest


def market_row(backend: str) -> bool:
    """Print a row; return whether the backend was in time and kept bound and value."""
    limits: Limits[None] = Limits(seconds=MARKET_SECONDS, workers=1)
    begin = perf_counter()
    answer = pulp.run(market_split(4), limits, backend)
    wall = perf_counter() - begin
    print(
        f"| {backend} | {MARKET_SECONDS:g} | {wall:.1f} | {answer.status} | "
        f"{answer.objective} | {answer.bound} |",
        flush=True,
    )
    return wall <= MARKET_SECONDS + MARKET_GRACE and answer.status is Status.FEASIBLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
