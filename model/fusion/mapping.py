"""A LoopTree mapping: storage, loops, splits and compute, from outer to inner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Store:
    """A tensor's tile in a memory; the loops above say which tile.

    Parameters
    ----------
    memory, tensor : str
        What is held where.
    """

    memory: str
    tensor: str


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop over a rank variable, in steps of a tile.

    Parameters
    ----------
    rank : str
        The rank variable.
    tile_size : int
        Extent left to the nodes below; the last step takes what remains.
    over : str or None
        None: in time. ``Component.dimension``: over the units of a fan-out.
    renamed : tuple of (str, str)
        Einsums below that call the rank otherwise, and how: consumers of K loop over
        their p where its producer loops over m.
    """

    rank: str
    tile_size: int
    over: str | None = None
    renamed: tuple[tuple[str, str], ...] = ()

    def rank_of(self, einsum: str) -> str:
        """Return the rank variable that the loop is in one einsum."""
        return dict(self.renamed).get(einsum, self.rank)


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """The innermost body: one operation of an einsum.

    Parameters
    ----------
    einsum, unit : str
        What is computed on which compute unit.
    """

    einsum: str
    unit: str


@dataclass(frozen=True, slots=True)
class Split:
    """Branches that run one after the other in every iteration of the loops above.

    Parameters
    ----------
    branches : tuple of tuple of Node
        Node lists, each complete.
    """

    branches: tuple[tuple[Node, ...], ...]


Node = Store | Loop | Split | ComputeNode


@dataclass(frozen=True, slots=True)
class LoopTree:
    """A mapping of a whole workload (paper §2.2).

    Parameters
    ----------
    nodes : tuple of Node
        From outer to inner; the last one, and only it, is a split or a compute node.
    name : str
        Name shown in messages: its file, where it has one.
    """

    nodes: tuple[Node, ...]
    name: str = "mapping"

    def __post_init__(self) -> None:
        _require_complete(self.nodes)

    @property
    def paths(self) -> tuple[tuple[Node, ...], ...]:
        """Nodes from the root to each compute node, in order of running."""
        return tuple(_paths(self.nodes))


def computed(nodes: tuple[Node, ...]) -> tuple[str, ...]:
    """Return the einsums that run in a node list, in order."""
    last = nodes[-1]
    if isinstance(last, Split):
        return tuple(name for branch in last.branches for name in computed(branch))
    return (last.einsum,) if isinstance(last, ComputeNode) else ()


def _paths(
    nodes: tuple[Node, ...], above: tuple[Node, ...] = ()
) -> Iterator[tuple[Node, ...]]:
    last = nodes[-1]
    if isinstance(last, Split):
        for branch in last.branches:
            yield from _paths(branch, (*above, *nodes[:-1]))
    else:
        yield (*above, *nodes)


def _require_complete(nodes: tuple[Node, ...]) -> None:
    if not nodes or not isinstance(nodes[-1], Split | ComputeNode):
        raise ValueError("a list of nodes must end in Sequential or compute")
    for node in nodes[:-1]:
        if isinstance(node, Split | ComputeNode):
            raise ValueError("nothing may follow Sequential or compute in its list")
    for node in nodes:
        if isinstance(node, Loop) and node.tile_size < 1:
            raise ValueError(
                f"loop over {node.rank}: tile is {node.tile_size}, must be at least 1"
            )
    if isinstance(nodes[-1], Split):
        if not nodes[-1].branches:
            raise ValueError("Sequential has no Nested branch")
        for branch in nodes[-1].branches:
            _require_complete(branch)
