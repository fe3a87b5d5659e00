"""CPU seconds of the exact methods against N, options and K on random problems.

    python benchmarks/scaling.py [seconds=20] [families=balanced,tight-sram] [METHOD …]

Prints Markdown tables. One seed per row and family; an entry is the CPU time to the
proof, the mean over the families, or the gap left at the time limit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from elkhound.model.instances import random_schedule
from elkhound.model.limits import Limits
from elkhound.model.result import Method, OrderClass, Status
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.solvers.schedule.brute_force import BruteForce
from elkhound.solvers.schedule.cp_sat import CpSat
from elkhound.solvers.schedule.labels.dp import LabelDp
from elkhound.solvers.schedule.milp import Milp

IDENTITY, FREE = OrderClass.identity(), OrderClass.free()
METHODS: dict[str, Callable[[], Method[ScheduleProblem, Schedule]]] = {
    "brute-force": lambda: BruteForce(IDENTITY),
    "cp-sat": lambda: CpSat(IDENTITY),
    "milp": lambda: Milp(IDENTITY),
    "dp": lambda: LabelDp(IDENTITY),
    "cp-sat, free": lambda: CpSat(FREE),
    "milp, free": lambda: Milp(FREE),
    "dp, window 2": lambda: LabelDp(OrderClass.windowed(2)),
    "dp, free": lambda: LabelDp(FREE),
}
GIVEN_UP_AFTER = 2  # rows in which a method proved nothing


@dataclass(frozen=True)
class Row:
    """N operators, execute plans × preload states, K."""

    size: int
    options: tuple[int, int] = (3, 2)
    limit: int | None = None

    def __str__(self) -> str:
        plans, states = self.options
        limit = "–" if self.limit is None else self.limit
        return f"{self.size} | {plans} × {states} | {limit}"


TABLES = {
    "N": [Row(size) for size in (3, 4, 6, 8, 12, 16, 32, 64, 128, 256)],
    "options": [
        Row(12, options) for options in ((1, 1), (2, 2), (4, 3), (6, 6), (10, 8))
    ],
    "K": [Row(16, limit=limit) for limit in (1, 2, 4, 8)],
}


def main(arguments: list[str]) -> None:
    given = dict(a.split("=") for a in arguments if "=" in a)
    names = [a for a in arguments if "=" not in a] or list(METHODS)
    seconds = float(given.get("seconds", "20"))
    families = given.get("families", "balanced,tight-sram").split(",")
    for title, rows in TABLES.items():
        print(f"\nAgainst {title}:\n\nN | options | K | " + " | ".join(names))
        print(" | ".join(["---"] * (3 + len(names))))
        failures = dict.fromkeys(names, 0)
        for row in rows:
            entries = []
            for name in names:
                if failures[name] >= GIVEN_UP_AFTER:
                    entries.append("")
                    continue
                entry, proved = measure(METHODS[name], row, families, seconds)
                failures[name] += not proved
                entries.append(entry)
            print(f"{row} | " + " | ".join(entries), flush=True)


def measure(
    build: Callable[[], Method[ScheduleProblem, Schedule]],
    row: Row,
    families: list[str],
    seconds: float,
) -> tuple[str, bool]:
    """Return the entry of a method, and whether it proved anything."""
    spent, gaps = [], []
    for family in families:
        problem = random_schedule(
            1,
            row.size,
            family,
            options=row.options,
            link_stretch_permille=977,
            max_outstanding=row.limit,
        )
        limits: Limits[Schedule] = Limits(
            seconds=seconds, workers=1, memory_bytes=2 << 30
        )
        result = build().solve(problem, limits)
        if result.status is Status.OPTIMAL:
            spent.append(result.cpu_seconds)
        elif result.objective and result.bound:
            gaps.append(1 - result.bound.value / result.objective)
        else:
            gaps.append(1.0)
    parts = []
    if spent:
        parts.append(f"{sum(spent) / len(spent):.2f}")
    if gaps:
        told = ", ".join(f"{gap:.1%}" for gap in gaps if gap < 1)
        parts.append(f"gap {told}" if told else "no proof")
    return "; ".join(parts), bool(spent)


if __name__ == "__main__":
    main(sys.argv[1:])
