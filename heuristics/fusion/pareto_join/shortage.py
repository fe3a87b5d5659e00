"""Which memory is too small for all einsums together, and what it needs at least."""

from __future__ import annotations

from dataclasses import replace

from elkhound.heuristics.fusion.pareto_join.join import least_peaks
from elkhound.model.errors import InfeasibleError
from elkhound.model.fusion.accelerator import Memory
from elkhound.model.fusion.pmappings import generate
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.stopwatch import Stopwatch


def shortage(problem: FusionProblem, clock: Stopwatch) -> str:
    """Say why no mapping of a workload fits although every einsum has one.

    Each memory in turn is made large enough for everything. Where the einsums fit
    together then, the least that they fill is what the memory needs.

    Raises
    ------
    OutOfTime
        The limit was reached.
    """
    limited = [m for m in problem.accelerator.memories if m.size_bits is not None]
    for memory in limited:
        need = _need(problem, memory, clock)
        if need is not None:
            return (
                f"every einsum has mappings, but none fit together: memory "
                f"{memory.name} needs at least {need} bits, has {memory.size_bits}"
            )
    sizes = ", ".join(f"{m.name} has {m.size_bits} bits" for m in limited)
    return (
        "every einsum has mappings, but none fit together, however large one of the "
        f"memories is: {sizes}"
    )


def _need(problem: FusionProblem, memory: Memory, clock: Stopwatch) -> int | None:
    """Return the least bits that work with the other memories as they are."""
    workload = problem.workload
    bits = dict(workload.bits)
    everything = sum(
        bits[tensor] * workload.elements(tensor)
        for einsum in workload.einsums
        for tensor in einsum.tensors
    )
    ample = replace(memory, size_bits=max(everything, memory.size_bits or 0))
    memories = tuple(
        ample if each is memory else each for each in problem.accelerator.memories
    )
    accelerator = replace(problem.accelerator, memories=memories)
    try:
        pmappings = generate(
            workload, accelerator, problem.mapspace, ("energy",), clock
        )
    except InfeasibleError:
        return None
    return least_peaks(pmappings, clock).get(memory.name)
