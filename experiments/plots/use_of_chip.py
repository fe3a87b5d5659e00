"""Time split and utilisation of designs, by model (paper figure 18)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from elkhound.experiments.plots.design_bars import design_handles
from elkhound.experiments.plots.style import BLACK, house_style, mark_of, new_figure
from elkhound.experiments.plots.time_split import (
    PARTS,
    draw_time_split,
    split_handles,
)

Line = Mapping[str, Any]

_USES = (
    ("hbm_utilisation", "HBM bandwidth used (%)", 100.0),
    ("link_utilisation", "link bandwidth used (%)", 100.0),
    ("tflops", "TFLOPS", 1.0),
)
_GAP = 1.0


def use_of_chip_figure(by_model: Mapping[Any, Sequence[Line]]) -> Figure:
    """Return the chart.

    Parameters
    ----------
    by_model : mapping
        Key with the model's name first, to lines of its designs with `clock_hz`,
        cycles of the time split, utilisations and `tflops`.
    """
    names = [key[0] if isinstance(key, tuple) else key for key in by_model]
    with house_style():
        figure = new_figure(5.4)
        parts = figure.subfigures(2, 1, squeeze=False, height_ratios=(1.2, 1))
        upper, lower = parts[:, 0]
        axes = upper.subplots()
        _draw_splits(axes, dict(zip(names, by_model.values(), strict=True)))
        axes.set_ylabel("simulated time (ms)")
        upper.legend(
            handles=split_handles(), loc="outside upper center", ncols=len(PARTS)
        )
        panels = lower.subplots(1, len(_USES))
        for panel, (name, label, scale) in zip(panels, _USES, strict=True):
            _draw_use(panel, list(by_model.values()), names, name, scale)
            panel.set_ylabel(label)
        designs = dict.fromkeys(
            str(line["method"]) for lines in by_model.values() for line in lines
        )
        lower.legend(
            handles=design_handles(designs),
            loc="outside lower center",
            ncols=len(designs),
        )
    return figure


def time_splits_figure(groups: Mapping[str, Sequence[Line]], label: str) -> Figure:
    """Return time splits alone, a group of bars each (paper figure 20).

    Parameters
    ----------
    groups : mapping
        Name to lines of its designs, as of `use_of_chip_figure`.
    label : str
        What bars are, with its unit.
    """
    with house_style():
        figure = new_figure(3.2)
        axes = figure.subplots()
        _draw_splits(axes, groups)
        axes.set_ylabel(label)
        figure.legend(
            handles=split_handles(), loc="outside upper center", ncols=len(PARTS)
        )
    return figure


def _draw_splits(axes: Axes, groups: Mapping[str, Sequence[Line]]) -> None:
    bars: list[tuple[float, str, dict[str, float] | None]] = []
    start, centres = 0.0, []
    for name, lines in groups.items():
        plans = [line for line in lines if line["method"] != "ideal"]
        for k, line in enumerate(plans):
            parts = None
            if line["simulated"] is not None:
                per_ms = line["clock_hz"] / 1e3
                parts = {part: line[f"{part}_cycles"] / per_ms for part in PARTS}
            bars.append((start + k, f"{name}|{line['method']}", parts))
        centres.append(start + (len(plans) - 1) / 2)
        start += len(plans) + _GAP
    draw_time_split(axes, bars)
    designs = [name.rpartition("|")[2] for _, name, _ in bars]
    axes.set_xticks([place for place, _, _ in bars], designs, rotation=90, fontsize=6.5)
    for centre, name in zip(centres, groups, strict=True):
        axes.annotate(
            name, (centre, 1), xycoords=("data", "axes fraction"), ha="center",
            va="top", fontsize=7.5,
        )  # fmt: skip
    axes.tick_params(axis="x", length=0)
    axes.margins(x=0.02, y=0.15)


def _draw_use(
    axes: Axes,
    models: Sequence[Sequence[Line]],
    names: list[str],
    column: str,
    scale: float,
) -> None:
    start, centres = 0.0, []
    for name, lines in zip(names, models, strict=True):
        for k, line in enumerate(lines):
            value, look = line.get(column), mark_of(str(line["method"]))
            (drawn,) = axes.bar(
                start + k, 0 if value is None else scale * value, 0.9,
                facecolor=look.color, hatch=look.hatch, edgecolor=BLACK, linewidth=0.4,
            )  # fmt: skip
            drawn.set_gid(f"{name} {line['method']} {column}")
            if value is None:
                axes.annotate(
                    "–", (start + k, 0), xytext=(0, 1), textcoords="offset points",
                    ha="center", fontsize=6,
                )  # fmt: skip
        centres.append(start + (len(lines) - 1) / 2)
        start += len(lines) + _GAP
    axes.set_xticks(
        centres, [name.replace("-", "-\n", 1) for name in names], fontsize=6
    )
    axes.tick_params(axis="x", length=0)
    if scale == 100:
        axes.set_ylim(0, 100)
    axes.grid(axis="y")
