"""Gantt chart of simulated plans: what HBM and the cores do at every moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, StepPatch

from elkhound.experiments.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    LIGHT_GREY,
    VERMILION,
    YELLOW,
    house_style,
    new_figure,
    save,
)
from elkhound.experiments.plots.time_axis import TimeAxis, time_axis
from elkhound.simpy_chip import PhaseKind, Score

Span = tuple[int, int]

MOST_BARS = 400  # more are thinner than a pixel: draw each one's share of a bin
BINS = 300
ROW_HEIGHT = 0.8
HBM_ROW, CORE_ROW = 1.0, 0.0

LOOKS: Mapping[str, dict[str, Any]] = {
    "preload": {"facecolor": GREEN},
    PhaseKind.DISTRIBUTE: {"facecolor": VERMILION, "hatch": "////"},
    PhaseKind.EXCHANGE: {"facecolor": YELLOW},
    PhaseKind.COMPUTE: {"facecolor": BLUE},
    "wait": {"facecolor": LIGHT_GREY, "hatch": "...."},
}
LABELS: Mapping[str, str] = {
    "preload": "preload (HBM to SRAM)",
    PhaseKind.DISTRIBUTE: "distribute",
    PhaseKind.EXCHANGE: "exchange",
    PhaseKind.COMPUTE: "compute",
    "wait": "wait for preload",
}


def plot_gantt(
    path_stem: Path, scores: Mapping[str, Score], *, clock_hz: int | None = None
) -> tuple[Path, Path]:
    """Write the chart as SVG and PNG; return the two paths.

    Parameters
    ----------
    path_stem : Path
        Where to write, without the suffix.
    scores : mapping
        Simulated plans by the name to show; one panel each, on one time axis.
    clock_hz : int or None
        Clock of the chip; None shows cycles.
    """
    return save(gantt_figure(scores, clock_hz=clock_hz), path_stem)


def gantt_figure(scores: Mapping[str, Score], *, clock_hz: int | None = None) -> Figure:
    """Return the chart; the parameters are those of `plot_gantt`."""
    longest = max(score.makespan_cycles for score in scores.values())
    time = time_axis(longest, clock_hz)
    with house_style():
        figure = new_figure(0.8 + 0.95 * len(scores))
        panels = figure.subplots(len(scores), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, score) in zip(panels, scores.items(), strict=True):
            labels = _draw_rows(axes, score, time)
            axes.set_title(_title(name, score, time))
            axes.set_yticks([HBM_ROW, CORE_ROW], labels)
            axes.set_ylim(CORE_ROW - 0.5, HBM_ROW + 0.5)
            axes.tick_params(axis="y", length=0)
        panels[-1].set_xlim(0, max(time(longest), 1e-9))
        binned = _any_binned(list(panels))
        note = f"; heights: share of time in each of {BINS} spans" if binned else ""
        if any(_numbered(score) for score in scores.values()):
            note += "; numbers: operators, the first is 0"
        panels[-1].set_xlabel(f"time ({time.unit}){note}")
        handles = [
            Patch(label=LABELS[kind], **{"edgecolor": BLACK, "linewidth": 0.4, **look})
            for kind, look in LOOKS.items()
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _numbered(score: Score) -> bool:
    return len(score.operators) <= MOST_BARS // 8


def _any_binned(panels: Sequence[Axes]) -> bool:
    return any(isinstance(p, StepPatch) for axes in panels for p in axes.patches)


def spans_of(score: Score) -> dict[str, list[Span]]:
    """Return what is drawn: (start, end) cycles by kind, without empty ones."""
    spans: dict[str, list[Span]] = {kind: [] for kind in LOOKS}
    for operator in score.operators:
        start, end = operator.preload_start_cycle, operator.preload_end_cycle
        if start is not None and end is not None:
            spans["preload"].append((start, end))
        spans["wait"].append(
            (operator.execute_issue_cycle, operator.execute_start_cycle)
        )
        for phase in operator.phases:
            spans[phase.kind].append((phase.start_cycle, phase.end_cycle))
    return {kind: [s for s in all_ if s[1] > s[0]] for kind, all_ in spans.items()}


def busy_share(spans: Sequence[Span], makespan: int, bins: int) -> np.ndarray:
    """Return the part of every bin of the makespan that the spans cover."""
    edges = np.linspace(0, makespan, bins + 1)
    covered = np.zeros(bins + 1)
    for start, end in spans:
        covered += np.clip(edges, start, end) - start
    return np.diff(covered) / (makespan / bins)


def _title(name: str, score: Score, time: TimeAxis) -> str:
    split, total = score.split, max(score.makespan_cycles, 1)
    return (
        f"{name}: {time(score.makespan_cycles):.4g} {time.unit}, "
        f"cores wait {(split.preload_only + split.idle) / total:.0%}, "
        f"link contention {split.contention / total:.0%}"
    )


def _draw_rows(axes: Axes, score: Score, time: TimeAxis) -> list[str]:
    """Draw both rows; return their labels."""
    spans = spans_of(score)
    labels = []
    for row, name, kinds in (
        (HBM_ROW, "HBM", ["preload"]),
        (CORE_ROW, "cores", [*PhaseKind, "wait"]),
    ):
        shown = {kind: spans[kind] for kind in kinds}
        if sum(len(kind_spans) for kind_spans in shown.values()) <= MOST_BARS:
            _draw_bars(axes, row, shown, time)
            labels.append(name)
        else:
            full = _draw_shares(axes, row, shown, score, time)
            labels.append(f"{name}\n0–{full:.0%}")
    if _numbered(score):
        _mark_operators(axes, score, time)
    return labels


def _draw_bars(
    axes: Axes, row: float, spans: Mapping[str, Sequence[Span]], time: TimeAxis
) -> None:
    """Draw a bar per span. Exchange that overlaps compute takes the upper half."""
    for kind, kind_spans in spans.items():
        bars = [(time(start), time(end - start)) for start, end in kind_spans]
        low, height = row - ROW_HEIGHT / 2, ROW_HEIGHT
        if kind in (PhaseKind.COMPUTE, PhaseKind.EXCHANGE) and _overlap(spans):
            height /= 2
            low += height if kind is PhaseKind.EXCHANGE else 0.0
        look = {"edgecolor": BLACK, "linewidth": 0.3, **LOOKS[kind]}
        collection = axes.broken_barh(bars, (low, height), **look)
        collection.set_gid(kind)


def _overlap(spans: Mapping[str, Sequence[Span]]) -> bool:
    if PhaseKind.EXCHANGE not in spans:
        return False
    exchanges = {start for start, _ in spans[PhaseKind.EXCHANGE]}
    return any(start in exchanges for start, _ in spans[PhaseKind.COMPUTE])


def _draw_shares(
    axes: Axes,
    row: float,
    spans: Mapping[str, Sequence[Span]],
    score: Score,
    time: TimeAxis,
) -> float:
    """Stack each kind's share of the time in every bin; return the full height.

    It is 1, or 2 where cores compute and exchange at once.
    """
    makespan = score.makespan_cycles
    edges = [time(edge) for edge in np.linspace(0, makespan, BINS + 1)]
    shares = {kind: busy_share(s, makespan, BINS) for kind, s in spans.items()}
    full = 2.0 if _overlap(spans) else 1.0
    low = np.full(BINS, row - ROW_HEIGHT / 2)
    for kind, share in shares.items():
        high = low + share * ROW_HEIGHT / full
        look = {"edgecolor": "none", "linewidth": 0.0, **LOOKS[kind]}
        patch = axes.stairs(high, edges, baseline=low, fill=True, **look)
        patch.set_gid(kind)
        low = high
    frame = (row - ROW_HEIGHT / 2, row + ROW_HEIGHT / 2)
    axes.hlines(frame, 0, time(makespan), color=BLACK, linewidth=0.3)
    return full


def _mark_operators(axes: Axes, score: Score, time: TimeAxis) -> None:
    """Separate the operators, and write their numbers where there is room."""
    room = score.makespan_cycles / 60
    for number, operator in enumerate(score.operators):
        start, end = operator.preload_start_cycle, operator.preload_end_cycle
        if start is not None and end is not None and end - start > room:
            _write(axes, time((start + end) / 2), HBM_ROW, str(number))
        begin, finish = operator.execute_start_cycle, operator.execute_end_cycle
        bottom = CORE_ROW - ROW_HEIGHT / 2
        axes.plot(
            [time(finish)] * 2, [bottom - 0.08, bottom + ROW_HEIGHT + 0.08],
            color=BLACK, linewidth=0.7,
        )  # fmt: skip
        if finish - begin > room:
            _write(axes, time((begin + finish) / 2), CORE_ROW, str(number))


def _write(axes: Axes, x: float, y: float, text: str) -> None:
    axes.text(
        x, y, text, ha="center", va="center", fontsize=6,
        bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "linewidth": 0},
    )  # fmt: skip
