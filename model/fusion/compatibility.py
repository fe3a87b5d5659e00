"""When partial mappings of several einsums fit together (paper §4), step by step.

Einsums run in workload order. Between two of them, the *interface* says which loops
they share and which tensors are live: a tensor is live from its first to its last user,
and every einsum in between runs under the loops above its backing store. Those loops
are the shared ones; all others are private to either side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

NOWHERE = -1


@dataclass(frozen=True, slots=True)
class FusedLoop:
    """A loop with iterations above the backing store of a shared tensor.

    Parameters
    ----------
    rank : str
        The rank variable, as this einsum calls it.
    extent, tile_size : int
        What the loop cuts, and into what.
    over : str or None
        Label of the fan-out of a spatial loop.
    """

    rank: str
    extent: int
    tile_size: int
    over: str | None = None

    @property
    def cut(self) -> Cut:
        """What must be equal in every einsum under the loop."""
        return (self.extent, self.tile_size, self.over)


Cut = tuple[int, int, str | None]


@dataclass(frozen=True, slots=True)
class Copy:
    """A node below a tensor's backing store; einsums under it share it too.

    Parameters
    ----------
    memory, depth, bits
        As in `Exchange`.
    """

    memory: str
    depth: int
    bits: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """Where an einsum finds or leaves a tensor that other einsums use too.

    Parameters
    ----------
    tensor, memory : str
        What, and its backing store.
    depth : int
        Fused loops above the backing store.
    bits : int
        Its tile there; 0 in memories without a capacity.
    axes : tuple of int
        For every fused loop of the einsum, the axis of the tensor that it cuts;
        `NOWHERE` for loops that do not index it.
    copies : tuple of Copy
        Further nodes that hold it above a fused loop.
    """

    tensor: str
    memory: str
    depth: int
    bits: int
    axes: tuple[int, ...]
    copies: tuple[Copy, ...] = ()


@dataclass(frozen=True, slots=True)
class Compatibility:
    """All that other einsums can see of a partial mapping.

    Parameters
    ----------
    loops : tuple of FusedLoop
        From outer to inner.
    exchanges : tuple of Exchange
        One per tensor that several einsums use.
    """

    loops: tuple[FusedLoop, ...]
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class Live:
    """A tensor that a later einsum still uses.

    Parameters
    ----------
    tensor, memory, depth, bits
        As in `Exchange`.
    axes : tuple of int
        Axes cut by the loops above it; for a tensor that an einsum produced, also by
        the loops below that its producer shares with whoever comes next.
    copies : tuple of Copy
        Further nodes above shared loops: they are on the next einsum's path too.
    """

    tensor: str
    memory: str
    depth: int
    bits: int
    axes: tuple[int, ...]
    copies: tuple[Copy, ...]


@dataclass(frozen=True, slots=True)
class Interface:
    """What the einsums so far leave open for the next one.

    Parameters
    ----------
    cuts : tuple of Cut
        The loops that the next einsum must share.
    live : tuple of Live
        In order of first use.
    """

    cuts: tuple[Cut, ...] = ()
    live: tuple[Live, ...] = ()


def advanced(
    interface: Interface,
    compatibility: Compatibility,
    produced: str,
    used_later: frozenset[str],
) -> Interface | None:
    """Return the interface after one more einsum, None if it does not fit.

    It fits if it shares every open loop, finds each live tensor it uses in the same
    memory under the same loops, with the same further copies above shared loops, and
    reads along a shared loop what was produced along it: a shared loop below the
    backing store of a tensor must cut the same axis in its producer and its consumer.

    Parameters
    ----------
    produced : str
        The einsum's output.
    used_later : frozenset of str
        Tensors that einsums after it use; persistent ones count as used to the end.
    """
    loops, cuts = compatibility.loops, interface.cuts
    if tuple(loop.cut for loop in loops[: len(cuts)]) != cuts:
        return None
    mine = {exchange.tensor: exchange for exchange in compatibility.exchanges}
    opened = []
    for live in interface.live:
        exchange = mine.pop(live.tensor, None)
        if exchange is not None:
            if not _agree(live, exchange, len(cuts)):
                return None
            live = replace(live, copies=exchange.copies)
        if live.tensor in used_later:
            opened.append(live)
    opened += [
        _opened(exchange, exchange.tensor == produced)
        for exchange in mine.values()
        if exchange.tensor in used_later
    ]
    shared = max((live.depth for live in opened), default=0)
    return Interface(
        tuple(loop.cut for loop in loops[:shared]),
        tuple(_seen_from(live, shared) for live in opened),
    )


def _agree(live: Live, exchange: Exchange, shared: int) -> bool:
    return (
        (live.memory, live.depth) == (exchange.memory, exchange.depth)
        and live.axes == exchange.axes[: len(live.axes)]
        and NOWHERE not in live.axes
        and live.copies == _above(exchange.copies, shared)
    )


def _opened(exchange: Exchange, is_produced: bool) -> Live:
    return Live(
        exchange.tensor,
        exchange.memory,
        exchange.depth,
        exchange.bits,
        exchange.axes if is_produced else exchange.axes[: exchange.depth],
        exchange.copies,
    )


def _seen_from(live: Live, shared: int) -> Live:
    """Return a live tensor as an einsum under `shared` common loops meets it."""
    copies = _above(live.copies, shared)
    return replace(live, axes=live.axes[:shared], copies=copies)


def _above(copies: tuple[Copy, ...], shared: int) -> tuple[Copy, ...]:
    return tuple(copy for copy in copies if copy.depth < shared)
