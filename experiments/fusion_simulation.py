"""What a fusion mapping takes when simulated, beside what the rules say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from elkhound.experiments.rows import model_error
from elkhound.model.fusion import Accelerator, FusionCost

if TYPE_CHECKING:
    from elkhound.simpy_chip.fused import FusedScore


def simulation_document(
    accelerator: Accelerator, cost: FusionCost, score: FusedScore
) -> dict[str, Any]:
    """Return a simulation as JSON has it."""
    from elkhound.simpy_chip.fused import fused_document

    document = {
        "units": {"latency": accelerator.units[1]},
        "latency": cost.latency,
        "model_error": model_error(score.latency, cost.latency),
        **fused_document(score),
    }
    for einsum in document["einsums"]:
        own = cost.latency_by_einsum[einsum["einsum"]]
        einsum["analytical_cycles"] = own / accelerator.cycle_time
    return document


def print_simulation(
    accelerator: Accelerator, cost: FusionCost, score: FusedScore
) -> None:
    """Print totals, einsums with fill and drain, and how busy every port is."""
    from rich.console import Console
    from rich.table import Table

    unit = accelerator.units[1]
    console = Console(highlight=False)
    error = model_error(score.latency, cost.latency)
    capacity = "counted" if score.double_buffer else "free: fills overlap at no cost"
    peaks = ", ".join(f"{name} {bits} bit" for name, bits in score.peak_bits.items())
    for name, value in {
        "simulated": f"{score.latency:.9g} {unit}",
        "rules": f"{cost.latency:.9g} {unit}",
        "model error": "–" if error is None else f"{100 * error:+.2f} %",
        "peak": peaks,
        "next tiles": capacity,
        "steps": f"{score.steps} simulated, the others repeat a state",
    }.items():
        console.print(f"{name:<12} {value}", soft_wrap=True)
    table = Table("einsum", "cycles", "rules", "fill", "drain", box=None)
    for einsum in score.einsums:
        own = cost.latency_by_einsum[einsum.name] / accelerator.cycle_time
        parts = (einsum.cycles, own, einsum.fill_cycles, einsum.drain_cycles)
        table.add_row(einsum.name, *(f"{part:.9g}" for part in parts))
    console.print(table)
    ports = Table("port", "busy cycles", "use", box=None)
    for port in score.ports:
        use = port.busy_cycles / score.cycles if score.cycles else 0.0
        ports.add_row(port.name, f"{port.busy_cycles:.9g}", f"{100 * use:.1f} %")
    console.print(ports)
