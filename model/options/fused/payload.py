"""What a fused option means on the chip, member by member."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from elkhound.model.options.fused.group import Group
from elkhound.model.options.fused.plans import MemberPlans
from elkhound.model.options.fused.rows import Rows
from elkhound.model.options.fused.shape import GroupNames, GroupShape
from elkhound.model.schedule import MemberWork, OptionPayload, TensorSplit


def fused_payload(
    shape: GroupShape,
    names: GroupNames,
    group: Group,
    rows: Rows,
    members: Sequence[MemberPlans],
    plan: int,
    shares: list[int],
) -> OptionPayload:
    """Return the payload of one plan in one preload state.

    Parameters
    ----------
    rows, members
        Of the table; `plan` is the place in each.
    shares : list of int
        g of every streamed input, member after member.
    """
    left = iter(shares)
    works = [
        _member(shape, names, group, rows, members[k], plan, k, left)
        for k in range(len(group.members))
    ]
    parts = [work.payload for work in works]
    called = names.dimensions[-1]
    chunks = int(rows.chunks[plan])
    return OptionPayload(
        splits=tuple((called[n], int(rows.splits[n][plan])) for n in shape.free),
        tensors=(),
        cores_used=int(rows.cores_used[plan]),
        steps=chunks * sum(part.steps for part in parts),
        syncs=sum(part.syncs for part in parts),
        hbm_bytes=sum(part.hbm_bytes for part in parts),
        exchange_bytes=sum(part.exchange_bytes for part in parts),
        distribute_bytes=sum(part.distribute_bytes for part in parts),
        sizes=tuple((called[n], shape.sizes[n]) for n in shape.free),
        members=tuple(works),
        chunks=chunks,
    )


def _member(
    shape: GroupShape,
    names: GroupNames,
    group: Group,
    rows: Rows,
    plans: MemberPlans,
    plan: int,
    member: int,
    shares: Iterator[int],
) -> MemberWork:
    own, called = shape.members[member], names.dimensions[member]
    factors = iter(plans.factors[plan].tolist())
    waiting = iter(plans.streamed[plan].tolist()[::2])
    tensors, missing = [], 0
    for place, access in enumerate(own.einsum.inputs):
        rotation = [
            (called[name], factor)
            for name in own.names
            if name in access.dimensions and (factor := next(factors)) > 1
        ]
        share = 1
        if own.streamed[place]:
            share, waits = next(shares), next(waiting)
            missing += waits - -(-waits // share)
        tensors.append(TensorSplit(names.inputs[member][place], tuple(rotation), share))
    whole = tuple((name, 1) for name in names.whole[member])
    exchange_bytes, syncs, steps = plans.work[plan].tolist()
    sizes = own.einsum.sizes
    return MemberWork(
        name=group.members[member].name,
        compute_cycles=int(plans.compute_cycles[plan]),
        exchange_cycles=int(plans.exchange_cycles[plan]),
        payload=OptionPayload(
            splits=(
                *((called[n], int(rows.splits[n][plan])) for n in own.names),
                *whole,
            ),
            tensors=tuple(tensors),
            cores_used=int(rows.cores_used[plan]),
            steps=steps,
            syncs=syncs,
            hbm_bytes=own.hbm_bytes,
            exchange_bytes=exchange_bytes,
            distribute_bytes=missing,
            sizes=(*((called[n], sizes[n]) for n in own.names), *whole),
        ),
    )
