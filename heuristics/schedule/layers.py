"""The repeated layers of a problem, inside which preloads may be reordered (§4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from elkhound.heuristics.schedule.shapes import shape_numbers
from elkhound.model.schedule import ScheduleProblem

Layers = tuple[range, ...]
"""Equal layers, each the operators it is made of."""

LONGEST_PERIOD = 256
"""The longest layer that is looked for where layers are not numbered."""


def layer_kinds(problem: ScheduleProblem) -> list[Layers]:
    """Return the layers, equal ones together, in the order they first appear.

    Equal layers have equal operators, in options and resident bytes. Layers are runs of
    operators with one `layer` number. If none is numbered, they are the consecutive
    equal blocks that cover most operators; without such blocks the problem is one
    layer.
    """
    shapes = shape_numbers(problem)
    signs = [
        (shape, operator.resident_bytes)
        for shape, operator in zip(shapes, problem.operators, strict=True)
    ]
    kinds: dict[tuple[tuple[int, int], ...], list[range]] = {}
    for layer in _numbered(problem) or _repeated(signs):
        key = tuple(signs[layer.start : layer.stop])
        kinds.setdefault(key, []).append(layer)
    return [tuple(layers) for layers in kinds.values()]


def excerpt(
    problem: ScheduleProblem, kinds: Sequence[Layers], most_layers: int
) -> tuple[ScheduleProblem, list[Layers]]:
    """Return the problem with the last few layers of each kind, and where they lie.

    Operators outside the layers stay.
    """
    dropped = {i for layers in kinds for r in layers[:-most_layers] for i in r}
    kept = [i for i in range(len(problem.operators)) if i not in dropped]
    place = {i: number for number, i in enumerate(kept)}
    operators = tuple(problem.operators[i] for i in kept)
    moved = [
        tuple(
            range(place[r.start], place[r.stop - 1] + 1) for r in layers[-most_layers:]
        )
        for layers in kinds
    ]
    return replace(problem, operators=operators), moved


def _numbered(problem: ScheduleProblem) -> list[range]:
    layers = []
    places = range(len(problem.operators))
    for number, run in groupby(places, lambda i: problem.operators[i].layer):
        members = list(run)
        if number is not None:
            layers.append(range(members[0], members[-1] + 1))
    return layers


def _repeated(signs: Sequence[tuple[int, int]]) -> list[range]:
    """Return the equal blocks that cover most operators: the earliest, the shortest."""
    count = len(signs)
    best, best_period, best_start = 0, count, 0
    for period in range(1, min(count // 2, LONGEST_PERIOD) + 1):
        equal = 0  # how many in a row equal the one a period later
        for i in reversed(range(count - period)):
            equal = equal + 1 if signs[i] == signs[i + period] else 0
            covered = (equal // period + 1) * period if equal >= period else 0
            if covered > best or (covered == best > 0 and period == best_period):
                best, best_period, best_start = covered, period, i
    if not best:
        return [range(count)]
    stop = best_start + best
    return [range(i, i + best_period) for i in range(best_start, stop, best_period)]
