"""Fronts of space against time of several operators (paper figure 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from elkhound.experiments.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    house_style,
    new_figure,
)

_LOOKS = ((BLUE, "o", "-"), (ORANGE, "s", "--"), (GREEN, "^", "-."), (PURPLE, "D", ":"))
Points = Sequence[tuple[float, float]]


def space_time_figure(
    panels: Mapping[str, Mapping[str, Points]], *, x_label: str, y_label: str
) -> Figure:
    """Return the chart: a panel each, time on a logarithmic axis.

    A stair says what is the least time within a space: it falls where a plan fits.
    """
    with house_style():
        figure = new_figure(2.9)
        every = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)
        for axes, (title, courses) in zip(every[0], panels.items(), strict=True):
            for (name, points), look in zip(courses.items(), _LOOKS, strict=False):
                color, marker, style = look
                (line,) = axes.plot(
                    [x for x, _ in points], [y for _, y in points],
                    drawstyle="steps-post", color=color, marker=marker, markersize=3,
                    linestyle=style, linewidth=1, label=name,
                    markeredgecolor=BLACK, markeredgewidth=0.3,
                )  # fmt: skip
                line.set_gid(f"{title} {name}")
            axes.set_title(title)
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
            axes.grid()
        every[0, 0].set_xlim(left=0)
        figure.supxlabel(x_label, fontsize=8)
        every[0, 0].set_ylabel(y_label)
        handles, labels = every[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(handles))
    return figure
