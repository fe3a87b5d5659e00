"""CPU time of methods against the size of a problem, on logarithmic scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from elkhound.experiments.plots.style import BLACK, house_style, mark_of, new_figure
from elkhound.experiments.plots.values import broken

LEAST_SECONDS = 1e-3  # clocks of processes tell no less


@dataclass(frozen=True, slots=True)
class Course:
    """One method over sizes.

    Parameters
    ----------
    method : str
        Gives colour and marker.
    points : sequence of (int, (float, bool))
        Size, CPU seconds, and whether the method proved its answer.
    """

    method: str
    points: Sequence[tuple[int, tuple[float, bool]]]


def scaling_figure(panels: Mapping[str, Sequence[Course]]) -> Figure:
    """Return the chart: a panel per thing that grows; hollow: ended without a proof.

    Times below a millisecond stand at a millisecond, as the axis says.
    """
    methods = dict.fromkeys(c.method for courses in panels.values() for c in courses)
    with house_style():
        figure = new_figure(2.9)
        every = figure.subplots(1, len(panels), squeeze=False, sharey=True)
        for axes, (title, courses) in zip(every.flat, panels.items(), strict=True):
            for course in courses:
                _draw(axes, course)
            _scale(axes, courses)
            axes.set_xlabel(title)
        every[0, 0].set_ylabel("CPU time (s), at least 0.001")
        handles = [_handle(method) for method in methods]
        hollow = Line2D([], [], linestyle="none", marker="o", label="hollow: no proof")
        hollow.set(markerfacecolor="white", markeredgecolor=BLACK)
        figure.legend(
            handles=[*handles, hollow],
            loc="outside upper center",
            ncols=len(handles) + 1,
        )
    return figure


def _draw(axes: Axes, course: Course) -> None:
    mark = mark_of(course.method)
    places = [size for size, _ in course.points]
    seconds = [max(LEAST_SECONDS, seconds) for _, (seconds, _) in course.points]
    axes.plot(places, seconds, color=mark.color, linewidth=0.8)
    for place, height, (_, (_, proved)) in zip(
        places, seconds, course.points, strict=True
    ):
        axes.plot(
            [place],
            [height],
            linestyle="none",
            marker=mark.marker,
            markersize=5,
            markerfacecolor=mark.color if proved else "white",
            markeredgecolor=BLACK if proved else mark.color,
            markeredgewidth=0.6 if proved else 1.2,
        )


def _scale(axes: Axes, courses: Sequence[Course]) -> None:
    axes.set_yscale("log")
    places = sorted({size for course in courses for size, _ in course.points})
    if places and places[0] > 0:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(places, [str(place) for place in places])
    axes.grid()


def _handle(method: str) -> Line2D:
    mark = mark_of(method)
    handle = Line2D([], [], marker=mark.marker, color=mark.color, linewidth=0.8)
    handle.set(markeredgecolor=BLACK, markeredgewidth=0.6)
    handle.set_label(broken(method))
    return handle
