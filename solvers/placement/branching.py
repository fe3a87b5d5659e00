"""One run of the search: put the lowest buffer where it is lowest, or delay it."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log
from random import Random

from elkhound.solvers.placement.memo import Memo, Part
from elkhound.solvers.placement.state import State
from elkhound.solvers.placement.weights import Weights


class OutOfNodes(Exception):
    """The run has used up its nodes or its time."""


class Run:
    """A depth-first search over placements in which nothing can be pushed down.

    At a node, of the unplaced buffers of a part with the least lower bound, the one
    with the largest key is placed there; when that fails, it is delayed. A failure
    is a mask over cliques: without the placements and delays of buffers alive in
    one of them it would not have come about. So a node whose buffer is not alive in
    the mask fails as a whole (backjumping).

    Parameters
    ----------
    state : State
        Nothing placed yet.
    memo : Memo
        Of earlier runs at the same capacity.
    weights : Weights
        Whom to branch on.
    random : Random
        For noise in the keys.
    node_limit : float
        Placements tried before the run is given up.
    out_of_time : callable
        Asked every 64 nodes.
    """

    def __init__(
        self,
        state: State,
        memo: Memo,
        weights: Weights,
        random: Random,
        node_limit: float,
        out_of_time: Callable[[], bool],
    ) -> None:
        self.state = state
        self.nodes = 0
        self._weights = weights
        self._static_keys = weights.static_keys(state.cliques, random)
        self._node_limit = node_limit
        self._out_of_time = out_of_time
        self._memo = memo

    def fits(self) -> bool:
        """Search to the end; the offsets are in the state. False is a proof.

        Raises
        ------
        OutOfNodes
            At the limit: nothing is known.
        """
        state = self.state
        if max(state.load, default=0) > state.capacity:
            return False
        return not self._solve_parts(tuple(range(len(state.cliques.size))))

    def _solve_parts(self, buffers: Part) -> int:
        """Place buffers part by part; return 0, or the mask of the part that fails."""
        for part in self._parts(buffers):
            mask = self._solve(part)
            if mask:
                return mask
        return 0

    def _parts(self, buffers: Part) -> list[Part]:
        """Return the parts that no lifetime joins, the smallest first."""
        first, last = self.state.cliques.first, self.state.cliques.last
        parts: list[Part] = []
        start = end = 0
        for place, j in enumerate(buffers):
            if first[j] >= end and place > start:
                parts.append(buffers[start:place])
                start = place
            if last[j] > end:
                end = last[j]
        if start < len(buffers):
            parts.append(buffers[start:])
        if len(parts) > 1:
            parts.sort(key=len)
        return parts

    def _solve(self, part: Part) -> int:
        """Place a part; return 0, or the mask of its failure with bounds as before."""
        state, cliques = self.state, self.state.cliques
        delays: list[tuple[int, int]] = []  # range delayed, mask of why it had to be
        at_first: list[int] = []
        while True:
            low = state.low
            lows = [low[j] for j in part]
            at_first = at_first or lows
            if self._memo.holds(part, lows):
                mask = self._everything(part)
                break
            least = min(lows)
            lowest = [j for j, bound in zip(part, lows, strict=True) if bound == least]
            i = lowest[0] if len(lowest) == 1 else self._choose(lowest, least)
            self._count_node()
            saved = state.save()
            mask = state.place(i) or self._solve_without(i, part)
            if not mask:
                return 0
            state.restore(saved)
            mine = cliques.range_mask[i]
            if not mask & mine:
                break
            low = state.low
            delayed = [i, *(k for k in cliques.twins[i] if low[k] == least)]
            for j in delayed:
                mask |= state.why_delayed(j)
            delays.append((mine, mask))
            mask = state.delay(delayed)
            if mask:
                break
        for mine, why in reversed(delays):
            if mask & mine:
                mask |= why
        self._memo.add(part, at_first)
        return mask

    def _solve_without(self, i: int, part: Part) -> int:
        """Place what is left of a part; a buffer of one clique joins no two others."""
        rest = tuple([j for j in part if j != i])
        if not rest:
            return 0
        cliques = self.state.cliques
        if cliques.last[i] - cliques.first[i] == 1:
            return self._solve(rest)
        return self._solve_parts(rest)

    def _choose(self, lowest: list[int], least: int) -> int:
        """Return the buffer with the largest key.

        Over its range no floor is above its own bound nor below the least, so
        load − least is what is still to come, and C − load is the room.
        """
        state, weights = self.state, self._weights
        first, last = state.cliques.first, state.cliques.last
        load, failures = state.load, state.failures
        best, best_key = -1, -inf
        for j in lowest:
            a, b = first[j], last[j]
            peak = max(load[a:b])
            key = (
                self._static_keys[j]
                - weights.slack * log(1 + state.capacity - peak)
                + weights.load * log(1 + peak - least)
                + weights.failures * log(1 + max(failures[a:b]))
            )
            if key > best_key:
                best, best_key = j, key
        return best

    def _count_node(self) -> None:
        self.nodes += 1
        late = self.nodes & 63 == 0 and self._out_of_time()
        if self.nodes > self._node_limit or late:
            raise OutOfNodes

    def _everything(self, part: Part) -> int:
        mask = 0
        for j in part:
            mask |= self.state.cliques.range_mask[j] | self.state.low_why[j]
        return mask
