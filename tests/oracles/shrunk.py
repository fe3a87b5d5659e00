"""The same mapping of a smaller workload: for running what is too large to run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from elkhound.model.fusion import FusionWorkload, Loop, LoopTree, Node, Split
from elkhound.model.fusion.mapping import computed

Rank = tuple[str, str]  # einsum, rank variable


def shrunk(workload: FusionWorkload, tree: LoopTree) -> tuple[FusionWorkload, LoopTree]:
    """Return workload and mapping with extents 1, 2, 5, 11, … in the old order.

    No extent divides the next one but 1, so that every loop is ragged. Ranks that meet
    in a tensor or a renamed loop shrink alike. Accesses have no halo.
    """
    group = _groups(workload, tree)
    extents: dict[int, set[int]] = {number: {1} for number in group.values()}
    for (_, rank), number in group.items():
        extents[number].add(workload.size[rank])
    for loop, names in _loops(tree.nodes):
        extents[group[names[0], loop.rank_of(names[0])]].add(loop.tile_size)
    small = {
        number: {extent: 3 * 2**i // 2 - bool(i) for i, extent in enumerate(sorted(of))}
        for number, of in extents.items()
    }
    sizes = tuple(
        (rank, small[number][workload.size[rank]])
        for rank, _ in workload.sizes
        for number in {n for (_, own), n in group.items() if own == rank}
    )
    nodes = _nodes(tree.nodes, group, small)
    return replace(workload, sizes=sizes), LoopTree(nodes, tree.name)


def _groups(workload: FusionWorkload, tree: LoopTree) -> dict[Rank, int]:
    """Return a number per rank of an einsum, the same for ranks that go together."""
    ranks = [(e.name, rank) for e in workload.einsums for rank in e.ranks]
    group = {rank: number for number, rank in enumerate(ranks)}

    def unite(one: Rank, other: Rank) -> None:
        old, new = group[one], group[other]
        group.update({rank: new for rank, n in group.items() if n == old})

    for one in ranks:
        for other in ranks:
            if one[1] == other[1]:
                unite(one, other)
    for tensor in workload.tensors:
        first, *rest = workload.users(tensor)
        for user in rest:
            for mine, its in zip(
                workload.einsum(first).access(tensor).axes,
                workload.einsum(user).access(tensor).axes,
                strict=True,
            ):
                unite((first, mine.terms[0][0]), (user, its.terms[0][0]))
    for loop, names in _loops(tree.nodes):
        for name in names[1:]:
            unite((names[0], loop.rank_of(names[0])), (name, loop.rank_of(name)))
    return group


def _loops(nodes: tuple[Node, ...]) -> Iterator[tuple[Loop, tuple[str, ...]]]:
    for node in nodes:
        if isinstance(node, Loop):
            yield node, computed(nodes)
        if isinstance(node, Split):
            for branch in node.branches:
                yield from _loops(branch)


def _nodes(
    nodes: tuple[Node, ...], group: dict[Rank, int], small: dict[int, dict[int, int]]
) -> tuple[Node, ...]:
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            name = computed(nodes)[0]
            extent = small[group[name, node.rank_of(name)]][node.tile_size]
            found.append(replace(node, tile_size=extent))
        elif isinstance(node, Split):
            branches = tuple(_nodes(branch, group, small) for branch in node.branches)
            found.append(Split(branches))
        else:
            found.append(node)
    return tuple(found)
