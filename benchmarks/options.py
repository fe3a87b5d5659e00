"""CPU seconds and sizes of the partition search, one row per distinct operator shape.

    python benchmarks/options.py [WORKLOAD] [CHIP] [batch=32] [seq=2048] [layers=1]

Tables are searched anew: the cache on disk is off, equal shapes are searched once.
"""

from __future__ import annotations

import os
import resource
import sys
import time

from elkhound.model.graph import Graph, Operator
from elkhound.model.io.chip_file import load_chip
from elkhound.model.options import (
    four_field_front,
    operator_options,
    schedule_problem,
)
from elkhound.model.options.shape import Shape, canonical
from elkhound.model.workloads import build_workload


def main(arguments: list[str]) -> None:
    os.environ["ELKHOUND_CACHE"] = "off"
    names = [a for a in arguments if "=" not in a]
    bind = {"batch": 32, "seq": 2048, "layers": 1}
    bind |= {
        key: int(value) for key, value in (a.split("=") for a in arguments if "=" in a)
    }
    graph = build_workload(names[0] if names else "llama-2-13b", bind)
    chip = load_chip(names[1] if len(names) > 1 else "ipu-pod4-hbm")

    print(f"{graph.name} on {chip.name}: {len(graph.operators)} operators")
    heading = (
        "operator",
        "CPU s",
        "plans",
        "options",
        "front",
        "min t",
        "min bytes",
        "h",
    )
    print(f"{heading[0]:28}" + "".join(f"{title:>11}" for title in heading[1:]))
    for operator in distinct(graph):
        started = time.process_time()
        options = operator_options(graph, operator, chip)
        seconds = time.process_time() - started
        numbers = (
            len({option.execute_plan for option in options}),
            len(options),
            len(four_field_front(options)),
            min(option.execute_cycles for option in options),
            min(option.execute_bytes for option in options),
            min(option.preload_cycles for option in options),
        )
        print(
            f"{operator.name[:27]:28}{seconds:11.3f}"
            + "".join(f"{number:11d}" for number in numbers)
        )

    started = time.process_time()
    problem = schedule_problem(graph, chip)
    seconds = time.process_time() - started
    fitting = [operator.options for operator in problem.operators]
    print(
        f"problem: {len(fitting)} operators, {sum(map(len, fitting))} options that "
        f"fit, {sum(len(four_field_front(options)) for options in fitting)} on the "
        f"four-field fronts, {seconds:.2f} CPU s with every shape known"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"in all {time.process_time():.1f} CPU s, {peak} MiB")


def distinct(graph: Graph) -> list[Operator]:
    """Return the first operator of every canonical shape, in execution order."""
    first: dict[Shape, Operator] = {}
    for operator in graph.operators:
        first.setdefault(canonical(graph, operator)[0], operator)
    return list(first.values())


if __name__ == "__main__":
    main(sys.argv[1:])
