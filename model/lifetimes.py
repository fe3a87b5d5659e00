"""The buffers of a schedule: what lies in SRAM from which step to which.

Operator j gives P_j of preload_bytes from its gate's step to the end of E_j, and W_j of
execute_bytes − preload_bytes during E_j. At step i they add up to

    max(execute_bytes_i, preload_bytes_i) + Σ_{j>i, g_j ≤ i} preload_bytes_j

and with the activations held, r_i, to both SRAM rows of the schedule problem.
"""

from __future__ import annotations

from collections.abc import Sequence

from elkhound.model.graph import Graph, Home
from elkhound.model.placement import Buffer, PlacementProblem
from elkhound.model.schedule import Schedule, ScheduleProblem


def placement_problem(
    problem: ScheduleProblem,
    plan: Schedule,
    held: Sequence[Buffer] | None = None,
) -> PlacementProblem:
    """Return the buffers of a plan, to be placed in the problem's SRAM.

    Buffers of 0 bytes are left out.

    Parameters
    ----------
    problem : ScheduleProblem
        What was planned.
    plan : Schedule
        Its gates and options; both must exist.
    held : sequence of Buffer or None
        The activations behind r_i, as `held_tensors` gives them. None:
        `held_layers` makes some of the right size.

    Raises
    ------
    ValueError
        If `held` does not add up to r_i at some step.
    """
    resident = [operator.resident_bytes for operator in problem.operators]
    if held is None:
        held = held_layers(resident)
    _check_sums(held, resident)
    buffers: list[Buffer] = []
    for j, operator in enumerate(problem.operators):
        option, gate = operator.options[plan.options[j]], plan.gates[j]
        work_bytes = option.execute_bytes
        if gate is not None:
            work_bytes = max(0, option.execute_bytes - option.preload_bytes)
            name = f"P.{operator.name}"
            buffers.append(Buffer(name, gate, j + 1, option.preload_bytes))
        buffers.append(Buffer(f"W.{operator.name}", j, j + 1, work_bytes))
    buffers += held
    return PlacementProblem(
        problem.sram_bytes,
        tuple(buffer for buffer in buffers if buffer.size_bytes),
        name=problem.name,
    )


def held_tensors(graph: Graph, cores: int) -> tuple[Buffer, ...]:
    """Return one buffer per activation that outlives its neighbour.

    A tensor written at step p and last read at step c is held at p < i < c (at p and c
    it is part of execute_bytes), ⌈bytes / cores⌉ on each core; sums are
    `Graph.held_bytes`.
    """
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for step, operator in enumerate(graph.operators):
        first.setdefault(operator.einsum.output.tensor, step)
        for access in operator.einsum.inputs:
            last[access.tensor] = step
    buffers = []
    for tensor in graph.tensors:
        written, read = first.get(tensor.name, -1), last.get(tensor.name, -1)
        if tensor.home is Home.CHIP and written + 1 < read:
            share = -(-tensor.size_bytes // cores)
            buffers.append(Buffer(f"R.{tensor.name}", written + 1, read, share))
    return tuple(buffers)


def held_layers(resident_bytes: Sequence[int]) -> tuple[Buffer, ...]:
    """Return buffers that add up to r_i, where the tensors behind it are not known.

    Bytes stay as long as r_i lets them: a rise begins a buffer, a fall ends the ones
    that began last, as skip connections nest; one of which only a part ends is two
    buffers. Where the true tensors end and begin at the same step, these go on, which
    only asks for more.

    Examples
    --------
    >>> [(b.start_step, b.end_step, b.size_bytes) for b in held_layers([2, 5, 1, 1])]
    [(0, 2, 1), (0, 4, 1), (1, 2, 3)]
    """
    rising: list[tuple[int, int]] = []  # (first step, bytes) still held
    ended: list[tuple[int, int, int]] = []
    before = 0
    for step, now in enumerate((*resident_bytes, 0)):
        if now > before:
            rising.append((step, now - before))
        falling = before - now
        while falling > 0:
            start, size = rising.pop()
            gone = min(size, falling)
            ended.append((start, step, gone))
            if gone < size:
                rising.append((start, size - gone))
            falling -= gone
        before = now
    return tuple(
        Buffer(f"R.{number}", start, end, size)
        for number, (start, end, size) in enumerate(sorted(ended))
    )


def _check_sums(held: Sequence[Buffer], resident: Sequence[int]) -> None:
    for step, expected in enumerate(resident):
        found = sum(b.size_bytes for b in held if b.start_step <= step < b.end_step)
        if found != expected:
            raise ValueError(
                f"held: {found} bytes at step {step}, must be resident_bytes = "
                f"{expected}"
            )
