"""The referee of placements: holds all buffers alive together against each other."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.placement import Placement, PlacementProblem


@dataclass(frozen=True, slots=True)
class PlacementVerdict:
    """How high a placement reaches, or why it is none.

    Parameters
    ----------
    objective : int or None
        Height in bytes: the top of the highest buffer; None if anything is violated.
    violations : tuple of str
        One line per broken rule, naming buffers and bytes.
    height_bytes : int or None
        The height, of a placement with collisions too; None if the plan's numbers
        mean nothing.
    """

    objective: int | None
    violations: tuple[str, ...]
    height_bytes: int | None = None

    @property
    def feasible(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


def judge_placement(problem: PlacementProblem, plan: Placement) -> PlacementVerdict:
    """Decide whether buffers alive together lie apart, and all lie within C.

    Half-open both ways: [start, end) in steps and [offset, offset + size) in bytes.
    """
    buffers, offsets = problem.buffers, plan.offsets
    if len(offsets) != len(buffers):
        line = f"plan: {len(offsets)} offsets for {len(buffers)} buffers"
        return PlacementVerdict(None, (line,))
    together = _pairs(problem)
    lines, height = [], 0
    for k, (buffer, offset) in enumerate(zip(buffers, offsets, strict=True)):
        top = offset + buffer.size_bytes
        height = max(height, top)
        if offset < 0:
            lines.append(f"buffer {buffer.name}: offset {offset} B, must be at least 0")
        if top > problem.capacity_bytes:
            lines.append(
                f"buffer {buffer.name}: reaches {top} B of {problem.capacity_bytes} "
                f"B: {top - problem.capacity_bytes} B over"
            )
        for n in together[k]:
            other, other_offset = buffers[n], offsets[n]
            low = max(offset, other_offset)
            shared = min(top, other_offset + other.size_bytes) - low
            if shared > 0:
                first = max(buffer.start_step, other.start_step)
                last = min(buffer.end_step, other.end_step) - 1
                lines.append(
                    f"buffers {other.name} and {buffer.name}: share {shared} B from "
                    f"{low} B on at steps {first} … {last}"
                )
    return PlacementVerdict(None if lines else height, tuple(lines), height)


def _pairs(problem: PlacementProblem) -> list[list[int]]:
    """Return for each buffer the ones listed before it that share a step with it."""
    events = []
    for k, buffer in enumerate(problem.buffers):
        events += [(buffer.start_step, True, k), (buffer.end_step, False, k)]
    pairs: list[list[int]] = [[] for _ in problem.buffers]
    alive: set[int] = set()
    for _, begins, k in sorted(events):  # at one step what ends goes before what begins
        if begins:
            for other in alive:
                pairs[max(k, other)].append(min(k, other))
            alive.add(k)
        else:
            alive.remove(k)
    return [sorted(others) for others in pairs]
