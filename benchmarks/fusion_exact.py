"""How many einsums CP-SAT and MILP still prove, and what it costs beside the join.

    python benchmarks/fusion_exact.py 2 4 6 --seconds 40

Chains of 64³ matmuls on `simple` with a buffer of 16,384 bits, least energy, one
worker; prints a Markdown table of CPU seconds, with the gap where no proof was found.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from elkhound.heuristics.fusion.pareto_join import ParetoJoin
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.fusion.problem import FusionPlan, FusionProblem, FusionResult
from elkhound.model.io import load_accelerator
from elkhound.model.limits import Limits
from elkhound.model.result import Status
from elkhound.solvers.fusion.cp_sat import CpSat
from elkhound.solvers.fusion.milp import Milp

BUFFER_BITS = 16_384


def chain(einsums: int) -> FusionProblem:
    """Return a chain of matmuls in a quarter of the buffer of `simple`."""
    accelerator = load_accelerator("simple")
    main, buffer = accelerator.memories
    small = replace(buffer, size_bits=BUFFER_BITS)
    workload = fusion_workload("matmuls", {"einsums": einsums, "m": 64, "width": 64})
    return FusionProblem(workload, replace(accelerator, memories=(main, small)))


def cell(result: FusionResult) -> str:
    """Return CPU seconds, and the gap of what is not proved."""
    seconds = f"{result.cpu_seconds:.1f}"
    if result.status is Status.OPTIMAL:
        return seconds
    if result.objective is None or result.lower_bound is None:
        return f"{seconds} (nothing)"
    gap = (result.objective - result.lower_bound) / result.objective
    return f"{seconds} ({100 * gap:.2g} % left)"


def main() -> None:
    """Print a row per size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("einsums", nargs="+", type=int)
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    limits: Limits[FusionPlan] = Limits(seconds=arguments.seconds, workers=1)
    methods: tuple[Any, ...] = (ParetoJoin(), CpSat(), Milp())
    print("| einsums | partial mappings | arcs | join | cp-sat | milp |")
    print("|---|---|---|---|---|---|")
    for einsums in arguments.einsums:
        results = [method.solve(chain(einsums), limits) for method in methods]
        counts = results[1].statistics
        cells = [einsums, counts["pmappings"], counts["arcs"], *map(cell, results)]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
