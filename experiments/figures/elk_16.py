"""Elk figure 16: how long it takes to make a plan for a whole model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.designs import DESIGNS, LLMS, cells
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.measures import Computed
from elkhound.experiments.plots.design_bars import Bar, design_bars_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

PLANNED = DESIGNS[:-1]


def pieces(quick: bool) -> Sequence[Mapping[str, Any]]:
    """Return a whole model each; quick: without DiT-XL, whose plans take longest."""
    decode = {"batch": 32, "seq": 2048}
    llms = [{"model": model, "bind": decode} for model in LLMS]
    if quick:
        return llms
    return [*llms, {"model": "dit-xl-2", "bind": {"batch": 32, "seq": 256}}]


def timed(model: str, bind: Mapping[str, int]) -> list[Line]:
    """Return CPU seconds of options and of every design, in a process of its own.

    Nothing is taken from the cache of options.
    """
    with ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=_without_cache
    ) as own:
        return own.submit(_timed, model, dict(bind)).result()


def _without_cache() -> None:
    os.environ["ELKHOUND_CACHE"] = "off"


def _timed(model: str, bind: dict[str, int]) -> list[Line]:
    return list(_timed_designs(model, bind))


def _timed_designs(model: str, bind: dict[str, int]) -> Iterator[Line]:
    from elkhound.experiments.methods import SCHEDULE, variant
    from elkhound.experiments.source import ModelFlags, read_source
    from elkhound.model.limits import Limits
    from elkhound.model.stopwatch import Stopwatch

    clock = Stopwatch()
    problem = read_source(model, ModelFlags(bind=bind)).problem
    options_seconds = clock.cpu_seconds
    for design in PLANNED:
        clock = Stopwatch()
        result = variant(design, SCHEDULE).build().solve(problem, Limits(workers=1))
        yield {
            "model": model,
            "operators": len(problem.operators),
            "method": design,
            "status": str(result.status),
            "options_cpu_seconds": options_seconds,
            "plan_cpu_seconds": clock.cpu_seconds,
        }


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw options and plan together, a group of bars per model."""
    groups = {
        f"{model}\n{operators} operators": [
            Bar(line["method"], line["options_cpu_seconds"] + line["plan_cpu_seconds"])
            for line in designs
        ]
        for (model, operators), designs in cells(lines, "model", "operators").items()
    }
    return design_bars_figure(
        {"options of all operators, and the plan": groups},
        label="one core's CPU time (s)",
    )


def found(lines: Sequence[Line]) -> str:
    """Return seconds of options and of Elk-Full by model."""
    parts = [
        f"{line['model']} {line['options_cpu_seconds']:.1f} + "
        f"{line['plan_cpu_seconds']:.1f}"
        for line in lines
        if line["method"] == "elk-full"
    ]
    return f"CPU s on one core, options + Elk-Full's plan: {', '.join(parts)}."


FIGURE = Figure(
    name="elk-16",
    title="Elk figure 16: time to make a plan for all layers",
    said="Less than 5 minutes on 32 cores.",
    measure=Computed("plan-generation", pieces, timed),
    draw=draw,
    found=found,
    why=(
        "Options are searched as exact fronts in arrays, once for operators that are "
        "alike, and Elk-Full tries far fewer orders. Graphs here have about 18 "
        "operators a layer where the paper's have about 48."
    ),
    quick_cpu_seconds=60,
)
