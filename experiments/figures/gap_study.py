"""Our study: how far each heuristic is from the optimum, and what decides it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.designs import LLMS, cells
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.instances import lines_of, points_of, thirds
from elkhound.experiments.figures.measures import Swept
from elkhound.experiments.plots.distributions import distributions_figure
from elkhound.model.instances.schedule import FAMILIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

HEURISTICS = ("basic", "static", "elk-dyn", "elk-full")
EXACT = ("cp-sat", "dp")


def configure(quick: bool) -> dict[str, Any]:
    """Return what is planned; quick: fewer problems, one layer of two models."""
    sizes, seeds = ((4, 8), 3) if quick else ((4, 6, 8, 10, 12), 25)
    models = LLMS[:2] if quick else LLMS
    bind = {"batch": 32, "seq": 2048, "layers": 1}
    methods = [*HEURISTICS, "dp"]
    return {
        "problems": [
            {"family": family, "size": size, "seed": seed}
            for family in FAMILIES
            for size in sizes
            for seed in range(seeds)
        ],
        "methods": [*HEURISTICS, "cp-sat"],
        "seconds": 10 if quick else 60,
        "grids": [{"model": list(models), "bind": bind, "methods": methods}],
    }


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw the gaps by what the problems are like, and those of real layers."""
    random = [line for line in lines if line.get("family")]
    real = [line for line in lines if not line.get("family")]
    panels = {
        "by operators": _by(random, "size"),
        "by family": _by(random, "family"),
        "by room in the SRAM": _gaps(thirds(random, "room")),
        "by preload per execute": _gaps(thirds(random, "hbm_share")),
        "by link work per execute": _gaps(thirds(random, "link_share")),
        "decode layers": _by(real, "model", _two_lines),
    }
    return distributions_figure(panels, label="gap to the best bound (%)")


def _two_lines(name: str) -> str:
    return name.replace("-", "\n", 1)


def _by(
    lines: Sequence[Line], column: str, called: Any = str
) -> dict[str, dict[str, list[float]]]:
    return _gaps(
        {called(str(key)): group for (key,), group in cells(lines, column).items()}
    )


def _gaps(groups: Mapping[str, Sequence[Line]]) -> dict[str, dict[str, list[float]]]:
    """Return the gaps in percent of every heuristic, by group."""
    return {
        name: {
            method: [
                100 * line["free_gap"]
                for line in group
                if line["method"] == method and line["free_gap"] is not None
            ]
            for method in HEURISTICS
        }
        for name, group in groups.items()
    }


def found(lines: Sequence[Line]) -> str:
    """Return how often each is optimal, its mean gap, and its worst case."""
    random = [line for line in lines if line.get("family")]
    proved = [line for line in random if line["method"] in EXACT]
    parts = []
    for method in HEURISTICS:
        mine = [
            line
            for line in random
            if line["method"] == method and line["free_gap"] is not None
        ]
        if not mine:
            continue
        worst = max(mine, key=lambda line: line["free_gap"])
        optimal = sum(line["free_gap"] == 0 for line in mine)
        parts.append(
            f"{method} is optimal on {optimal} of {len(mine)}, mean gap "
            f"{100 * mean(line['free_gap'] for line in mine):.2f} %, worst "
            f"{100 * worst['free_gap']:.1f} % (generate --kind schedule --family "
            f"{worst['family']} --size {worst['size']} --seed {worst['seed']})"
        )
    optima = sum(line["status"] == "optimal" for line in proved)
    return f"CP-SAT proves {optima} of {len(proved)} random problems: " + "; ".join(
        parts
    )


FIGURE = Figure(
    name="gap-study",
    title="Gap study: heuristics against proved optima, random problems and layers",
    said=(
        "asks how far Basic, Static, Elk-Dyn and Elk-Full are from the optimum over "
        "all preload orders, and whether operators, SRAM, HBM or links decide it."
    ),
    measure=Swept(configure, lines_of, points_of),
    draw=draw,
    found=found,
    why=(
        "Gaps of random problems are to optima in any preload order that CP-SAT "
        "proves, or to its bound where it runs out of time; those of layers to the "
        "renewal bound, which holds for all orders. The worst cases can be written "
        "again with the command beside them."
    ),
    quick_cpu_seconds=15,
)
