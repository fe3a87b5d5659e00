"""Points on random schedule problems, and what tells the problems apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from elkhound.experiments.figures.designs import design_line
from elkhound.experiments.figures.figure import Line
from elkhound.experiments.figures.measures import Finished, points_of_grids
from elkhound.experiments.points import Point, point, subject
from elkhound.experiments.rows import gap
from elkhound.model.instances.schedule import least_sram_bytes, random_schedule
from elkhound.model.limits import Limits
from elkhound.model.result import Bound, OrderClass
from elkhound.model.schedule import Contention, ScheduleProblem

Draw = Mapping[str, Any]
"""Arguments of `drawn_problem`, as JSON types."""


@cache
def drawn_problem(
    family: str,
    size: int,
    seed: int,
    plans: int = 2,
    states: int = 2,
    contention: str = "stretch",
    max_outstanding: int | None = None,
) -> ScheduleProblem:
    """Return a random problem; `elkhound generate` writes the same with equal flags."""
    return random_schedule(
        seed,
        size,
        family,
        options=(plans, states),
        contention=Contention(contention),
        max_outstanding=max_outstanding,
    )


def points_of(configuration: Mapping[str, Any]) -> tuple[Point, ...]:
    """Return a point per drawn problem and method, and those of the grids, each once.

    Parameters
    ----------
    configuration : mapping
        ``problems``: arguments of `drawn_problem`; ``methods``: names, or pairs of
        name and permille to which options are thinned; ``seconds`` for each;
        ``grids``: as in the files of `elkhound sweep`.
    """
    limits: Limits[Any] = Limits(seconds=configuration["seconds"], workers=1)
    found: list[Point] = []
    for draw in configuration["problems"]:
        about = subject(drawn_problem(**draw))
        for method in configuration["methods"]:
            name, thin = (method, None) if isinstance(method, str) else method
            coordinates = dict(draw) if thin is None else {**draw, "thinned": thin}
            found.append(
                point(
                    about,
                    name,
                    limits=limits,
                    thin_permille=thin,
                    coordinates=coordinates,
                )
            )
    found += points_of_grids(configuration.get("grids", ()))
    return tuple({made.key: made for made in found}.values())


def lines_of(finished: Finished) -> Iterator[Line]:
    """Yield a line per point: what it cost, and what its problem is like.

    ``free_gap`` is the gap to ``free_bound``, the largest bound known over all preload
    orders and all options: one yardstick for every method, where ``gap`` counts what
    is proved of the orders that a method searches.
    """
    bounds = _free_bounds(finished)
    for made, record in finished:
        problem = made.subject.problem
        shape = {} if problem is None else shape_of(problem)
        bound = bounds.get(made.subject.key)
        yield {
            **design_line(made, record),
            **shape,
            "free_bound": None if bound is None else bound.value,
            "free_gap": gap(record.row.objective, bound)
            if record.row.verified
            else None,
        }


def _free_bounds(finished: Finished) -> dict[str, Bound]:
    """Return the largest bound over all orders and options, by subject."""
    found: dict[str, Bound] = {}
    for made, record in finished:
        key = made.subject.key
        for _, bound in record.bounds if made.thin_permille is None else ():
            is_free = bound.order == OrderClass.free()
            if is_free and (key not in found or bound.value > found[key].value):
                found[key] = bound
    return found


def shape_of(problem: ScheduleProblem) -> dict[str, float]:
    """Return what presses on a problem.

    ``room``: SRAM beyond the largest single operator's least need, per byte that all
    operators together could preload. ``hbm_share``: preload cycles of all operators per
    cycle of executing them, each at its least. ``link_share``: link work of executing
    and preloading per cycle of executing, each at its largest.
    """
    operators = problem.operators
    could = sum(max(o.preload_bytes for o in op.options) for op in operators)
    room = problem.sram_bytes - least_sram_bytes(operators)
    hbm = sum(min(o.preload_cycles for o in op.options) for op in operators)
    executing = sum(min(o.execute_cycles for o in op.options) for op in operators)
    links = sum(
        max(o.execute_link_cycles + o.preload_link_cycles for o in op.options)
        for op in operators
    )
    return {
        "room": room / max(1, could),
        "hbm_share": hbm / max(1, executing),
        "link_share": links / max(1, executing),
    }


def thirds(lines: Sequence[Line], column: str) -> dict[str, list[Line]]:
    """Return lines by the third of the problems that they lie in, lowest first.

    Examples
    --------
    >>> lines = [{"room": v} for v in (1.0, 5.0, 2.0, 2.0, 9.0, 7.0)]
    >>> {name: len(group) for name, group in thirds(lines, "room").items()}
    {'≤ 2.00': 3, '≤ 7.00': 2, '≤ 9.00': 1}
    """
    values = sorted({line[column] for line in lines})
    ends = [values[-(-len(values) * third // 3) - 1] for third in (1, 2, 3)]
    groups: dict[str, list[Line]] = {f"≤ {end:.2f}": [] for end in ends}
    for line in lines:
        end = next(end for end in ends if line[column] <= end)
        groups[f"≤ {end:.2f}"].append(line)
    return groups
