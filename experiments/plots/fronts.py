"""An operator's two fronts: space against time to execute, and to preload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from elkhound.experiments.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILION,
    Mark,
    house_style,
    new_figure,
    save,
)
from elkhound.experiments.plots.time_axis import TimeAxis, time_axis

Plan = Mapping[str, Any]

KIB = 1024
WIDE = 20  # a longer range is drawn on a logarithmic scale
CHOSEN = (
    Mark(GREEN, "^"),
    Mark(ORANGE, "s"),
    Mark(PURPLE, "D"),
    Mark(VERMILION, "v"),
)


def plot_fronts(
    path_stem: Path, document: Mapping[str, Any], chosen: Sequence[int] = ()
) -> tuple[Path, Path]:
    """Write the chart as SVG and PNG; return the two paths.

    Left, the execute front (paper figure 5): the plans that are also on the front of
    space and time alone are joined, the others are kept for a shorter exchange. Right,
    the fronts of preload states, one line a plan; nothing where no plan distributes.

    Parameters
    ----------
    path_stem : Path
        Where to write, without the suffix.
    document : mapping
        What `options --op --json` prints.
    chosen : sequence of int
        Execute plans to mark in both panels, at most four; empty for `usual_plans`.
    """
    return save(fronts_figure(document, chosen), path_stem)


def fronts_figure(document: Mapping[str, Any], chosen: Sequence[int] = ()) -> Figure:
    """Return the chart; the parameters are those of `plot_fronts`."""
    plans: Sequence[Plan] = document["execute_front"]
    named = dict.fromkeys(chosen, "") or usual_plans(document)
    marked = dict(zip(named, CHOSEN, strict=False))
    clock_hz = document["clock_hz"]
    longest = max(s["distribute_cycles"] for p in plans for s in p["preload_states"])
    with house_style():
        figure = new_figure(3.4)
        left, *right = figure.subplots(1, 2 if longest else 1, squeeze=False)[0]
        time = _unit([y for _, y in map(_point, plans)], clock_hz)
        _draw_execute(left, document, time)
        for number, mark in marked.items():
            _mark_plan(left, plans[number], mark, time, named[number])
        for axes in right:
            _draw_preload(axes, plans, marked, time_axis(longest, clock_hz))
        figure.suptitle(_title(document), x=0.01, ha="left", fontsize=8)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=min(4, len(handles))
        )
    return figure


def usual_plans(document: Mapping[str, Any]) -> dict[int, str]:
    """Return plans worth a look, and why: by space, by time, by preload space.

    The last is the plan that fits and whose preload space has the widest range.
    """
    plans: Sequence[Plan] = document["execute_front"]
    room = document["usable_bytes"] - document["resident_bytes"]
    joined = staircase(plans)
    fitting = [plan for plan in plans if plan["execute_bytes"] <= room] or plans
    widest = max(fitting, key=_preload_range)
    found = {joined[0]["execute_plan"]: "smallest"}
    found.setdefault(joined[len(joined) // 2]["execute_plan"], "between")
    found.setdefault(joined[-1]["execute_plan"], "fastest")
    if _preload_range(widest):
        found.setdefault(widest["execute_plan"], "widest preload range")
    return found


def _preload_range(plan: Plan) -> int:
    sizes: list[int] = [state["preload_bytes"] for state in plan["preload_states"]]
    return max(sizes) - min(sizes)


def staircase(plans: Sequence[Plan]) -> list[Plan]:
    """Return the plans that no other beats in space and time, by rising space."""
    found: list[Plan] = []
    for plan in sorted(plans, key=_point):
        if not found or _point(plan)[1] < _point(found[-1])[1]:
            found.append(plan)
    return found


def _point(plan: Plan) -> tuple[int, int]:
    return plan["execute_bytes"], plan["cycles_after_distribute"]


def _draw_execute(axes: Axes, document: Mapping[str, Any], time: TimeAxis) -> None:
    plans = document["execute_front"]
    joined = staircase(plans)
    outside = [plan for plan in plans if plan not in joined]
    if outside:
        axes.plot(
            *_xy(outside, time), linestyle="none", marker="o", markersize=2.5,
            markerfacecolor="white", markeredgecolor=GREY, markeredgewidth=0.5,
            label="kept for less exchange", gid="less exchange",
        )  # fmt: skip
    axes.plot(
        *_xy(joined, time), drawstyle="steps-post", linewidth=0.8, marker="o",
        markersize=3, color=BLUE, label="fastest in its space", gid="fastest",
    )  # fmt: skip
    _draw_kept(axes, document, time)
    usable = document["usable_bytes"] / KIB
    largest = max(plan["execute_bytes"] for plan in plans) / KIB
    if largest > usable / 2:
        axes.axvline(
            usable, color=BLACK, linestyle="--", linewidth=1, label="usable SRAM",
            gid="usable SRAM",
        )  # fmt: skip
    _scale(axes, [x / KIB for x, _ in map(_point, plans)], "x")
    _scale(axes, [time(y) for _, y in map(_point, plans)], "y")
    axes.set_xlabel("execution space per core (KiB)")
    axes.set_ylabel(f"execution time without distribution ({time.unit})")
    axes.grid()
    axes.set_title(f"execute front: {len(plans)} plans")


def _draw_kept(axes: Axes, document: Mapping[str, Any], time: TimeAxis) -> None:
    """Cross the plans of which thinning keeps an option."""
    if document["thinned"] is None:
        return
    kept = set(document["thinned"])
    plans = [
        plan
        for plan in document["execute_front"]
        if any(state["option"] in kept for state in plan["preload_states"])
    ]
    axes.plot(
        *_xy(plans, time), linestyle="none", marker="x", markersize=4, color=BLACK,
        markeredgewidth=0.7, zorder=2.5, gid="kept",
        label=f"kept at ε = {100 * document['epsilon']:g} %",
    )  # fmt: skip


def _mark_plan(axes: Axes, plan: Plan, mark: Mark, time: TimeAxis, why: str) -> None:
    name = f"plan {plan['execute_plan']}"
    axes.plot(
        *_xy([plan], time), linestyle="none", marker=mark.marker, markersize=7,
        color=mark.color, markeredgecolor=BLACK, markeredgewidth=0.6, zorder=3,
        clip_on=False, label=f"{name}: {why}" if why else name, gid=name,
    )  # fmt: skip


def _draw_preload(
    axes: Axes,
    plans: Sequence[Plan],
    marked: Mapping[int, Mark],
    time: TimeAxis,
) -> None:
    for plan in plans:
        if plan["execute_plan"] not in marked:
            axes.plot(
                *_states(plan, time), color=GREY, linewidth=0.3, marker=".",
                markersize=1.5, alpha=0.5,
            )  # fmt: skip
    for number, mark in marked.items():
        axes.plot(
            *_states(plans[number], time), color=mark.color, linewidth=1,
            marker=mark.marker, markersize=5, markeredgecolor=BLACK,
            markeredgewidth=0.6, zorder=3, clip_on=False, gid=f"states {number}",
        )  # fmt: skip
    sizes = [s["preload_bytes"] / KIB for p in plans for s in p["preload_states"]]
    _scale(axes, sizes, "x")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("preload space per core (KiB)")
    axes.set_ylabel(f"distribution time ({time.unit})")
    axes.grid()
    axes.set_title(f"{len(sizes)} preload states of {len(plans)} plans")


def _is_long(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) > WIDE * min(values)


def _unit(cycles: Sequence[int], clock_hz: int) -> TimeAxis:
    """Return the unit of the smallest value of a long range, else of the largest."""
    return time_axis(min(cycles) if _is_long(cycles) else max(cycles), clock_hz)


def _scale(axes: Axes, values: Sequence[float], which: Literal["x", "y"]) -> None:
    """Draw a long range on a logarithmic scale; a short one from 0."""
    if not _is_long(values):
        axes.set(**{f"{which}lim": (0, 1.08 * max(values))})
        return
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def _xy(plans: Sequence[Plan], time: TimeAxis) -> tuple[list[float], list[float]]:
    points = [_point(plan) for plan in plans]
    return [x / KIB for x, _ in points], [time(y) for _, y in points]


def _states(plan: Plan, time: TimeAxis) -> tuple[list[float], list[float]]:
    states = plan["preload_states"]
    return (
        [state["preload_bytes"] / KIB for state in states],
        [time(state["distribute_cycles"]) for state in states],
    )


def _title(document: Mapping[str, Any]) -> str:
    operator = document["operator"]
    return f"{operator['name']} of {document['model']} on {document['chip']}"
