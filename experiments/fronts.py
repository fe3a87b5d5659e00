"""The options of a model's operators, as `elkhound options` tells them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError, nearest
from elkhound.model.graph import Graph, Operator
from elkhound.model.options import (
    Searched,
    distinct_operators,
    four_field_front,
    operator_options,
    searched,
)
from elkhound.model.schedule import (
    Contention,
    OptionPayload,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.model.tile_cost import TileCost
from elkhound.solvers.schedule.cover import cover


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What is searched, and how much of it is shown.

    Parameters
    ----------
    use, padding : float
        Of the partition search.
    thin_permille : int or None
        ε; None shows whole fronts.
    tile_cost : TileCost or None
        Cycles of tiles; None for the formulas of the chip's core.
    tile_cost_document : dict or None
        What JSON says of it.
    """

    use: float = 0.9
    padding: float = 1.1
    thin_permille: int | None = None
    tile_cost: TileCost | None = None
    tile_cost_document: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class OperatorFronts:
    """An operator with its options on a chip.

    Parameters
    ----------
    operator : Operator
        The first of its shape, or the one that was asked for.
    names : tuple of str
        All operators of its shape.
    options : tuple of ScheduleOption
        By execute plan, then by preload_bytes.
    union : tuple of int
        Places of the options on the four-field front.
    looked_at : Searched
        Splits and plans of the search.
    kept : tuple of int or None
        Places of the options that thinning keeps; None where nothing is thinned.
    """

    operator: Operator
    names: tuple[str, ...]
    options: tuple[ScheduleOption, ...]
    union: tuple[int, ...]
    looked_at: Searched
    kept: tuple[int, ...] | None

    @property
    def plans(self) -> int:
        """How many plans are on the execute front."""
        return len({option.execute_plan for option in self.options})


def all_fronts(
    graph: Graph, chip: Chip, thresholds: Thresholds
) -> tuple[OperatorFronts, ...]:
    """Return the fronts of every distinct operator, in the graph's order."""
    return tuple(
        _fronts(graph, group[0], group, chip, thresholds)
        for group in distinct_operators(graph)
    )


def fronts_of(
    graph: Graph, name: str, chip: Chip, thresholds: Thresholds
) -> OperatorFronts:
    """Return the fronts of the operator of this name."""
    for group in distinct_operators(graph):
        for operator in group:
            if operator.name == name:
                return _fronts(graph, operator, group, chip, thresholds)
    raise BadInputError(
        f"{graph.name} has no operator {name!r}",
        code="unknown-operator",
        where="--op",
        hint=nearest(name, [operator.name for operator in graph.operators]),
    )


def _fronts(
    graph: Graph,
    operator: Operator,
    group: Sequence[Operator],
    chip: Chip,
    thresholds: Thresholds,
) -> OperatorFronts:
    use, padding, tile_cost = (
        thresholds.use,
        thresholds.padding,
        thresholds.tile_cost,
    )
    options = operator_options(
        graph, operator, chip, use=use, padding=padding, tile_cost=tile_cost
    )
    place = {id(option): k for k, option in enumerate(options)}
    kept = None
    if thresholds.thin_permille is not None:
        left = thinned(options, thresholds.thin_permille)
        kept = tuple(place[id(option)] for option in left)
    return OperatorFronts(
        operator,
        tuple(other.name for other in group),
        options,
        tuple(sorted(place[id(option)] for option in four_field_front(options))),
        searched(graph, operator, chip, use=use, padding=padding, tile_cost=tile_cost),
        kept,
    )


def thinned(
    options: tuple[ScheduleOption, ...], permille: int
) -> tuple[ScheduleOption, ...]:
    """Return options that stand for all, whatever the chip's SRAM and the rule."""
    room = max(1, *(option.own_bytes for option in options))
    operator = ScheduleOperator("operator", options)
    whole = ScheduleProblem(room, (operator,), Contention.CHARGE)
    return cover(whole, permille).up.operators[0].options


def summary_document(
    graph: Graph, chip: Chip, found: Sequence[OperatorFronts], thresholds: Thresholds
) -> dict[str, Any]:
    """Return the object that `options --json` prints without ``--op`` (stable)."""
    return {
        **_heading(graph, chip, thresholds),
        "operators": [_summary(fronts) for fronts in found],
    }


def operator_document(
    graph: Graph, chip: Chip, fronts: OperatorFronts, thresholds: Thresholds
) -> dict[str, Any]:
    """Return the object that `options --op --json` prints (stable).

    An option's number is its place in the order of `execute_front`.
    """
    held = dict(
        zip(
            (operator.name for operator in graph.operators),
            graph.held_bytes(chip.cores),
            strict=True,
        )
    )
    by_plan = groupby(enumerate(fronts.options), key=lambda pair: pair[1].execute_plan)
    return {
        **_heading(graph, chip, thresholds),
        "operator": _summary(fronts),
        "resident_bytes": held[fronts.operator.name],
        "execute_front": [
            _plan(fronts.operator, list(pairs), chip) for _, pairs in by_plan
        ],
        "four_field_front": list(fronts.union),
        "thinned": None if fronts.kept is None else list(fronts.kept),
    }


def _heading(graph: Graph, chip: Chip, thresholds: Thresholds) -> dict[str, Any]:
    permille = thresholds.thin_permille
    return {
        "model": graph.name,
        "chip": chip.name,
        "cores": chip.cores,
        "clock_hz": chip.clock_hz,
        "usable_bytes": chip.core.usable_bytes,
        "least_use": thresholds.use,
        "most_padding": thresholds.padding,
        "tile_cost": thresholds.tile_cost_document,
        "epsilon": None if permille is None else permille / 1000,
    }


def _summary(fronts: OperatorFronts) -> dict[str, Any]:
    options, einsum = fronts.options, fronts.operator.einsum
    payload = _payload(options[0])
    return {
        "name": fronts.operator.name,
        "names": list(fronts.names),
        "kind": str(fronts.operator.kind),
        "dims": einsum.sizes,
        "macs": einsum.macs,
        "hbm_bytes": payload.hbm_bytes,
        "splits": fronts.looked_at.splits,
        "plans": fronts.looked_at.plans,
        "execute_plans": fronts.plans,
        "options": len(options),
        "four_field_options": len(fronts.union),
        "thinned_options": None if fronts.kept is None else len(fronts.kept),
        "least_execute_bytes": min(o.execute_bytes for o in options),
        "least_execute_cycles": min(o.execute_cycles for o in options),
        "least_preload_cycles": min(o.preload_cycles for o in options),
    }


def _plan(
    operator: Operator, pairs: list[tuple[int, ScheduleOption]], chip: Chip
) -> dict[str, Any]:
    _, option = pairs[0]
    payload = _payload(option)
    padding = padding_of(payload)
    return {
        "execute_plan": option.execute_plan,
        "splits": dict(payload.splits),
        "rotations": {
            t.tensor: dict(t.rotation) for t in payload.tensors if t.rotation
        },
        "cores_used": payload.cores_used,
        "use": payload.cores_used / chip.cores,
        "padding": padding,
        "padded_macs": padded_macs(operator, payload),
        "steps": payload.steps,
        "syncs": payload.syncs,
        "execute_bytes": option.execute_bytes,
        "cycles_after_distribute": option.execute_cycles
        - (option.distribute_cycles or 0),
        "compute_cycles": option.compute_cycles,
        "exchange_cycles": option.exchange_cycles,
        "exchange_bytes": payload.exchange_bytes,
        "preload_states": [_state(number, state) for number, state in pairs],
    }


def _state(number: int, option: ScheduleOption) -> dict[str, Any]:
    payload = _payload(option)
    return {
        "option": number,
        "preload_shares": {
            t.tensor: t.preload_share for t in payload.tensors if t.preload_share > 1
        },
        "preload_bytes": option.preload_bytes,
        "distribute_bytes": payload.distribute_bytes,
        "distribute_cycles": option.distribute_cycles,
        "preload_cycles": option.preload_cycles,
        "preload_link_cycles": option.preload_link_cycles,
        "execute_cycles": option.execute_cycles,
        "execute_link_cycles": option.execute_link_cycles,
    }


def padding_of(payload: OptionPayload) -> float:
    """Return Π s·⌈N / s⌉ / Π N over the dimensions: work with padding by true work."""
    return math.prod(_padded(payload)) / math.prod(size for _, size in payload.sizes)


def padded_macs(operator: Operator, payload: OptionPayload) -> int:
    """Return the multiply-accumulates of all tiles as large as the largest."""
    return math.prod(_padded(payload)) if operator.einsum.macs else 0


def _padded(payload: OptionPayload) -> list[int]:
    pairs = zip(payload.splits, payload.sizes, strict=True)
    return [split * -(-size // split) for (_, split), (_, size) in pairs]


def _payload(option: ScheduleOption) -> OptionPayload:
    """Return where an option of an operator comes from; each has it."""
    if option.payload is None:
        raise ValueError("an option of a problem file says nothing about its splits")
    return option.payload
