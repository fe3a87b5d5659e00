"""Lines of several designs over something that is varied (paper figures 19 to 24)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elkhound.experiments.plots.style import BLACK, house_style, mark_of, new_figure

DASHES: tuple[int, tuple[int, int]] = (0, (3, 2))


@dataclass(frozen=True, slots=True)
class Course:
    """One design over what is varied.

    Parameters
    ----------
    design : str
        Gives colour and marker.
    points : sequence of (float, float or None)
        Where, and the value; None where there is none: the line is broken there.
    dashed : bool
        Whether it is drawn dashed and hollow: simulated beside planned.
    """

    design: str
    points: Sequence[tuple[float, float | None]]
    dashed: bool = False


Panels = Mapping[tuple[str, str], Sequence[Course]]


def design_lines_figure(
    panels: Panels, *, x_label: str, y_label: str, kinds: tuple[str, str] | None
) -> Figure:
    """Return the chart: a grid of panels, rows and columns as the keys name them.

    Parameters
    ----------
    panels : mapping of (row, column) to courses
        In order; a pair may be missing.
    kinds : (str, str) or None
        What solid and dashed lines are; None without dashed ones.
    """
    rows = list(dict.fromkeys(row for row, _ in panels))
    columns = list(dict.fromkeys(column for _, column in panels))
    with house_style():
        figure = new_figure(1.0 + 1.7 * len(rows))
        every = figure.subplots(len(rows), len(columns), squeeze=False, sharex="col")
        for r, row in enumerate(rows):
            for c, column in enumerate(columns):
                axes = every[r, c]
                if (row, column) not in panels:
                    axes.set_axis_off()
                    continue
                for course in panels[row, column]:
                    _draw(axes, course)
                axes.set_title(", ".join(filter(None, (column, row))), fontsize=7.5)
                axes.grid()
        for axes in every.flat:
            highest = axes.dataLim.y1  # minus infinity where nothing is drawn
            axes.set_ylim(0, 1.08 * highest if highest > 0 else None)
        figure.supxlabel(x_label, fontsize=8)
        figure.supylabel(y_label, fontsize=8)
        handles = _handles(panels, kinds)
        figure.legend(
            handles=handles, loc="outside upper center", ncols=min(8, len(handles))
        )
    return figure


def _draw(axes: Axes, course: Course) -> None:
    look = mark_of(course.design)
    missing = float("nan")  # breaks the line
    (line,) = axes.plot(
        [x for x, _ in course.points],
        [missing if y is None else y for _, y in course.points],
        color=look.color,
        marker=look.marker,
        markersize=4,
        markeredgecolor=BLACK if not course.dashed else look.color,
        markeredgewidth=0.4 if not course.dashed else 0.8,
        markerfacecolor="white" if course.dashed else look.color,
        linewidth=1.2,
        linestyle=DASHES if course.dashed else "-",
    )
    line.set_gid(f"{course.design} {'dashed' if course.dashed else 'solid'}")


def _handles(panels: Panels, kinds: tuple[str, str] | None) -> list[Line2D]:
    designs = dict.fromkeys(c.design for courses in panels.values() for c in courses)
    handles = [
        Line2D(
            [], [], color=mark_of(design).color, marker=mark_of(design).marker,
            markersize=4, markeredgecolor=BLACK, markeredgewidth=0.4, linewidth=1.2,
            label=f"{design} (bound)" if design == "ideal" else design,
        )
        for design in designs
    ]  # fmt: skip
    if kinds is not None:
        solid, dashed = kinds
        handles += [
            Line2D([], [], color=BLACK, linewidth=1.2, label=solid),
            Line2D([], [], color=BLACK, linewidth=1.2, linestyle=DASHES, label=dashed),
        ]
    return handles
