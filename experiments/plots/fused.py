"""Which intermediates each method keeps on chip (FFM, figure 13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch

from elkhound.experiments.plots.style import (
    BLACK,
    BLUE,
    GREY,
    WIDTH_INCHES,
    house_style,
    new_figure,
    save,
)

Edge = tuple[str, int, int]


def plot_fused(
    path_stem: Path,
    einsums: Sequence[str],
    exchanges: Sequence[Edge],
    places: Mapping[str, Mapping[str, str]],
    *,
    main: str,
) -> tuple[Path, Path]:
    """Write the picture as SVG and PNG; return the two paths.

    Parameters
    ----------
    einsums : sequence of str
        In order.
    exchanges : sequence of (str, int, int)
        Intermediate, and the positions of its producer and of one consumer.
    places : mapping
        Per method, the backing store of every tensor.
    main : str
        Main memory: what lies there is not fused.
    """
    return save(fused_figure(einsums, exchanges, places, main=main), path_stem)


def fused_figure(
    einsums: Sequence[str],
    exchanges: Sequence[Edge],
    places: Mapping[str, Mapping[str, str]],
    *,
    main: str,
) -> Figure:
    """Return the picture: a row of einsums per method, arrows for intermediates."""
    with house_style():
        figure = new_figure(0.5 + 1.1 * len(places))
        axes = figure.subplots()
        for row, own in enumerate(places.values()):
            for edge in exchanges:
                in_main = own[edge[0]] == main
                _arrow(axes, row, edge, len(einsums), in_main=in_main)
            for place, einsum in enumerate(einsums):
                _einsum(axes, row, place, einsum, len(einsums))
        axes.set_xlim(-0.5, len(einsums) - 0.5)
        axes.set_ylim(len(places) - 0.6, -0.6)
        axes.set_yticks(range(len(places)), list(places))
        axes.set_xticks([])
        axes.tick_params(axis="y", length=0)
        axes.spines[:].set_visible(False)
        kept = Line2D([], [], color=BLUE, linewidth=2.2, label="fused: kept on chip")
        sent = Line2D(
            [], [], color=GREY, linestyle="--", label=f"not fused: through {main}"
        )
        figure.legend(handles=[kept, sent], loc="outside upper center", ncols=2)
    return figure


def _einsum(axes: Axes, row: int, place: int, name: str, einsums: int) -> None:
    crowded = einsums > 8
    axes.text(
        place,
        row,
        name,
        ha="center",
        va="center",
        rotation=90 if crowded else 0,
        fontsize=6.5 if crowded else 8,
        bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": BLACK},
        zorder=3,
    )


def _arrow(axes: Axes, row: int, edge: Edge, einsums: int, *, in_main: bool) -> None:
    """Draw an intermediate: straight to the next einsum, in an arc over others."""
    tensor, first, last = edge
    steps = last - first
    width_inches = steps * WIDTH_INCHES / (einsums + 1)
    bend = 0.0 if steps == 1 else -2 * min(0.16 + 0.05 * steps, 0.5) / width_inches
    arrow = FancyArrowPatch(
        (first, row),
        (last, row),
        connectionstyle=f"arc3,rad={bend}",
        arrowstyle="-|>",
        mutation_scale=7,
        color=GREY if in_main else BLUE,
        linestyle="--" if in_main else "-",
        linewidth=1.0 if in_main else 2.0,
        shrinkA=7,
        shrinkB=9,
        zorder=2,
    )
    arrow.set_gid(f"{tensor} {'main' if in_main else 'chip'}")
    axes.add_patch(arrow)
