"""Which intermediates each method keeps on chip (FFM, figure 13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path as Curve

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

_ROW = 0.95  # inches between two methods
_LETTER = 0.068  # inches of a name's letter
_DOT = 0.09  # inches across an einsum
_LOWEST, _HIGHEST = 0.22, 0.7  # of arcs, in rows


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
    """Return the picture: a row of einsums per method, arrows for intermediates.

    An einsum is a dot, named below the last row: arcs pass over dots, never under a
    name.
    """
    longest = _LETTER * max(len(name) for name in einsums)
    upright = longest > 0.9 * WIDTH_INCHES / (len(einsums) + 1)
    with house_style():
        figure = new_figure(0.6 + _ROW * len(places) + (longest if upright else 0.2))
        axes = figure.subplots()
        for row, own in enumerate(places.values()):
            for edge in exchanges:
                in_main = own[edge[0]] == main
                _arrow(axes, row, edge, len(einsums), in_main=in_main)
            axes.plot(
                range(len(einsums)), [row] * len(einsums), linestyle="none", marker="o",
                markersize=72 * _DOT, color="white", markeredgecolor=BLACK, zorder=3,
            )  # fmt: skip
        axes.set_xlim(-0.5, len(einsums) - 0.5)
        axes.set_ylim(len(places) - 0.8, -0.8)
        axes.set_yticks(range(len(places)), list(places))
        axes.set_xticks(
            range(len(einsums)), list(einsums), rotation=90 if upright else 0
        )
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        kept = Line2D([], [], color=BLUE, linewidth=2.2, label="fused: kept on chip")
        sent = Line2D(
            [], [], color=GREY, linestyle="--", label=f"not fused: through {main}"
        )
        figure.legend(handles=[kept, sent], loc="outside upper center", ncols=2)
    return figure


def _arrow(axes: Axes, row: int, edge: Edge, einsums: int, *, in_main: bool) -> None:
    """Draw an intermediate: straight to the next einsum, in an arc over others."""
    tensor, first, last = edge
    arrow = FancyArrowPatch(
        path=_curve(row, first, last, einsums),
        arrowstyle="-|>",
        mutation_scale=7,
        color=GREY if in_main else BLUE,
        linestyle="--" if in_main else "-",
        linewidth=1.0 if in_main else 2.0,
        zorder=2,
    )
    arrow.set_gid(f"{tensor} {'main' if in_main else 'chip'}")
    axes.add_patch(arrow)


def _curve(row: int, first: int, last: int, einsums: int) -> Curve:
    """Return the way from an einsum's dot to another's: the longer, the higher."""
    reach = _DOT / 2 * (einsums + 1) / WIDTH_INCHES  # of a dot, in steps
    if last - first == 1:
        return Curve([(first + reach, row), (last - 1.6 * reach, row)])
    span = (last - first - 2) / max(1, einsums - 3)
    top = row - (_LOWEST + (_HIGHEST - _LOWEST) * span) / 0.75  # of control points
    start, end = row - _DOT / 2 / _ROW, row - 0.8 * _DOT / _ROW
    return Curve(
        [(first, start), (first + 0.3, top), (last - 0.3, top), (last, end)],
        [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4],
    )
