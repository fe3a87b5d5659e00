"""Methods against each other over one axis: their values, and ratios to the first."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from elkhound.experiments.plots.style import BLACK, house_style, mark_of, new_figure
from elkhound.experiments.plots.values import Row


def against_figure(
    rows: Mapping[int, Mapping[str, Row]], quantities: Mapping[str, str], label: str
) -> Figure:
    """Return a column per quantity: values on top, ratios to the first method below.

    Parameters
    ----------
    rows : mapping of int to mapping of str to row
        By place on the axis, then by method; a missing method leaves a gap.
    quantities : mapping of str to str
        Field of a row, and its name with unit.
    label : str
        Of the axis, which is logarithmic.
    """
    methods = list(dict.fromkeys(name for own in rows.values() for name in own))
    with house_style():
        figure = new_figure(4.0)
        panels = figure.subplots(2, len(quantities), sharex=True, squeeze=False)
        for (field, name), top, bottom in zip(
            quantities.items(), panels[0], panels[1], strict=True
        ):
            for method in methods:
                known = {
                    x: own[method][field] for x, own in rows.items() if method in own
                }
                _line(top, known, method)
                if method != methods[0]:
                    ratios = {
                        x: value / rows[x][methods[0]][field]
                        for x, value in known.items()
                        if methods[0] in rows[x]
                    }
                    _line(bottom, ratios, method)
                    _write(bottom, ratios)
            top.set(xscale="log", yscale="log", ylabel=name)
            top.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            top.yaxis.set_major_formatter("{x:g}")
            top.yaxis.set_minor_formatter(NullFormatter())
            bottom.axhline(1, color=BLACK, linewidth=0.8)
            bottom.set(xlabel=label, ylabel=f"ratio to {methods[0]}'s")
            bottom.set_ylim(0, 1.2 * bottom.get_ylim()[1])
            bottom.set_xticks(list(rows), [str(x) for x in rows], rotation=45)
            bottom.minorticks_off()
            bottom.margins(x=0.15)
            for axes in (top, bottom):
                axes.grid(axis="y")
        figure.legend(
            *panels[0][0].get_legend_handles_labels(),
            loc="outside upper center",
            ncols=4,
        )
    return figure


def _line(axes: Axes, values: Mapping[int, float], method: str) -> None:
    mark = mark_of(method)
    axes.plot(
        list(values),
        list(values.values()),
        color=mark.color,
        marker=mark.marker,
        markersize=4,
        linewidth=0.9,
        label=method,
    )


def _write(axes: Axes, values: Mapping[int, float]) -> None:
    for x, value in values.items():
        axes.annotate(
            f"{value:.2f}",
            (x, value),
            xytext=(0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=6,
        )
