"""Where simulated time goes, a stacked bar per plan (paper figures 18a and 20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from elkhound.experiments.plots.style import BLACK, BLUE, ORANGE, SKY, VERMILION

# part of the makespan -> (what the legend says, face, hatch): told apart in grey too
PARTS: Mapping[str, tuple[str, str, str]] = {
    "preload_only": ("preload only", SKY, "..."),
    "execute_only": ("execute only", BLUE, ""),
    "overlapped": ("both", "white", "///"),
    "contention": ("contention", VERMILION, "xxx"),
    "idle": ("neither", ORANGE, ""),
}


def draw_time_split(
    axes: Axes, bars: Sequence[tuple[float, str, Mapping[str, float] | None]]
) -> None:
    """Draw upright stacked bars.

    Parameters
    ----------
    bars : sequence of (float, str, mapping or None)
        Place, label, and time by part; None writes "no plan".
    """
    for place, name, parts in bars:
        if parts is None:
            axes.annotate(
                "no plan", (place, 0), xytext=(0, 3), textcoords="offset points",
                rotation=90, ha="center", va="bottom", fontsize=6,
            )  # fmt: skip
            continue
        below = 0.0
        for part, (_, face, hatch) in PARTS.items():
            (drawn,) = axes.bar(
                place, parts[part], 0.8, bottom=below,
                facecolor=face, hatch=hatch, edgecolor=BLACK, linewidth=0.5,
            )  # fmt: skip
            drawn.set_gid(f"{name} {part}")
            below += parts[part]
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")


def split_handles() -> list[Patch]:
    """Return a legend's patch of every part."""
    return [
        Patch(facecolor=face, hatch=hatch, edgecolor=BLACK, linewidth=0.5, label=label)
        for label, face, hatch in PARTS.values()
    ]
