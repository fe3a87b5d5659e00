"""How well simulated plans use HBM, links and cores (paper figure 18b to d)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from elkhound.experiments.plots.style import (
    BLACK,
    house_style,
    mark_of,
    new_figure,
    save,
)
from elkhound.experiments.plots.values import broken
from elkhound.simpy_chip import Score

_PANELS = (
    ("hbm_utilisation", "HBM bandwidth used (%)"),
    ("link_utilisation", "link bandwidth used (%)"),
    ("compute_utilisation", "time cores compute (%)"),
)


def plot_utilisation(path_stem: Path, scores: Mapping[str, Score]) -> tuple[Path, Path]:
    """Write the chart as SVG and PNG; return the two paths.

    Parameters
    ----------
    path_stem : Path
        Where to write, without the suffix.
    scores : mapping
        Simulated plans by the name to show.
    """
    return save(utilisation_figure(scores), path_stem)


def utilisation_figure(scores: Mapping[str, Score]) -> Figure:
    """Return the chart: three panels, a bar per plan in each."""
    with house_style():
        figure = new_figure(0.9 + 0.24 * len(scores))
        panels = figure.subplots(1, len(_PANELS), sharey=True)
        for axes, (number, label) in zip(panels, _PANELS, strict=True):
            for place, (name, score) in enumerate(scores.items()):
                part = getattr(score, number)
                bars = axes.barh(
                    place,
                    0 if part is None else 100 * part,
                    0.7,
                    facecolor=mark_of(name).color,
                    edgecolor=BLACK,
                    linewidth=0.5,
                )
                bars[0].set_gid(f"{name} {number}")
                text = "–" if part is None else f"{100 * part:.1f}"
                axes.bar_label(bars, [text], fontsize=6.5, padding=2)
            axes.set_xlim(0, 115)  # room for the number beside a full bar
            axes.set_xticks([0, 25, 50, 75, 100])
            axes.set_xlabel(label)
            axes.tick_params(axis="y", length=0)
            axes.grid(axis="x")
        panels[0].set_yticks(range(len(scores)), [broken(name) for name in scores])
        panels[0].set_ylim(len(scores) - 0.4, -0.6)  # the first plan on top
    return figure
