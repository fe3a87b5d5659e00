"""The five designs of Elk's evaluation, and what a line says of a point of theirs.

All designs of a cell of a grid plan one problem: the same bandwidths, options, SRAM and
contention rule. Ideal is no plan but a lower bound; its value stands where the others
have their planned time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import geometric_mean
from typing import Any

from elkhound.experiments.figures.figure import Line
from elkhound.experiments.figures.measures import Finished
from elkhound.experiments.plots.design_bars import Bar
from elkhound.experiments.plots.design_lines import Course
from elkhound.experiments.points import Point
from elkhound.experiments.records import Record

DESIGNS = ("basic", "static", "elk-dyn", "elk-full", "ideal")
LLMS = ("llama-2-13b", "gemma-2-27b", "opt-30b", "llama-2-70b")
ALL_TO_ALL, MESH = "ipu-pod4-hbm", "ipu-pod4-hbm-mesh"
TOPOLOGY = {ALL_TO_ALL: "all-to-all", MESH: "mesh"}
SPLIT = ("preload_only", "execute_only", "overlapped", "contention", "idle")

_ROW = (
    "method",
    "status",
    "objective",
    "lower_bound",
    "bound_kind",
    "gap",
    "simulated",
    "model_error",
    "verified",
    "contention",
    "order",
    "cpu_seconds",
    "reason",
)
_SCORE = ("hbm_bytes", "hbm_utilisation", "link_utilisation", "compute_utilisation")


def design_lines(finished: Finished) -> Iterator[Line]:
    """Yield a line per point: coordinates, times in ms, and what simulation says."""
    for point, record in finished:
        yield design_line(point, record)


def design_line(point: Point, record: Record) -> dict[str, Any]:
    """Return the line of one point."""
    row, score = record.flat(), record.score or {}
    chip = point.subject.chip
    clock_hz = None if chip is None else chip.clock_hz
    planned = row["lower_bound"] if record.row.method == "ideal" else row["objective"]
    split = score.get("split", {})
    return {
        **record.coordinates,
        **{name: row[name] for name in _ROW},
        "clock_hz": clock_hz,
        "planned_ms": _ms(planned, clock_hz),
        "simulated_ms": _ms(row["simulated"], clock_hz),
        **{name: score.get(name) for name in _SCORE},
        **{f"{part}_cycles": split.get(part) for part in SPLIT},
    }


def _ms(cycles: int | None, clock_hz: int | None) -> float | None:
    return None if cycles is None or clock_hz is None else 1e3 * cycles / clock_hz


def cells(lines: Sequence[Line], *keys: str) -> dict[tuple[object, ...], list[Line]]:
    """Return lines by the values of some columns, in the order of the lines."""
    found: dict[tuple[object, ...], list[Line]] = {}
    for line in lines:
        found.setdefault(tuple(line.get(key) for key in keys), []).append(line)
    return found


def ratios(
    lines: Sequence[Line],
    keys: Sequence[str],
    slow: str,
    fast: str,
    value: Callable[[Line], float | None],
) -> list[float]:
    """Return value(slow) / value(fast) of every cell in which both are known."""
    found = []
    for cell in cells(lines, *keys).values():
        known = {str(line["method"]): value(line) for line in cell}
        above, below = known.get(slow), known.get(fast)
        if above is not None and below:
            found.append(above / below)
    return found


def planned(line: Line) -> float | None:
    """Return the planned time in ms; of Ideal, its bound."""
    found: float | None = line["planned_ms"]
    return found


def simulated(line: Line) -> float | None:
    """Return the simulated time in ms; None for Ideal, which is no plan."""
    found: float | None = line["simulated_ms"]
    return found


def simulated_or_bound(line: Line) -> float | None:
    """Return the simulated time in ms; of Ideal, its bound."""
    return planned(line) if line["method"] == "ideal" else simulated(line)


def mean_ratio(found: Sequence[float]) -> str:
    """Return a geometric mean as people write it.

    Examples
    --------
    >>> mean_ratio([2.0, 0.5]), mean_ratio([])
    ('1.000×', 'unknown')
    """
    return f"{geometric_mean(found):.3f}×" if found else "unknown"


def layers_of(lines: Sequence[Line]) -> str:
    """Return how many layers were measured, for a label; empty where all were."""
    counts = {line["bind.layers"] for line in lines if line.get("bind.layers")}
    if not counts:
        return ""
    numbers = ", ".join(str(n) for n in sorted(counts))
    return f", {numbers} {'layer' if counts == {1} else 'layers'}"


def fair_ratios(lines: Sequence[Line], keys: Sequence[str]) -> str:
    """Return how much faster Elk-Full is than the others, planned and simulated.

    Parameters
    ----------
    keys : sequence of str
        Columns that tell cells of the grid apart.
    """
    count = len(cells(lines, *keys))
    parts = []
    for slow in ("basic", "static", "elk-dyn"):
        plan = ratios(lines, keys, slow, "elk-full", planned)
        run = ratios(lines, keys, slow, "elk-full", simulated)
        parts.append(
            f"{mean_ratio(plan)} as fast as {slow} planned, {mean_ratio(run)} "
            f"simulated ({len(plan)} of {count} cells)"
        )
    ideal = ratios(lines, keys, "ideal", "elk-full", simulated_or_bound)
    part = f"{100 * geometric_mean(ideal):.1f} %" if ideal else "an unknown part"
    return (
        f"Elk-Full is {'; '.join(parts)}; simulated, it reaches {part} of Ideal's "
        f"speed (geometric means). {slower_cells(lines, keys)}"
    )


def slower_cells(lines: Sequence[Line], keys: Sequence[str]) -> str:
    """Return where Elk-Full is slower than the others, and what takes longer there."""
    parts = []
    for other in ("basic", "static", "elk-dyn"):
        lost = {
            value: sorted(_losses(lines, keys, other, value), key=lambda loss: loss[0])
            for value in (planned, simulated)
        }
        counts = [len(lost[value]) for value in (planned, simulated)]
        if not any(counts):
            parts.append(f"than {other} nowhere")
            continue
        worst = ""
        if lost[simulated]:
            ratio, place, longer = lost[simulated][-1]
            worst = f" (at most {100 * (ratio - 1):.1f} %, {place}{longer})"
        known = len(ratios(lines, keys, other, "elk-full", planned))
        parts.append(
            f"than {other} in {counts[0]} of {known} cells planned, {counts[1]} "
            f"simulated{worst}"
        )
    return f"It is slower {'; '.join(parts)}."


def _losses(
    lines: Sequence[Line],
    keys: Sequence[str],
    other: str,
    value: Callable[[Line], float | None],
) -> Iterator[tuple[float, str, str]]:
    """Yield how many times as long, where, and what of it grew most."""
    for cell in cells(lines, *keys).values():
        own = {str(line["method"]): line for line in cell}
        if other not in own or "elk-full" not in own:
            continue
        mine, theirs = value(own["elk-full"]), value(own[other])
        if mine is not None and theirs and mine > theirs:
            place = " ".join(str(own[other][key]) for key in keys)
            yield mine / theirs, place, _longer(own["elk-full"], own[other])


def _longer(mine: Line, theirs: Line) -> str:
    """Return the part of the simulated time that grew most."""
    grown = {
        part: mine[f"{part}_cycles"] - theirs[f"{part}_cycles"]
        for part in SPLIT
        if mine.get(f"{part}_cycles") is not None
        and theirs.get(f"{part}_cycles") is not None
    }
    if not grown:
        return ""
    part = max(grown, key=lambda part: grown[part])
    milliseconds = _ms(grown[part], mine["clock_hz"])
    return f": {part.replace('_', ' ')} +{milliseconds:.3g} ms"


def design_bars_of(
    lines: Sequence[Line], panel: str, group: Callable[[Line], str]
) -> dict[str, dict[str, list[Bar]]]:
    """Return bars of planned and simulated times, by panel and group."""
    panels: dict[str, dict[str, list[Bar]]] = {}
    for line in lines:
        bars = panels.setdefault(str(line[panel]), {}).setdefault(group(line), [])
        bars.append(Bar(str(line["method"]), planned(line), simulated(line)))
    return panels


def design_courses(
    lines: Sequence[Line],
    *,
    row: Callable[[Line], str],
    column: Callable[[Line], str],
    x: Callable[[Line], float],
    solid: Callable[[Line], float | None] = planned,
    dashed: Callable[[Line], float | None] | None = simulated,
) -> dict[tuple[str, str], list[Course]]:
    """Return what `design_lines_figure` draws: planned solid, simulated dashed."""
    panels: dict[tuple[str, str], list[Course]] = {}
    kinds = [(solid, False)] + ([] if dashed is None else [(dashed, True)])
    by_panel: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        by_panel.setdefault((row(line), column(line)), []).append(line)
    for place, own in by_panel.items():
        courses = panels.setdefault(place, [])
        for value, is_dashed in kinds:
            for (design,), points in cells(own, "method").items():
                course = sorted((x(line), value(line)) for line in points)
                if any(y is not None for _, y in course):
                    courses.append(Course(str(design), course, is_dashed))
    return panels


def topology(line: Line) -> str:
    """Return the topology of a line's chip."""
    return TOPOLOGY[line["chip"]]


def mesh_ratio(lines: Sequence[Line], keys: Sequence[str], design: str) -> list[float]:
    """Return mesh / all-to-all of a design's simulated time, cell by cell."""
    own = [line for line in lines if line["method"] == design]
    found = []
    for cell in cells(own, *keys).values():
        known = {topology(line): simulated(line) for line in cell}
        mesh, ports = known.get("mesh"), known.get("all-to-all")
        if mesh and ports:
            found.append(mesh / ports)
    return found
