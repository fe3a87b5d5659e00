"""Preload orders inside one layer, as a suffix tree (paper §4.4, figure 14).

The root is the end of the layer. A child of a node is the operator preloaded before
those on the way to the root, so that a path from a leaf to the root is an order. The
tree is grown the way the induction goes: from the last preload to the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from elkhound.model.schedule import ScheduleProblem


@dataclass(frozen=True, slots=True)
class _Node:
    """A suffix of an order.

    Parameters
    ----------
    left : tuple of int
        Operators preloaded before the suffix, in execution order.
    suffix : tuple of int
        Operators in preload order.
    moves : int
        Moves still to be made before the order is complete.
    """

    left: tuple[int, ...]
    suffix: tuple[int, ...]
    moves: int


class SuffixTree:
    """The orders of one layer's preloads that overflow the SRAM of no execute.

    The last free place takes any operator left that may move; one that may not move
    keeps its place. Once x has its place, all operators left are preloaded before it,
    and so those of them after x lie beside E_x and every execute up to their own. The
    branch ends where they do not fit, each at its smallest, beside the smallest option
    of one of these executes, or are more than K. What it ends, no plan can keep.

    Parameters
    ----------
    problem : ScheduleProblem
        Where the layer lies.
    layer : range
        Its operators.
    movable : frozenset of int
        Those that may leave their place; all have a preload.
    """

    def __init__(
        self, problem: ScheduleProblem, layer: range, movable: frozenset[int]
    ) -> None:
        operators = {i: problem.operators[i] for i in layer}
        self._places = tuple(i for i in layer if operators[i].streams)
        self._movable = movable
        self._sram_bytes = problem.sram_bytes
        self._most = problem.max_outstanding
        self._execute_bytes = {i: o.least_bytes for i, o in operators.items()}
        self._preload_bytes = {
            j: min(option.preload_bytes for option in operators[j].options)
            for j in self._places
        }
        self.cut = 0
        """Branches ended so far, where a move led to them."""

    def orders(self) -> Iterator[tuple[int, ...]]:
        """Yield every order, those with the fewest moves first.

        A move is a place that does not take the last operator left. So the first order
        is that of execution.
        """
        for moves in range(max(len(self._movable), 1)):
            nodes = [_Node(self._places, (), moves)]
            while nodes:
                node = nodes.pop()
                if node.left:
                    nodes += reversed(self._children(node))
                elif node.moves == 0:
                    yield node.suffix

    def _children(self, node: _Node) -> list[_Node]:
        """Return the nodes with one more operator before the suffix."""
        place = self._places[len(node.left) - 1]
        if place not in self._movable:
            candidates = [place]
        else:
            candidates = [j for j in reversed(node.left) if j in self._movable]
            if node.moves >= len(candidates):
                return []  # too few places are left for so many moves
            if node.moves == 0:
                del candidates[1:]
        children = []
        for number, j in enumerate(candidates):
            left = tuple(k for k in node.left if k != j)
            moves = node.moves - (number > 0)
            if self._fits(j, left):
                children.append(_Node(left, (j, *node.suffix), moves))
            elif moves == 0:  # seen once: it is met again when more moves are made
                self.cut += 1
        return children

    def _fits(self, x: int, before: tuple[int, ...]) -> bool:
        """Whether what is preloaded before P_x and used after E_x can lie in SRAM."""
        waiting = [j for j in before if j > x]
        if self._most is not None and len(waiting) > self._most:
            return False
        waiting_bytes = 0
        for i in reversed(range(x, waiting[-1] if waiting else x)):
            if waiting and waiting[-1] == i + 1:
                waiting_bytes += self._preload_bytes[waiting.pop()]
            if self._execute_bytes[i] + waiting_bytes > self._sram_bytes:
                return False
        return True
