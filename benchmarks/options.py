"""CPU seconds and sizes of the partition search, one row per distinct operator.

Tables are searched anew into an empty cache directory, then read from it again as
another process would. Equal shapes are searched once.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Sequence

from elkhound.experiments.fronts import thinned
from elkhound.model.chip import Chip
from elkhound.model.graph import Graph, Operator
from elkhound.model.io.chip_file import load_chip
from elkhound.model.options import (
    distinct_operators,
    four_field_front,
    operator_options,
    schedule_problem,
    searched,
)
from elkhound.model.options.search import forget_tables
from elkhound.model.workloads import build_workload

THINNED = (50, 100)
HEADINGS = (
    "CPU s", "splits", "plans", "on front", "options", "4-field", "at 5 %", "at 10 %",
    "min KiB", "min t", "h",
)  # fmt: skip


def main() -> None:
    """Print the table of a workload."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workload", nargs="?", default="llama-2-70b")
    parser.add_argument("chip", nargs="?", default="ipu-pod4-hbm")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seq", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=1)
    given = parser.parse_args()
    bind = {"batch": given.batch, "seq": given.seq, "layers": given.layers}
    graph = build_workload(given.workload, bind)
    chip = load_chip(given.chip)
    print(f"{graph.name} on {chip.name}: {len(graph.operators)} operators")
    with tempfile.TemporaryDirectory() as directory:
        os.environ["ELKHOUND_CACHE"] = directory
        print_operators(graph, chip)
        forget_tables()
        print_problem(graph, chip)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"in all {time.process_time():.1f} CPU s, {peak} MiB")


def print_operators(graph: Graph, chip: Chip) -> None:
    """Search every distinct operator; then read all of them from the disk."""
    first = [group[0] for group in distinct_operators(graph)]
    print(f"{'operator':24}" + "".join(f"{title:>9}" for title in HEADINGS))
    total = 0.0
    for operator in first:
        started = time.process_time()
        operator_options(graph, operator, chip)
        seconds = time.process_time() - started
        total += seconds
        print_row(operator.name, seconds, row(graph, operator, chip))
    forget_tables()
    started = time.process_time()
    for operator in first:
        operator_options(graph, operator, chip)
    again = time.process_time() - started
    print(
        f"{len(first)} distinct operators: {total:.2f} CPU s searched, "
        f"{again:.2f} CPU s from the cache on disk"
    )


def row(graph: Graph, operator: Operator, chip: Chip) -> Sequence[int]:
    """Return what stands behind the seconds."""
    options = operator_options(graph, operator, chip)
    looked_at = searched(graph, operator, chip)
    return (
        looked_at.splits,
        looked_at.plans,
        len({option.execute_plan for option in options}),
        len(options),
        len(four_field_front(options)),
        *(len(thinned(options, permille)) for permille in THINNED),
        min(option.execute_bytes for option in options) // 1024,
        min(option.execute_cycles for option in options),
        min(option.preload_cycles for option in options),
    )


def print_row(name: str, seconds: float, numbers: Sequence[int]) -> None:
    """Print one line of the table."""
    cells = "".join(f"{number:9d}" for number in numbers)
    print(f"{name[:23]:24}{seconds:9.3f}{cells}")


def print_problem(graph: Graph, chip: Chip) -> None:
    """Make the schedule problem of all operators from the tables on disk."""
    started = time.process_time()
    problem = schedule_problem(graph, chip)
    seconds = time.process_time() - started
    options = sum(len(operator.options) for operator in problem.operators)
    print(
        f"problem: {len(problem.operators)} operators, {options} options that fit, "
        f"{seconds:.2f} CPU s with every table on disk"
    )


if __name__ == "__main__":
    main()
