"""Bits that a tile moves and operations of a step: of all units, and of one.

Transfers are counted as they happen, one visit after the other. A fan-out that shares
serves all its units with one transfer. The first touch of an output reads nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.mapping import Loop
from elkhound.model.graph import Access
from elkhound.simpy_chip.fused.tiles import Path, Steps, elements


@dataclass(frozen=True, slots=True)
class Moved:
    """Elements between a holder and the one above it, or compute.

    Parameters
    ----------
    every, upper, lower : int
        In all units; in the busiest unit of the upper, and of the lower holder.
    fresh, fresh_upper, fresh_lower : int
        Of these, what nothing has touched yet.
    """

    every: int
    upper: int
    lower: int
    fresh: int
    fresh_upper: int
    fresh_lower: int


class Meter:
    """Says what a visit moves.

    Parameters
    ----------
    accelerator : Accelerator
        Whose fan-outs share transfers or do not.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self._shares = {
            fan_out.label: (fan_out.multicast, fan_out.reduction)
            for fan_out, _ in accelerator.fan_outs
        }

    def operations(self, path: Path, steps: Steps) -> tuple[int, int]:
        """Return operations of a step, in all units and in one."""
        every = path.extents(path.end, steps, lambda _at, _loop: False)
        one = path.extents(path.end, steps, lambda _at, loop: loop.over is not None)
        total, per_unit = (
            prod(sum(n * units for n, units in tiles) for tiles in found.values())
            for found in (every, one)
        )
        return total, per_unit

    def moved(
        self, path: Path, access: Access, above: int, position: int, steps: Steps
    ) -> Moved:
        """Return the elements that a visit of a position takes from the holder above.

        Parameters
        ----------
        path, access
            The einsum and its tensor.
        above, position : int
            Positions of the upper holder and of what is visited.
        steps : Steps
            Steps of all loops in time that stand.
        """
        is_output = access is path.einsum.output
        again = any(
            step > 0 and not _indexes(path, access, path.nodes[at])
            for at, step in steps.items()
            if at < position
        )

        def shared(at: int, loop: Loop) -> bool:
            if loop.over is None or at < above or _indexes(path, access, loop):
                return False
            multicast, reduction = self._shares[loop.over]
            return reduction if is_output else multicast

        def count(units_of: int, fresh: bool) -> int:
            """Count for the units under loops from a position on; once for others."""
            if fresh and (again or not is_output):
                return 0
            return elements(
                access,
                path.extents(
                    position,
                    steps,
                    lambda at, loop: (
                        shared(at, loop)
                        or (loop.over is not None and at < units_of)
                        or (
                            fresh
                            and loop.over is None
                            and not _indexes(path, access, loop)
                        )
                    ),
                ),
            )

        every, upper, lower = (count(at, False) for at in (0, above, position))
        fresh = (count(at, True) for at in (0, above, position))
        return Moved(every, upper, lower, *fresh)


def _indexes(path: Path, access: Access, node: object) -> bool:
    return (
        isinstance(node, Loop) and node.rank_of(path.einsum.name) in access.dimensions
    )
