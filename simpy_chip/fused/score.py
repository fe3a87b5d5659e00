"""What a simulated mapping costs, and where the time goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PortScore:
    """A port of one unit of a memory, or one compute unit.

    Parameters
    ----------
    name : str
        The memory, with ``read`` or ``write`` if its ports are separate; or the unit.
    busy_cycles : float
        How long it serves.
    """

    name: str
    busy_cycles: float


@dataclass(frozen=True, slots=True)
class EinsumScore:
    """One einsum's part of the time; the parts of all add up.

    Parameters
    ----------
    name : str
        The einsum.
    cycles : float
        From its start until the next one starts, summed over shared steps.
    fill_cycles : float
        Of these, before its first step computes; in every visit.
    drain_cycles : float
        After the last step has computed, until all is written back.
    """

    name: str
    cycles: float
    fill_cycles: float
    drain_cycles: float


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bits, or operations, as they were counted.

    Parameters
    ----------
    einsum, component : str
        Who, where.
    tensor : str or None
        For what; None for compute.
    kind : str
        ``read``, ``write`` or ``compute``.
    count : int
        In all units together.
    """

    einsum: str
    component: str
    tensor: str | None
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class FusedScore:
    """What a fused mapping costs on the simulated accelerator.

    Parameters
    ----------
    cycles : float
        From the first transfer to the last.
    latency : float
        The same in the accelerator's unit: seconds with a clock, else cycles.
    einsums : tuple of EinsumScore
        In order of running.
    ports : tuple of PortScore
        Those with a rate.
    transfers : tuple of Transfer
        Everything that moved or was computed.
    peak_bits : dict of str to int
        Most bits that one unit of every memory holds at once.
    double_buffer : bool
        Whether the peak counts the tiles on their way; else fills overlap for free.
    steps : int
        Steps of loops that were simulated; the others repeat a state.
    ticks : int
        `cycles` in whole ticks: what is exact.
    ticks_per_cycle : int
        How many of them a cycle has.
    served : dict of str to tuple of (int, int, str)
        By port: when it served, in ticks, and whom. Without what was skipped.
    """

    cycles: float
    latency: float
    einsums: tuple[EinsumScore, ...]
    ports: tuple[PortScore, ...]
    transfers: tuple[Transfer, ...]
    peak_bits: dict[str, int]
    double_buffer: bool
    steps: int
    ticks: int
    ticks_per_cycle: int
    served: dict[str, tuple[tuple[int, int, str], ...]]


def fused_document(score: FusedScore) -> dict[str, Any]:
    """Return a score as JSON has it."""
    return {
        "simulated_latency": score.latency,
        "simulated_cycles": score.cycles,
        "capacity": "double-buffer" if score.double_buffer else "fills overlap free",
        "peak_bits": score.peak_bits,
        "steps_simulated": score.steps,
        "einsums": [
            {
                "einsum": einsum.name,
                "cycles": einsum.cycles,
                "fill_cycles": einsum.fill_cycles,
                "drain_cycles": einsum.drain_cycles,
            }
            for einsum in score.einsums
        ],
        "busy_cycles": {port.name: port.busy_cycles for port in score.ports},
        "transfers": [
            {
                "einsum": transfer.einsum,
                "component": transfer.component,
                "tensor": transfer.tensor,
                "kind": transfer.kind,
                "count": transfer.count,
            }
            for transfer in score.transfers
        ],
    }
