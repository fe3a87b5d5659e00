"""Elk figure 5: more space per core makes an operator's execute faster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.designs import cells
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.measures import Computed
from elkhound.experiments.plots.space_time import space_time_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MODELS = ("llama-2-13b", "gemma-2-27b", "opt-30b")
OPERATORS = ("layer0.q", "layer0.scores", "layer0.up", "layer0.down")
KIB = 1024


def pieces(quick: bool) -> Sequence[Mapping[str, Any]]:
    """Return an operator each; the same quick and full."""
    return [
        {"model": model, "operator": operator, "batch": 32, "seq": 2048}
        for model in MODELS
        for operator in OPERATORS
    ]


def plans_of(model: str, operator: str, batch: int, seq: int) -> Iterator[Line]:
    """Yield the execute plans that no other beats in both space and time."""
    from elkhound.experiments.fronts import Thresholds, fronts_of
    from elkhound.experiments.source import DEFAULT_CHIP, ModelFlags, read_graph
    from elkhound.model.io import load_chip

    chip = load_chip(DEFAULT_CHIP)
    bind = {"batch": batch, "seq": seq, "layers": 1}
    graph = read_graph(model, ModelFlags(bind=bind)).graph
    options = fronts_of(graph, operator, chip, Thresholds()).options
    points = {
        (o.execute_bytes, o.execute_cycles - (o.distribute_cycles or 0))
        for o in options
    }
    least = float("inf")
    for size, cycles in sorted(points):
        if cycles < least:
            least = cycles
            yield {
                "model": model,
                "operator": operator.removeprefix("layer0."),
                "execute_bytes": size,
                "cycles": cycles,
                "time_us": 1e6 * cycles / chip.clock_hz,
            }


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw a panel per model, a stair per operator."""
    panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for line in lines:
        courses = panels.setdefault(line["model"], {})
        point = (line["execute_bytes"] / KIB, line["time_us"])
        courses.setdefault(line["operator"], []).append(point)
    return space_time_figure(
        panels, x_label="execution space (KiB per core)", y_label="execute time (µs)"
    )


def found(lines: Sequence[Line]) -> str:
    """Return how much faster the largest plan of each operator is than the smallest."""
    parts = []
    for (model, operator), plans in cells(lines, "model", "operator").items():
        first, last = plans[0], plans[-1]
        parts.append(
            f"{model} {operator} {first['cycles'] / last['cycles']:.1f}× for "
            f"{last['execute_bytes'] / first['execute_bytes']:.1f}× the space"
        )
    return f"From the smallest to the fastest plan: {'; '.join(parts)}."


FIGURE = Figure(
    name="elk-5",
    title="Elk figure 5: execution space against execution time",
    said="Plans that execute faster need more space per core.",
    measure=Computed("execute-plans", pieces, plans_of),
    draw=draw,
    found=found,
    why=(
        "They agree. These are exact fronts of all splits and rotations; the paper "
        "draws what a compiler finds under several limits of SRAM. Tile times are "
        "formulas of the core, not measurements."
    ),
    quick_cpu_seconds=5,
)
