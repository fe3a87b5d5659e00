"""Our study: CPU time of exact methods against operators, options and outstanding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.designs import cells
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.instances import lines_of, points_of
from elkhound.experiments.figures.measures import Swept
from elkhound.experiments.plots.scaling import Course, scaling_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

METHODS = ("brute-force", "cp-sat", "milp", "dp", "cp-sat:order=identity")
SIZE, PLANS = 8, 2


def configure(quick: bool) -> dict[str, Any]:
    """Return what is planned; quick: up to 12 operators, ten seconds each."""
    sizes = (3, 4, 6, 8, 12) if quick else (3, 4, 6, 8, 12, 16, 24, 32, 64)
    counts = (1, 2, 4) if quick else (1, 2, 4, 8, 16)
    limits: tuple[int | None, ...] = (0, 1, 2, None) if quick else (0, 1, 2, 4, 8, None)
    draws: list[dict[str, Any]] = [
        *({"size": size, "plans": 3} for size in sizes),
        *({"size": SIZE, "plans": count} for count in counts),
        *({"size": SIZE, "plans": PLANS, "max_outstanding": k} for k in limits),
    ]
    common = {"family": "balanced", "seed": 1, "states": 2}
    every = [{**common, **drawn} for drawn in draws]
    return {
        "problems": every,
        "methods": list(METHODS),
        "seconds": 10 if quick else 60,
    }


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw CPU time on logarithmic scales; hollow where nothing is proved."""
    free = [line for line in lines if line.get("max_outstanding") is None]
    by_size = [line for line in free if line["plans"] == 3]
    by_options = [line for line in free if line["size"] == SIZE]
    by_limit = [
        line for line in lines if line["size"] == SIZE and line["plans"] == PLANS
    ]
    return scaling_figure(
        {
            "operators, 3 × 2 options": _courses(by_size, "size"),
            f"execute plans × 2, {SIZE} operators": _courses(by_options, "plans"),
            f"outstanding preloads K, {SIZE} operators": _courses(
                by_limit, "max_outstanding"
            ),
        }
    )


def _courses(lines: Sequence[Line], column: str) -> list[Course]:
    courses = []
    for (method,), mine in cells(lines, "method").items():
        points = {
            SIZE if line.get(column) is None else int(line[column]): (
                line["cpu_seconds"],
                line["status"] == "optimal",
            )
            for line in mine
        }
        courses.append(Course(str(method), tuple(sorted(points.items()))))
    return courses


def found(lines: Sequence[Line]) -> str:
    """Return the largest problem that each method proves."""
    parts = []
    for (method,), mine in cells(lines, "method").items():
        proved = [line for line in mine if line["status"] == "optimal"]
        if not proved:
            parts.append(f"{method} proves none")
            continue
        largest = max(proved, key=lambda line: line["size"])
        parts.append(
            f"{method} proves {len(proved)} of {len(mine)}, the largest with "
            f"{largest['size']} operators in {largest['cpu_seconds']:.2f} CPU s"
        )
    return "; ".join(parts) + "."


FIGURE = Figure(
    name="solver-scaling",
    title="Solver scaling: CPU time to a proof against operators, options and K",
    said="asks up to which size each exact method proves an optimum, and at what cost.",
    measure=Swept(configure, lines_of, points_of),
    draw=draw,
    found=found,
    why=(
        "One problem per place (family balanced, seed 1), one worker, a time limit for "
        "each; hollow markers ended without a proof. dp plans in the order of "
        "execution, as the second CP-SAT does; the others choose the preload order. "
        "docs/exact-methods.md has longer tables."
    ),
    quick_cpu_seconds=35,
)
