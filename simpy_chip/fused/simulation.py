"""Simulates a fused mapping: its loop nest as tiles that move through memories."""

from __future__ import annotations

from elkhound.model.errors import BadInputError, InfeasibleError
from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.legality import require_legal
from elkhound.model.fusion.mapping import LoopTree
from elkhound.model.fusion.nest import without_null_loops
from elkhound.model.fusion.occupancy import Reservation, reservations
from elkhound.model.fusion.physics import REFERENCE, Physics
from elkhound.model.fusion.workload import FusionWorkload
from elkhound.simpy_chip.fused.running import Active, Machine
from elkhound.simpy_chip.fused.scopes import scope_of
from elkhound.simpy_chip.fused.score import (
    EinsumScore,
    FusedScore,
    PortScore,
    Transfer,
)
from elkhound.simpy_chip.fused.steady import skip_repeats


def simulate_mapping(
    accelerator: Accelerator,
    workload: FusionWorkload,
    tree: LoopTree,
    physics: Physics = REFERENCE,
    *,
    skip: bool = True,
) -> FusedScore:
    """Run a mapping and return what it costs.

    Parameters
    ----------
    accelerator, workload, tree
        What runs where, and how.
    physics : Physics
        With `double_buffer`, tiles on their way take room; nothing else is known here.
    skip : bool
        Leave out steps that repeat a state. The score is the same without.

    Raises
    ------
    BadInputError
        The mapping is none of this workload, or the physics has no meaning here.
    InfeasibleError
        A memory is too small; says for what.
    """
    for name in physics.names:
        if name != "double-buffer":
            raise BadInputError(
                f"physics {name} has no effect on a simulation, only double-buffer has",
                code="no-effect",
            )
    require_legal(accelerator, workload, tree)
    peak_bits = _held(accelerator, reservations(workload, tree, physics))
    machine = Machine(accelerator, workload)
    scope = scope_of(workload, without_null_loops(workload, tree))
    whole = Active(machine, scope, {}, skip_repeats if skip else None)
    machine.environment.run(machine.environment.process(whole.run()))
    machine.charge()
    for port in machine.ports.values():
        port.settle()

    def cycles(ticks: int) -> float:
        return ticks / machine.ticks_per_cycle

    return FusedScore(
        cycles=cycles(machine.clock),
        latency=cycles(machine.clock) * accelerator.cycle_time,
        einsums=tuple(
            EinsumScore(
                einsum.name,
                *(
                    cycles(machine.ticks[einsum.name, part])
                    for part in ("total", "fill", "drain")
                ),
            )
            for einsum in workload.einsums
        ),
        ports=tuple(PortScore(p.name, cycles(p.busy)) for p in machine.ports.values()),
        transfers=tuple(
            Transfer(*key, value) for key, value in machine.counts.items() if value
        ),
        peak_bits=peak_bits,
        double_buffer=physics.double_buffer,
        steps=machine.steps,
        ticks=machine.clock,
        ticks_per_cycle=machine.ticks_per_cycle,
        served={port.name: tuple(port.served) for port in machine.ports.values()},
    )


def _held(
    accelerator: Accelerator, reserved: tuple[Reservation, ...]
) -> dict[str, int]:
    """Return the most that every memory holds; refuse one that is too small."""
    peaks: dict[str, int] = {}
    for memory in accelerator.memories:
        during: dict[str, list[Reservation]] = {}
        for reservation in reserved:
            if reservation.memory == memory.name:
                for einsum in reservation.einsums:
                    during.setdefault(einsum, []).append(reservation)
        needs = {e: sum(r.size_bits for r in held) for e, held in during.items()}
        if not needs:
            continue
        einsum, needed = max(needs.items(), key=lambda item: item[1])
        if memory.size_bits is not None and needed > memory.size_bits:
            held = ", ".join(f"{r.tensor} {r.size_bits}" for r in during[einsum])
            raise InfeasibleError(
                f"memory {memory.name} holds {held} bits in {einsum}: needs {needed} "
                f"bits, has {memory.size_bits}",
                code="does-not-fit",
            )
        peaks[memory.name] = needed
    return peaks
