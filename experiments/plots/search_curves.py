"""Searches: how near they come to the optimum, and what it takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from elkhound.experiments.plots.style import (
    BLACK,
    LIGHT_GREY,
    Mark,
    house_style,
    mark_of,
    new_figure,
)
from elkhound.experiments.plots.values import Row

_FLOOR_PERCENT = 0.01  # what is nearer is drawn here


def search_curves_figure(
    runs: Mapping[str, Sequence[Sequence[Row]]], join_seconds: float
) -> Figure:
    """Return the gaps of all runs against effort, one line per run.

    Parameters
    ----------
    runs : mapping of str to sequence of run
        By method; a run's rows have ``evaluations, cpu_seconds, gap``, gaps falling.
    join_seconds : float
        When the join is optimal.
    """
    with house_style():
        figure = new_figure(2.9)
        left, right = figure.subplots(1, 2, sharey=True)
        for method, own in runs.items():
            mark = mark_of(method)
            for number, run in enumerate(own):
                label = method if number == 0 else None
                _draw_run(left, run, "evaluations", mark, label)
                _draw_run(right, run, "cpu_seconds", mark, None)
        right.axvline(join_seconds, color=BLACK, linewidth=0.8, linestyle="--")
        right.annotate(
            "join optimal",
            (join_seconds, 1),
            xycoords=("data", "axes fraction"),
            xytext=(2, -8),
            textcoords="offset points",
        )
        for axes, label in (
            (left, "partial mappings priced"),
            (right, "CPU seconds, partial mappings included"),
        ):
            axes.set(yscale="log", xlabel=label)
            axes.grid(axis="y")
        left.set_xscale("log")
        right.set_xlim(left=0)
        left.set_ylabel(f"above the optimum (%), {_FLOOR_PERCENT:g} or less")
        figure.legend(loc="outside upper center", ncols=4)
    return figure


def _draw_run(
    axes: Axes, run: Sequence[Row], column: str, mark: Mark, label: str | None
) -> None:
    axes.step(
        [row[column] for row in run],
        [max(_FLOOR_PERCENT, 100 * row["gap"]) for row in run],
        where="post",
        color=mark.color,
        marker=mark.marker,
        markersize=3,
        linewidth=0.9,
        label=label,
    )


def search_scaling_figure(
    evaluations: Mapping[str, Mapping[int, float | None]],
    seconds: Mapping[str, Mapping[int, float | None]],
    near: float,
) -> Figure:
    """Return effort until near the optimum against the number of einsums.

    Parameters
    ----------
    evaluations, seconds : mapping of method to mapping of einsums to number
        None: not within the limit; named above the axis.
    near : float
        The gap that counts as near.
    """
    with house_style():
        figure = new_figure(2.9)
        for axes, values, label in zip(
            figure.subplots(1, 2),
            (evaluations, seconds),
            (f"partial mappings priced until within {100 * near:g} %", "CPU seconds"),
            strict=True,
        ):
            _draw_scaling(axes, values, label)
        figure.axes[0].set_yscale("log")
        figure.axes[1].set_ylim(bottom=0)
        figure.legend(
            *figure.axes[1].get_legend_handles_labels(),
            loc="outside upper center",
            ncols=4,
        )
    return figure


def _draw_scaling(
    axes: Axes, values: Mapping[str, Mapping[int, float | None]], label: str
) -> None:
    lengths = sorted({length for own in values.values() for length in own})
    known = [v for own in values.values() for v in own.values() if v is not None]
    beyond = 1.3 * max(known, default=1.0)
    for method, own in values.items():
        mark = mark_of(method)
        reached = {n: v for n, v in own.items() if v is not None}
        axes.plot(
            list(reached),
            list(reached.values()),
            color=mark.color,
            marker=mark.marker,
            markersize=4,
            linewidth=0.9,
            label=method,
        )
        missed = [n for n in own if n not in reached]
        axes.plot(
            missed,
            [beyond] * len(missed),
            color=mark.color,
            marker=mark.marker,
            markerfacecolor="none",
            linestyle="none",
        )
    if any(None in own.values() for own in values.values()):
        axes.axhline(beyond, color=LIGHT_GREY, linewidth=0.8, zorder=0)
        axes.annotate(
            "not within the limit",
            (lengths[0], beyond),
            xytext=(0, 5),
            textcoords="offset points",
        )
    axes.set(xscale="log", xlabel="einsums", ylabel=label)
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.minorticks_off()
    axes.margins(y=0.12)
