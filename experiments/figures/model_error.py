"""Our study: what planning rules say of plans, and what the simulator says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import mean
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.designs import LLMS, cells
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.instances import lines_of, points_of
from elkhound.experiments.figures.measures import Swept
from elkhound.experiments.plots.distributions import distributions_figure
from elkhound.model.instances.schedule import FAMILIES
from elkhound.model.schedule import Contention

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

METHODS = ("basic", "static", "elk-dyn", "elk-full", "dp")
RULES = tuple(str(rule) for rule in Contention)


def configure(quick: bool) -> dict[str, Any]:
    """Return what is planned; quick: fewer random problems, two models."""
    seeds, models = (3, LLMS[:2]) if quick else (40, LLMS)
    bind = {"batch": 32, "seq": 2048, "layers": 1}
    return {
        "problems": [
            {"family": family, "size": 6, "seed": seed, "contention": rule}
            for family in FAMILIES
            for seed in range(seeds)
            for rule in RULES
        ],
        "methods": [*METHODS, "cp-sat"],
        "seconds": 10 if quick else 60,
        "grids": [
            {
                "model": list(models),
                "bind": bind,
                "contention": list(RULES),
                "methods": list(METHODS),
            }
        ],
    }


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw the errors of the plans that were made under each rule."""
    panels = {}
    for title, chosen in _sets(lines).items():
        panels[title] = {
            rule: {
                method: _errors([x for x in chosen if x["method"] == method], rule)
                for method in (*METHODS, "cp-sat")
            }
            for rule in RULES
        }
    return distributions_figure(panels, label="simulated / planned − 1 (%)")


def _sets(lines: Sequence[Line]) -> dict[str, list[Line]]:
    return {
        "random problems": [line for line in lines if line.get("family")],
        "decode layers": [line for line in lines if not line.get("family")],
    }


def _errors(lines: Sequence[Line], rule: str) -> list[float]:
    return [
        100 * line["model_error"]
        for line in lines
        if line["contention"] == rule and line["model_error"] is not None
    ]


def found(lines: Sequence[Line]) -> str:
    """Return mean errors and how often the simulator reverses two methods."""
    parts = []
    for title, chosen in _sets(lines).items():
        for rule in RULES:
            errors = _errors(chosen, rule)
            if not errors:
                continue
            apart, turned = _reversed(chosen, rule)
            parts.append(
                f"{title}, {rule}: mean {mean(errors):+.1f} %, size "
                f"{mean(map(abs, errors)):.1f} %, {turned} of {apart} pairs of methods "
                "reversed"
            )
    return "; ".join(parts) + "."


def _reversed(lines: Sequence[Line], rule: str) -> tuple[int, int]:
    """Return pairs of methods planned apart on a problem, and those reversed."""
    apart = turned = 0
    mine = [line for line in lines if line["contention"] == rule]
    for group in cells(mine, "family", "seed", "model").values():
        known = [line for line in group if line["simulated"] is not None]
        for a, b in combinations(known, 2):
            planned = a["objective"] - b["objective"]
            if planned:
                apart += 1
                turned += planned * (a["simulated"] - b["simulated"]) < 0
    return apart, turned


FIGURE = Figure(
    name="model-error",
    title="Model error: planned time under each contention rule, and simulated time",
    said=(
        "asks how far the rules none, stretch and charge are from the simulated chip, "
        "and how often the better of two plans is the worse one when it runs."
    ),
    measure=Swept(configure, lines_of, points_of),
    draw=draw,
    found=found,
    why=(
        "A rule sees operators, not bytes on links: it counts what is outstanding, "
        "delivered or not, and lets preloads take their cycles whatever they share "
        "ports with. docs/model-error.md says where each rule misjudges, on more real "
        "problems, and derives a closer one."
    ),
    quick_cpu_seconds=28,
)
