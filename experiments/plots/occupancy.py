"""SRAM occupancy over time, by what the space is reserved for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from elkhound.experiments.plots.style import (
    BLACK,
    BLUE,
    GREY,
    SKY,
    VERMILION,
    house_style,
    new_figure,
    save,
)
from elkhound.experiments.plots.time_axis import TimeAxis, time_axis
from elkhound.simpy_chip import Score

# From the bottom, the steadiest first, so that the eye can follow each.
_LAYERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("resident", {"facecolor": GREY}),
    ("preloaded", {"facecolor": SKY, "hatch": "////", "edgecolor": "white"}),
    ("executing", {"facecolor": BLUE}),
)
_MOST_OUTLINED = 200  # more steps, and the outline hides what it surrounds
_UNITS = ((1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))


def plot_occupancy(
    path_stem: Path, scores: Mapping[str, Score], *, clock_hz: int | None = None
) -> tuple[Path, Path]:
    """Write the chart as SVG and PNG; return the two paths.

    Parameters
    ----------
    path_stem : Path
        Where to write, without the suffix.
    scores : mapping
        Simulated plans by the name to show; one panel each.
    clock_hz : int or None
        Clock of the chip; None shows cycles.
    """
    return save(occupancy_figure(scores, clock_hz=clock_hz), path_stem)


def occupancy_figure(
    scores: Mapping[str, Score], *, clock_hz: int | None = None
) -> Figure:
    """Return the chart; the parameters are those of `plot_occupancy`."""
    longest = max(score.makespan_cycles for score in scores.values())
    time = time_axis(longest, clock_hz)
    capacity = max(score.sram_bytes for score in scores.values())
    size, unit = next(u for u in _UNITS if capacity >= 2 * u[0] or u[0] == 1)
    with house_style():
        figure = new_figure(0.8 + 1.4 * len(scores))
        panels = figure.subplots(
            len(scores), 1, sharex=True, sharey=True, squeeze=False
        )[:, 0]
        for axes, (name, score) in zip(panels, scores.items(), strict=True):
            _draw_layers(axes, score, time, size)
            axes.axhline(
                score.sram_bytes / size, color=VERMILION, linestyle="--", linewidth=1,
                label="usable SRAM",
            )  # fmt: skip
            used = score.peak_bytes / score.sram_bytes
            axes.set_title(f"{name}: at most {used:.0%} of the SRAM reserved")
            axes.set_ylabel(f"SRAM per core ({unit})")
        panels[-1].set_ylim(0, 1.08 * capacity / size)
        panels[-1].set_xlim(0, max(time(longest), 1e-9))
        panels[-1].set_xlabel(f"time ({time.unit})")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(handles))
    return figure


def _draw_layers(axes: Axes, score: Score, time: TimeAxis, size: int) -> None:
    edges = [time(step.cycle) for step in score.occupancy]
    edges.append(time(score.makespan_cycles))
    low = [0.0] * len(score.occupancy)
    for use, look in _LAYERS:
        high = [
            below + getattr(step, f"{use}_bytes") / size
            for below, step in zip(low, score.occupancy, strict=True)
        ]
        patch = axes.stairs(
            high, edges, baseline=low, fill=True, label=use, linewidth=0.0, **look
        )
        patch.set_gid(use)
        low = high
    if len(low) <= _MOST_OUTLINED:
        axes.stairs(low, edges, baseline=None, color=BLACK, linewidth=0.6)
