"""Speed of the simulator, and how far `class` is from `core` on uneven programs.

Plans are those of Elk-Dyn. Times are CPU seconds of one simulation, planning left out.

    python benchmarks/simulator.py [--quick]
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from oracles.random_programs import all_to_all, mesh, random_case

from elkhound.heuristics.allocation import DeltaEfficiency
from elkhound.heuristics.schedule import ElkDyn
from elkhound.model.chip import Chip, Mesh2D
from elkhound.model.io import load_chip
from elkhound.model.limits import Limits
from elkhound.model.options import schedule_problem
from elkhound.model.program import Program, program_of
from elkhound.model.workloads import build_workload
from elkhound.simpy_chip import Fidelity, simulate


def mesh_of(side: int) -> Chip:
    """Return side × side cores of the mesh preset, with their part of HBM."""
    whole = load_chip("ipu-pod4-hbm-mesh")
    assert isinstance(whole.links, Mesh2D)
    cores = side * side
    rate = whole.hbm.bytes_per_second * cores // whole.cores
    return replace(
        whole,
        name=f"mesh-{cores}",
        chips=1,
        cores_per_chip=cores,
        links=replace(whole.links, rows=side, columns=side),
        hbm=replace(whole.hbm, bytes_per_second=rate),
    )


def planned(model: str, chip: Chip, **symbols: int) -> Program:
    """Return the program of Elk-Dyn's plan for a decode step."""
    problem = schedule_problem(build_workload(model, symbols), chip)
    result = ElkDyn(DeltaEfficiency()).solve(problem, Limits())
    assert result.plan is not None
    return program_of(problem, result.plan, chip)


def speed(name: str, program: Program, fidelity: Fidelity) -> None:
    """Print one simulation's CPU time and events."""
    start = process_time()
    score = simulate(program, fidelity=fidelity)
    seconds = process_time() - start
    operators = len(score.operators)
    print(
        f"{name:<28} {fidelity:<6} {operators:>5} operators {seconds:8.2f} CPU s "
        f"{score.events:>7} events ({score.events / operators:6.1f} per operator, "
        f"{score.events / seconds:9.0f} per s)  {score.makespan_cycles} cycles",
        flush=True,
    )


def difference(name: str, chip: Chip, count: int) -> None:
    """Print how much longer `class` says random programs take than `core`."""
    random = Random(1)
    excess = []
    for _ in range(count):
        _, _, program = random_case(random, chip)
        core, merged = (
            simulate(program, fidelity=fidelity).makespan_cycles
            for fidelity in (Fidelity.CORE, Fidelity.CLASS)
        )
        excess.append(merged / core - 1 if core else 0.0)
    equal = sum(value == 0 for value in excess)
    print(
        f"{name:<16} {count} programs, "
        f"{equal} equal, class / core − 1 from {min(excess):.2%} to {max(excess):.2%}",
        flush=True,
    )


def main(quick: bool) -> None:
    """Print both tables; `quick` leaves out the long simulations."""
    pod, meshed = load_chip("ipu-pod4-hbm"), load_chip("ipu-pod4-hbm-mesh")
    one_layer = {"batch": 32, "seq": 2048, "layers": 1}
    layer = planned("llama-2-13b", pod, **one_layer)
    speed("13B layer, 5888 cores", layer, Fidelity.CLASS)
    small = planned("llama-2-7b", mesh_of(32), batch=8, seq=256, layers=1)
    speed("7B layer, mesh 32 × 32", small, Fidelity.CLASS)
    wide = planned("llama-2-13b", meshed, **one_layer)
    speed("13B layer, mesh 64 × 92", wide, Fidelity.CLASS)
    whole = planned("llama-2-13b", pod, batch=32, seq=2048)
    speed("13B decode step, 5888 cores", whole, Fidelity.CLASS)
    if not quick:
        speed("13B layer, 5888 cores", layer, Fidelity.CORE)
        speed("7B layer, mesh 32 × 32", small, Fidelity.CORE)
    print()
    few = 20 if quick else 200
    difference("12 all-to-all", all_to_all(12), few)
    difference("mesh 4 × 6", mesh(4, 6), few)
    difference("mesh 3 × 5", mesh(3, 5), few)
    difference("mesh 8 × 8", mesh(8, 8), few)


if __name__ == "__main__":
    main("--quick" in sys.argv[1:])
