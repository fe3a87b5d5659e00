"""Energy, latency and occupancy of a given mapping, by the reference rules or physics.

Latency of a component is its actions over the rate of one unit, of an einsum that of
its slowest component, of the workload the sum over einsums, fused or not. Energy is
Σ actions · energy + leak · latency. The switches of `Physics` change counts (in
`actions`), tiles held (in `occupancy`) and which latencies add up (here).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.actions import Action, actions_of
from elkhound.model.fusion.legality import require_legal
from elkhound.model.fusion.mapping import LoopTree
from elkhound.model.fusion.nest import nests, without_null_loops
from elkhound.model.fusion.occupancy import (
    Reservation,
    occupancy_bits,
    parts_of,
    reservations,
)
from elkhound.model.fusion.physics import REFERENCE, Physics
from elkhound.model.fusion.workload import FusionWorkload

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class FusionCost:
    """What a mapping costs; energy and latency in the accelerator's units.

    Parameters
    ----------
    energy, latency : float
        Of the whole workload.
    actions : tuple of Action
        Reads, writes and operations.
    energy_by_einsum, latency_by_einsum : dict of str to float
        They add up to the totals.
    energy_by_action : dict of (str, str) to float
        By component and kind: read, write, compute, leak.
    energy_by_tensor : dict of (str, str or None) to float
        By component and tensor; None for compute and leak.
    latency_by_component : dict of (str, str) to float
        By einsum and component.
    reservations : tuple of Reservation
        What is held where, during which einsums.
    occupancy_bits : dict of str to int
        Most bits at once in one unit of every memory that is used.
    overflows : tuple of str
        One line per memory whose capacity is exceeded; filling it exactly is legal.
    """

    energy: float
    latency: float
    actions: tuple[Action, ...]
    energy_by_einsum: dict[str, float]
    latency_by_einsum: dict[str, float]
    energy_by_action: dict[tuple[str, str], float]
    energy_by_tensor: dict[tuple[str, str | None], float]
    latency_by_component: dict[tuple[str, str], float]
    reservations: tuple[Reservation, ...]
    occupancy_bits: dict[str, int]
    overflows: tuple[str, ...]

    @property
    def edp(self) -> float:
        """Energy–delay product."""
        return self.energy * self.latency


def cost_of(
    accelerator: Accelerator,
    workload: FusionWorkload,
    tree: LoopTree,
    physics: Physics = REFERENCE,
) -> FusionCost:
    """Return what a mapping costs; by the reference rules alone, unless told otherwise.

    Raises
    ------
    BadInputError
        The mapping is none of this workload on this accelerator; says where and why.
    """
    require_legal(accelerator, workload, tree)
    actions = tuple(
        action
        for nest in nests(workload, tree)
        for action in actions_of(accelerator, workload, nest, physics)
    )
    latency_by_component = _latencies(accelerator, actions)
    latency_by_einsum = {e.name: 0.0 for e in workload.einsums}
    for (einsum, _), latency in latency_by_component.items():
        latency_by_einsum[einsum] = max(latency_by_einsum[einsum], latency)
    if physics.overlap:
        _overlap(
            parts_of(without_null_loops(workload, tree).nodes),
            latency_by_einsum,
            latency_by_component,
        )
    by_einsum = dict.fromkeys(latency_by_einsum, 0.0)
    by_action: dict[tuple[str, str], float] = {}
    by_tensor: dict[tuple[str, str | None], float] = {}
    for action in actions:
        energy = _energy(accelerator, action)
        by_einsum[action.einsum] += energy
        _add(by_action, (action.component, action.kind), energy)
        _add(by_tensor, (action.component, action.tensor), energy)
    for part in accelerator.parts:
        leak = part.leak * accelerator.energy_scale / accelerator.cycle_time
        for einsum, latency in latency_by_einsum.items():
            by_einsum[einsum] += leak * latency
            _add(by_action, (part.name, "leak"), leak * latency)
            _add(by_tensor, (part.name, None), leak * latency)
    reserved = reservations(workload, tree, physics)
    occupied = occupancy_bits(reserved)
    return FusionCost(
        energy=sum(by_einsum.values()),
        latency=sum(latency_by_einsum.values()),
        actions=actions,
        energy_by_einsum=by_einsum,
        latency_by_einsum=latency_by_einsum,
        energy_by_action=by_action,
        energy_by_tensor=by_tensor,
        latency_by_component=latency_by_component,
        reservations=reserved,
        occupancy_bits=occupied,
        overflows=_overflows(accelerator, occupied),
    )


def _latencies(
    accelerator: Accelerator, actions: tuple[Action, ...]
) -> dict[tuple[str, str], float]:
    """Return the latency of every component that an einsum uses."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for action in actions:
        kinds = counts.setdefault((action.einsum, action.component), {})
        kinds[action.kind] = kinds.get(action.kind, 0) + action.per_unit
    latencies = {}
    for (einsum, component), kinds in counts.items():
        if "compute" in kinds:
            cycles = accelerator.unit(component).cycles(kinds["compute"])
        else:
            memory = accelerator.memory(component)
            cycles = memory.cycles(kinds.get("read", 0), kinds.get("write", 0))
        latencies[einsum, component] = cycles * accelerator.cycle_time
    return latencies


def _overlap(
    groups: list[tuple[str, ...]],
    by_einsum: dict[str, float],
    by_component: dict[tuple[str, str], float],
) -> None:
    """Let einsums of a group take what its busiest component does with all of them.

    Each einsum's latency becomes its share of that, so that they still add up.
    """
    for group in groups:
        busy: dict[str, float] = {}
        for (einsum, component), latency in by_component.items():
            if einsum in group:
                _add(busy, component, latency)
        alone = sum(by_einsum[einsum] for einsum in group)
        together = max(busy.values(), default=0.0)
        for einsum in group if alone else ():
            by_einsum[einsum] *= together / alone


def _energy(accelerator: Accelerator, action: Action) -> float:
    if action.kind == "compute":
        each = accelerator.unit(action.component).energy
    else:
        memory = accelerator.memory(action.component)
        each = memory.read_energy if action.kind == "read" else memory.write_energy
    return action.count * each * accelerator.energy_scale


def _add(sums: dict[Key, float], key: Key, value: float) -> None:
    sums[key] = sums.get(key, 0.0) + value


def _overflows(accelerator: Accelerator, occupied: dict[str, int]) -> tuple[str, ...]:
    return tuple(
        f"memory {memory.name}: needs {occupied[memory.name]} bits, has "
        f"{memory.size_bits}: {occupied[memory.name] - memory.size_bits} bits over"
        for memory in accelerator.memories
        if memory.size_bits is not None
        and occupied.get(memory.name, 0) > memory.size_bits
    )
