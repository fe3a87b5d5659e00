"""From which execute on preloads have room, where they are issued in index order."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from elkhound.model.schedule import ScheduleProblem


def earliest_in_order(
    problem: ScheduleProblem,
    taken_bytes: Sequence[int],
    preload_bytes: Sequence[int],
    space_bytes: int,
) -> tuple[int | None, ...]:
    """Return for each P_j the smallest gate, in identity order, from which it fits.

    While g is at least every gate before it, the preloads outstanding at i ≥ g are
    those of operators i + 1 … j, so with S_i = Σ_{l ≤ i} preload_bytes_l the rows read
    S_j − S_i ≤ min(P, C − taken_bytes_i) for i = g … j − 1. K counts likewise.

    Parameters
    ----------
    taken_bytes : sequence of int
        What each execute takes itself: r_i and the larger of its two SRAM rows.
    preload_bytes : sequence of int
        Of operators that stream; the others count as 0.
    space_bytes : int
        P: the most that outstanding preloads may take.
    """
    limit = problem.max_outstanding
    streaming = problem.streaming
    gates: list[int | None] = [None] * len(problem.operators)
    gate = issued_bytes = position = 0
    # (i, largest S_j that fits at i), without those that a later and tighter one makes
    # redundant; the tightest comes first.
    rows: deque[tuple[int, int]] = deque()
    for j, operator in enumerate(problem.operators):
        if operator.streams:
            issued_bytes += preload_bytes[j]
            if limit is not None and position >= limit:
                gate = max(gate, streaming[position - limit])
            while rows and rows[0][1] < issued_bytes:
                gate = max(gate, rows.popleft()[0] + 1)
            gates[j] = gate
            position += 1
        room_bytes = problem.sram_bytes - taken_bytes[j]
        most_bytes = issued_bytes + min(space_bytes, room_bytes)
        while rows and rows[-1][1] >= most_bytes:
            rows.pop()
        rows.append((j, most_bytes))
    return tuple(gates)
