"""Energy of fused mappings by part and, in main memory, by tensor (FFM, figure 12)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from pathlib import Path

from matplotlib.figure import Figure, SubFigure

from elkhound.experiments.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    house_style,
    new_figure,
    save,
)
from elkhound.experiments.plots.values import broken

Shares = Mapping[str, Mapping[str, float]]

_COLORS = (BLUE, ORANGE, GREEN, SKY, VERMILION, YELLOW, PURPLE, GREY)
_HATCHES = ("", "//", "..", "\\\\", "xx", "--", "oo", "++")


def plot_fusion_energy(
    path_stem: Path, by_part: Shares, by_tensor: Shares, *, main: str, unit: str
) -> tuple[Path, Path]:
    """Write the bars as SVG and PNG; return the two paths.

    Parameters
    ----------
    by_part : mapping
        Per method, the energy of every memory and compute unit.
    by_tensor : mapping
        Per method, the energy of main memory by tensor or role.
    main : str
        Name of main memory.
    unit : str
        Of energy; may be empty.
    """
    return save(
        fusion_energy_figure(by_part, by_tensor, main=main, unit=unit), path_stem
    )


def fusion_energy_figure(
    by_part: Shares, by_tensor: Shares, *, main: str, unit: str
) -> Figure:
    """Return the figure: two panels of stacked bars, a bar per method."""
    with house_style():
        figure = new_figure(1.5 + 0.3 * len(by_part))
        grid = figure.add_gridspec(1, 2)
        left, right = (figure.add_subfigure(grid[0, place]) for place in range(2))
        _stack(left, by_part, "(a) by component", unit)
        _stack(right, by_tensor, f"(b) of {main} by tensor", unit)
    return figure


def _stack(panel: SubFigure, shares: Shares, title: str, unit: str) -> None:
    axes = panel.subplots()
    names = dict.fromkeys(name for own in shares.values() for name in own)
    starts = [0.0] * len(shares)
    for name, color, hatch in zip(names, cycle(_COLORS), cycle(_HATCHES), strict=False):
        widths = [own.get(name, 0.0) for own in shares.values()]
        axes.barh(
            range(len(shares)),
            widths,
            0.6,
            left=starts,
            color=color,
            hatch=hatch,
            edgecolor=BLACK,
            linewidth=0.5,
            label=name,
        )
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    axes.set_title(title)
    axes.set_yticks(range(len(shares)), [broken(method) for method in shares])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(shares) - 0.5, -0.5)  # the first method on top
    axes.set_xlim(0, 1.05 * max(starts, default=1.0) or 1.0)
    axes.set_xlabel(f"energy ({unit})" if unit else "energy")
    axes.grid(axis="x")
    widest = max((len(name) for name in names), default=0)
    panel.legend(
        loc="outside lower center", ncols=3 if widest < 16 else 2, columnspacing=1.2
    )
