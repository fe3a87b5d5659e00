"""Simulate least-energy mappings on tpu-v4i: table of docs/simulator.md.

Usage: python benchmarks/simulate_mappings.py [chain-2] [chain-64] [gpt-3]
"""

from __future__ import annotations

import sys
import time

from elkhound.heuristics.fusion.pareto_join import ParetoJoin
from elkhound.model.fusion import cost_of
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.io import load_accelerator, load_fusion_workload
from elkhound.model.limits import Limits
from elkhound.simpy_chip.fused import simulate_mapping

CASES = {
    "chain-2": ("chain", {"einsums": 2}),
    "chain-64": ("chain", {"einsums": 64}),
    "gpt-3": ("gpt-3-6.7b", {"batch": 64, "new_tokens": 4096}),
}


def main(names: list[str]) -> None:
    """Print a row per case."""
    accelerator = load_accelerator("tpu-v4i")
    print("| mapping | rules | simulated | more | fill | drain | steps | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names or list(CASES):
        workload = load_fusion_workload(*CASES[name])
        problem = FusionProblem(workload, accelerator)
        plan = ParetoJoin().solve(problem, Limits(seconds=600)).plan
        if plan is None:
            raise SystemExit(f"{name}: no mapping found in time")
        start = time.process_time()
        score = simulate_mapping(accelerator, workload, plan.tree)
        seconds = time.process_time() - start
        rules = cost_of(accelerator, workload, plan.tree).latency
        cycles = rules / accelerator.cycle_time
        fill = sum(einsum.fill_cycles for einsum in score.einsums)
        drain = sum(einsum.drain_cycles for einsum in score.einsums)
        more = 100 * (score.cycles / cycles - 1)
        print(
            f"| {name} | {cycles:,.0f} | {score.cycles:,.0f} | "
            f"{more:+.2f} % | {fill:,.0f} | {drain:,.0f} | "
            f"{score.steps} | {seconds:.2f} |"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
