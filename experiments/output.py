"""Tables for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elkhound.experiments.fused_groups import fused_document
from elkhound.experiments.fusion_output import (
    HEADINGS as FUSION_HEADINGS,
)
from elkhound.experiments.fusion_output import (
    fusion_cells,
    fusion_summary,
    fusion_title,
)
from elkhound.experiments.kept import rows_with_files
from elkhound.experiments.kinds import kind_of
from elkhound.experiments.rows import Row
from elkhound.experiments.source import DEFAULT_TILE_COST
from elkhound.experiments.table import Table
from elkhound.model.allocation import AllocationProblem
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.placement import PlacementProblem

if TYPE_CHECKING:
    from rich.console import Console


def table_document(table: Table, run_dir: Path | None) -> dict[str, Any]:
    """Return the object that `--json` prints (stable)."""
    return {
        "problem": summary(table),
        "rows": [row.document() for row in rows_with_files(table, run_dir)],
        "contradictions": list(table.contradictions),
        "run_dir": None if run_dir is None else str(run_dir),
    }


def summary(table: Table) -> dict[str, Any]:
    """Return what the problem is, and every lower bound known of it."""
    from elkhound.model.io import problem_hash

    problem, chip = table.problem, table.chip
    about: dict[str, Any] = {
        "kind": kind_of(problem).name,
        "name": problem.name,
        "hash": problem_hash(problem),
    }
    if isinstance(problem, AllocationProblem):
        about["items"] = len(problem.items)
        about["capacity_bytes"] = problem.capacity_bytes
    elif isinstance(problem, PlacementProblem):
        about["buffers"] = len(problem.buffers)
        about["capacity_bytes"] = problem.capacity_bytes
        about["minimise"] = problem.minimise
    elif isinstance(problem, FusionProblem):
        about |= fusion_summary(problem)
    else:
        about["operators"] = len(problem.operators)
        about["options"] = sum(len(o.options) for o in problem.operators)
        about["sram_bytes"] = problem.sram_bytes
        about["contention"] = str(problem.contention)
        about["link_stretch_permille"] = problem.link_stretch_permille
        about["max_outstanding"] = problem.max_outstanding
        about["tile_cost"] = table.tile_cost
        about["fused"] = fused_document(table.fused)
    about["chip"] = None if chip is None else chip.name
    about["clock_hz"] = None if chip is None else chip.clock_hz
    if table.pins is not None:  # what methods proved is about plans that keep them
        about["pinned"] = table.pins.said
    about["bounds"] = [
        {
            "source": source,
            "value": bound.value,
            "kind": str(bound.kind),
            "order": str(bound.order),
            "contention": None if bound.contention is None else str(bound.contention),
        }
        for source, bound in table.bounds
    ]
    return about


def print_table(console: Console, table: Table, run_dir: Path | None) -> None:
    """Print the comparison for a person; on a narrow console cells take two lines."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(
        title=Text(_title(table)),
        box=box.SIMPLE_HEAD,
        title_justify="left",
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    is_fusion = isinstance(table.problem, FusionProblem)
    fit = _two_lines if console.width < _WIDE else tuple
    method, status, *numbers = fit(FUSION_HEADINGS if is_fusion else _HEADINGS)
    grid.add_column(method, overflow="fold")
    grid.add_column(status, no_wrap=True)
    for heading in numbers:
        grid.add_column(heading, justify="right", no_wrap=True)
    clock_hz = None if table.chip is None else table.chip.clock_hz
    for row in table.rows:
        cells = fusion_cells(row) if is_fusion else _cells(row, clock_hz)
        grid.add_row(*map(Text, fit(cells)))
    console.print(grid)
    for line in _remarks(table, run_dir):
        loud = "bold red" if line.startswith("CONTRADICTION") else None
        console.print(line, style=loud, markup=False, highlight=False, soft_wrap=True)


_WIDE = 130
_HEADINGS = (
    "method",
    "status",
    "objective",
    "bound (kind)",
    "gap",
    "simulated",
    "model error",
    "wall s",
    "CPU s",
)


def _two_lines(cells: tuple[str, ...]) -> tuple[str, ...]:
    """Put units, kinds, settings and CPU seconds into a second line."""
    method, *others, error, wall, cpu = cells
    others = [c.replace(" (", "\n(").replace(" = ", "\n") for c in others]
    error = error.replace(" error", "\nerror")
    return (method.replace(":", ":\n"), *others, error, f"{wall}\n{cpu}")


def _remarks(table: Table, run_dir: Path | None) -> Iterator[str]:
    plans = [row for row in table.rows if row.verified is not None]
    good = sum(row.verified is True for row in plans)
    yield f"{good} of {len(plans)} plans verified by the referee"
    for row in table.rows:
        if row.reason:
            yield f"{row.method}: {row.reason}"
    if table.pins is not None:
        yield f"pinned: {table.pins.said}; gaps and proofs are about such plans"
    if table.tile_cost is not None and table.tile_cost["name"] != DEFAULT_TILE_COST:
        yield f"cycles of tiles: {table.tile_cost['name']}"
    yield from _left_out(table)
    yield from _edit_distances(table)
    yield from _surpassed_classes(table)
    for contradiction in table.contradictions:
        yield f"CONTRADICTION {contradiction}"
    if run_dir is not None:
        yield f"run directory: {run_dir}"


def _left_out(table: Table) -> Iterator[str]:
    """Say what thinning options left out, and the most that it may have cost."""
    for outcome in table.outcomes:
        if outcome.result is None or "options_kept" not in outcome.result.statistics:
            continue
        said = outcome.result.statistics
        cost = ""
        if outcome.plan is not None:
            error = outcome.result.thinning_error
            cost = f", which costs at most {error} cycles"
        yield (
            f"{outcome.method}: saw {said['options_kept']} of {said['options']} "
            f"options{cost}"
        )


def _edit_distances(table: Table) -> Iterator[str]:
    """Say how far reordered preloads are from execution order (Elk, §4.4)."""
    for outcome in table.outcomes:
        if outcome.plan is not None and outcome.result is not None:
            distance = outcome.result.statistics.get("edit_distance")
            if distance:
                yield (
                    f"{outcome.method}: preload order at a mean edit distance of "
                    f"{distance} from execution order in a layer"
                )


def _surpassed_classes(table: Table) -> Iterator[str]:
    """Say which gaps are to the bound of a class that a plan outside it beats."""
    plans = [(row.objective, row) for row in table.rows if row.verified]
    known = [(value, row) for value, row in plans if value is not None]
    if not known:
        return
    least, best = min(known, key=lambda plan: plan[0])
    surpassed: dict[str, list[str]] = {}
    for _, row in known:
        if row.order and row.lower_bound is not None and row.lower_bound > least:
            surpassed.setdefault(row.order, []).append(row.method)
    for order, names in surpassed.items():
        yield (
            f"{', '.join(names)}: the gap is to the bound of {order} order; "
            f"{best.method} has a plan below it in {best.order} order"
        )


def _title(table: Table) -> str:
    problem = table.problem
    if isinstance(problem, AllocationProblem):
        return (
            f"{problem.name}: {len(problem.items)} items, "
            f"{problem.capacity_bytes} B, cycles"
        )
    if isinstance(problem, PlacementProblem):
        return (
            f"{problem.name}: {len(problem.buffers)} buffers, "
            f"{problem.capacity_bytes} B, height in bytes"
        )
    if isinstance(problem, FusionProblem):
        return fusion_title(problem)
    chip = "abstract chip" if table.chip is None else table.chip.name
    on_chip = f" on {chip}"
    name = problem.name.removesuffix(on_chip) + on_chip
    return (
        f"{name}: {len(problem.operators)} operators, "
        f"{problem.sram_bytes} B per core, cycles under the "
        f"{problem.contention} rule"
    )


def _cells(row: Row, clock_hz: int | None) -> tuple[str, ...]:
    bound = "–"
    if row.lower_bound is not None:
        bound = f"{cycles(row.lower_bound, clock_hz)} ({row.bound_kind})"
    return (
        row.method,
        str(row.status),
        cycles(row.objective, clock_hz),
        bound,
        _known(row.gap, lambda gap: f"{100 * gap:.2f} %"),
        cycles(row.simulated, clock_hz),
        _known(row.model_error, lambda error: f"{100 * error:+.2f} %"),
        f"{row.wall_seconds:.2f}",
        f"{row.cpu_seconds:.2f}",
    )


def _known(value: Any, text: Callable[[Any], str]) -> str:
    return "–" if value is None else text(value)


def cycles(value: int | float | None, clock_hz: int | None) -> str:
    """Return cycles, with milli- or microseconds where the clock is known.

    Examples
    --------
    >>> cycles(1500, 1_000_000)
    '1500 = 1.500 ms'
    >>> cycles(11251, 1_325_000_000)
    '11251 = 8.49 µs'
    """
    if value is None:
        return "–"
    if clock_hz is None:
        return str(value)
    microseconds = 1e6 * value / clock_hz
    if microseconds < 1000:
        return f"{value} = {microseconds:.2f} µs"
    return f"{value} = {microseconds / 1000:.3f} ms"
