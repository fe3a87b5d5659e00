"""Whether an option's tiles are the operator: every point of its space on one core.

A split s of size N makes tiles of ⌈N/s⌉ points, the last ones short: for s ≤ N they
hold every index once. So the space is covered exactly once if every split is from 1 to
its size and there is a core for each tile, and no piece that rotates is empty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from elkhound.model.schedule import OptionPayload, ScheduleOption


def coverage_violations(name: str, payload: OptionPayload) -> Iterator[str]:
    """Say what of the work is done twice, or by no core.

    Sizes that a plan file leaves out cannot be checked, products of splits can.
    """
    tiles = math.prod(split for _, split in payload.splits)
    if tiles != payload.cores_used:
        cut = " · ".join(f"{dimension} {split}" for dimension, split in payload.splits)
        yield (
            f"operator {name}: splits {cut or 'none'} make {tiles} tiles, "
            f"{payload.cores_used} cores are used"
        )
    sizes = dict(payload.sizes)
    for dimension, split in payload.splits:
        size = sizes.get(dimension, split)
        if not 1 <= split <= size:
            yield (
                f"operator {name}: {dimension} of {size} is cut into {split} tiles, "
                f"must be from 1 to {size}"
            )
    yield from _rotations(name, payload)
    yield from _members(name, payload)


def phase_violations(name: str, option: ScheduleOption) -> Iterator[str]:
    """Check that the members of a fused option take the time of its phases."""
    members = () if option.payload is None else option.payload.members
    for phase in ("compute_cycles", "exchange_cycles") if members else ():
        total = sum(getattr(member, phase) for member in members)
        if getattr(option, phase) != total:
            yield (
                f"operator {name}: its members have {total} {phase}, the option "
                f"{getattr(option, phase)}"
            )


def _members(name: str, payload: OptionPayload) -> Iterator[str]:
    """Check that every member of a fused operator is covered by the same tiles.

    What two members hand over stays where it is, so they cut nothing but the dimensions
    that they share, and into as many parts; bytes and synchronisations are sums.
    """
    shared = sorted(split for _, split in payload.splits if split > 1)
    for member in payload.members:
        own = member.payload
        yield from coverage_violations(f"{name}: {member.name}", own)
        if sorted(split for _, split in own.splits if split > 1) != shared:
            yield (
                f"operator {name}: {member.name} is cut otherwise than the operators "
                "it is fused with"
            )
    if not payload.members:
        return
    sums = {
        "syncs": sum(member.payload.syncs for member in payload.members),
        "hbm_bytes": sum(member.payload.hbm_bytes for member in payload.members),
        "exchange_bytes": sum(m.payload.exchange_bytes for m in payload.members),
        "distribute_bytes": sum(m.payload.distribute_bytes for m in payload.members),
        "steps": payload.chunks * sum(m.payload.steps for m in payload.members),
    }
    for what, total in sums.items():
        if getattr(payload, what) != total:
            yield (
                f"operator {name}: its members have {total} {what}, the plan says "
                f"{getattr(payload, what)}"
            )


def _rotations(name: str, payload: OptionPayload) -> Iterator[str]:
    """Check that pieces of rotating tensors are some, and as many as there are steps.

    Each of the cores that share a tile starts with another piece of it, so the pieces,
    times the share HBM leaves to peers, divide the cores. A payload without tensors
    says nothing of rotations.
    """
    splits, sizes = dict(payload.splits), dict(payload.sizes)
    steps: dict[str, int] = {}
    for tensor in payload.tensors:
        pieces = 1
        for dimension, factor in tensor.rotation:
            pieces *= factor
            steps[dimension] = max(factor, steps.get(dimension, 1))
            split = splits.get(dimension)
            if split is None:
                yield (
                    f"operator {name}: {tensor.tensor} rotates on {dimension}, which "
                    "is no dimension of its splits"
                )
            elif dimension in sizes and split > 0:
                tile = -(-sizes[dimension] // split)
                if factor > tile:
                    yield (
                        f"operator {name}: {tensor.tensor} rotates in {factor} pieces "
                        f"on {dimension}, whose tile has {tile} points"
                    )
        held = pieces * tensor.preload_share
        if held < 1 or payload.cores_used % held:
            yield (
                f"operator {name}: {tensor.tensor} in {pieces} pieces of share "
                f"1/{tensor.preload_share} does not go evenly over "
                f"{payload.cores_used} cores"
            )
    count = math.prod(steps.values())
    if payload.tensors and count != payload.steps:
        yield (
            f"operator {name}: rotations take {count} steps, the plan says "
            f"{payload.steps}"
        )
