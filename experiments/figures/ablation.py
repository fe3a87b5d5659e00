"""Our study: what allocator, order, scheduler and thinning of options are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.instances import lines_of, points_of
from elkhound.experiments.figures.measures import Swept
from elkhound.experiments.plots.distributions import distributions_figure
from elkhound.model.instances.schedule import FAMILIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

HULL, KNAPSACK = "elk-dyn:allocator=delta-hull-fill", "elk-dyn:allocator=knapsack-dp"
PERMUTED = "elk-dyn:order=permuted"
BOTH = "elk-dyn:allocator=knapsack-dp,order=permuted"
WINDOW = "dp:order=window:2"
THINNED = (50, 100, 200)
PARTS: Mapping[str, Mapping[str, tuple[str, int | None]]] = {
    "split of the SRAM": {
        "none": ("basic", None),
        "static": ("static", None),
        "dynamic": ("elk-dyn", None),
    },
    "Elk-Dyn's allocator and order": {
        "Δ": ("elk-dyn", None),
        "Δ-hull-fill": (HULL, None),
        "exact": (KNAPSACK, None),
        "Δ,\npermuted": (PERMUTED, None),
        "exact,\npermuted": (BOTH, None),
    },
    "scheduler": {
        "Elk-Full": ("elk-full", None),
        "exact,\nidentity": ("dp", None),
        "exact,\nwindow 2": (WINDOW, None),
        "exact,\nfree": ("cp-sat", None),
    },
    "exact, free order, options thinned": {
        "none": ("cp-sat", None),
        **{f"ε = {permille / 10:g} %": ("cp-sat", permille) for permille in THINNED},
    },
}
"""Panel to label to method and permille."""


def configure(quick: bool) -> dict[str, Any]:
    """Return what is planned; quick: fewer problems."""
    size, seeds = (6, 4) if quick else (8, 40)
    methods = [pair for part in PARTS.values() for pair in part.values()]
    return {
        "problems": [
            {"family": family, "size": size, "seed": seed, "plans": 6, "states": 4}
            for family in FAMILIES
            for seed in range(seeds)
        ],
        "methods": [
            name if permille is None else [name, permille]
            for name, permille in dict.fromkeys(methods)
        ],
        "seconds": 10 if quick else 60,
    }


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw the gaps of every variant, a panel per question."""
    panels = {
        title: {label: {pair[0]: _gaps(lines, *pair)} for label, pair in part.items()}
        for title, part in PARTS.items()
    }
    return distributions_figure(panels, label="gap to the best bound (%)")


def _gaps(lines: Sequence[Line], method: str, permille: int | None) -> list[float]:
    return [
        100 * line["free_gap"]
        for line in lines
        if line["method"] == method
        and line.get("thinned") == permille
        and line["free_gap"] is not None
    ]


def found(lines: Sequence[Line]) -> str:
    """Return the mean gap of every variant."""
    parts = []
    for title, part in PARTS.items():
        means = []
        for label, pair in part.items():
            gaps = _gaps(lines, *pair)
            if gaps:
                name = label.replace("\n", " ")
                means.append(f"{name} {mean(gaps):.2f} ({len(gaps)})")
        parts.append(f"{title}: {', '.join(means)}")
    return "Mean gap in % (problems with a plan). " + "; ".join(parts) + "."


FIGURE = Figure(
    name="ablation",
    title="Ablations: allocator, preload order, scheduler, thinned options",
    said=(
        "asks what each part of Elk is worth by itself: the dynamic split of the SRAM, "
        "Δ-efficiency against exact allocation, permuted preload orders, inductive "
        "against exact scheduling; and what thinning options costs."
    ),
    measure=Swept(configure, lines_of, points_of),
    draw=draw,
    found=found,
    why=(
        "All variants plan the same random problems of all families, 6 execute plans "
        "with 4 preload states each; gaps are to the optimum over all orders, or the "
        "best bound known. Static has no plan where no one split serves all operators, "
        "and its mean is over the others."
    ),
    quick_cpu_seconds=16,
)
