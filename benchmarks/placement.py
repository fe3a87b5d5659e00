"""CPU seconds of the placement search on MiniMalloc's files, by file and seed.

    python benchmarks/placement.py CASES/minimalloc [SEEDS] [SECONDS]

Every placement is judged. Prints one line per run and the table of docs/placement.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

from elkhound.heuristics.placement import BestFit, FirstFit
from elkhound.model.io import read_placement_csv
from elkhound.model.limits import Limits
from elkhound.model.placement import (
    Placement,
    PlacementProblem,
    height_bytes,
    liveness_bytes,
)
from elkhound.model.referee import judge_placement
from elkhound.solvers.placement import Search


def main(folder: str, seeds: str = "5", seconds: str = "60") -> None:
    table = []
    for path in sorted(Path(folder).glob("*.*.csv")):
        name, capacity = path.name.split(".")[:2]
        if len(name) > 1:
            continue  # the small example
        buffers = read_placement_csv(path).buffers
        problem = PlacementProblem(int(capacity), buffers, name=name)
        spent, heights = [], []
        for seed in range(1, int(seeds) + 1):
            limits: Limits[Placement] = Limits(seconds=float(seconds), seed=seed)
            result = Search().solve(problem, limits)
            if result.plan is not None:
                verdict = judge_placement(problem, result.plan)
                if not verdict.feasible:
                    sys.exit(f"{name} seed {seed}: {verdict.violations[0]}")
                heights.append(verdict.height_bytes)
            spent.append(result.cpu_seconds)
            print(
                f"{name} seed {seed}: {result.status}, height {result.objective}, "
                f"{result.cpu_seconds:.2f} CPU s, {result.statistics['nodes']} nodes",
                flush=True,
            )
        plans = [fit().place(problem) for fit in (BestFit, FirstFit)]
        fit = min(height_bytes(problem, plan) for plan in plans)
        table.append(
            f"| {name} | {len(buffers)} | {liveness_bytes(buffers)} "
            f"| {fit / problem.capacity_bytes:.2f} × | {len(heights)} of {seeds} "
            f"| {min(spent):.2f} – {max(spent):.2f} |"
        )
    print(
        "\n| file | buffers | liveness B | best fit or first fit | fits | CPU s |\n"
        "|---|---|---|---|---|---|"
    )
    print("\n".join(table))


if __name__ == "__main__":
    main(*sys.argv[1:])
