"""Preload-order permutation (paper §4.4): the induction in every promising order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from elkhound.heuristics.schedule.inductive import Induction
from elkhound.heuristics.schedule.layers import Layers, excerpt, layer_kinds
from elkhound.heuristics.schedule.shares import Shares
from elkhound.heuristics.schedule.suffix_tree import SuffixTree
from elkhound.model.allocation import Allocator
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.timing import timeline

LEAST_SHARE_PERMILLE = 10
"""What of its layer's preload cycles an operator must have to leave its place."""

MOST_MOVABLE = 12
"""Operators that leave their places together; a layer of more is cut into parts."""

MOST_ORDERS = 1000
"""Orders tried at most, over all kinds of layers."""

FINALISTS = 16
"""Orders of a kind that are planned whole after an excerpt ranked them."""

EXCERPT_LAYERS = 2
"""Layers of each kind in the excerpt."""

Order = tuple[int, ...]
"""The preloads of a layer in preload order, counted from its first operator."""


@dataclass(frozen=True, slots=True)
class Part:
    """Equal layers, or equal parts of them, that get the same order.

    Parameters
    ----------
    layers : tuple of range
        Where they lie.
    movable : tuple of int
        Operators that may leave their place, counted from the first.
    """

    layers: Layers
    movable: Order


class OrderSearch:
    """Tries orders inside the layers, the same one in equal layers, and keeps the best.

    Execution order comes first. Then, for one kind of layer after the other, the orders
    of its suffix tree are planned, those with the fewest moves first, while the other
    kinds keep the best found so far. A problem of many layers is ranked on an excerpt
    with a few layers of each kind, and the best orders there are planned whole.

    Parameters
    ----------
    allocator : Allocator
        Shares the SRAM at every step.
    may_go_on : callable
        Given the allocator calls so far, whether the limits leave anything to do.
    least_share_permille : int
        An operator leaves its place only if its shortest preload has this share of the
        shortest preloads of its layer.
    most_orders : int
        Orders tried at most; execution order is not counted.
    """

    def __init__(
        self,
        problem: ScheduleProblem,
        allocator: Allocator,
        may_go_on: Callable[[int], bool] = lambda calls: True,
        *,
        least_share_permille: int = LEAST_SHARE_PERMILLE,
        most_orders: int = MOST_ORDERS,
    ) -> None:
        self._may_go_on = may_go_on
        self._most_orders = most_orders
        kinds = layer_kinds(problem)
        short, short_kinds = excerpt(problem, kinds, EXCERPT_LAYERS)
        self._whole = _Planner(
            Shares(problem, allocator),
            parts(problem, kinds, least_share_permille),
            self._within_limits,
        )
        self._ranking = self._whole
        if len(short.operators) < len(problem.operators):
            self._ranking = _Planner(
                Shares(short, allocator),
                parts(short, short_kinds, least_share_permille),
                self._within_limits,
            )
        self._makespan = 0
        self._orders: dict[int, Order] = {}
        self.plan: Schedule | None = None
        """The best so far."""
        self.orders_tried = 0
        self.branches_cut = 0

    def run(self) -> None:
        """Search until every order is tried or a limit is met."""
        self._keep(self._whole.plan({}), {})
        if self.plan is None:
            return
        several = [
            k for k, part in enumerate(self._whole.parts) if len(part.movable) > 1
        ]
        for kind in several:
            self._search(kind, self._most_orders // len(several))

    @property
    def allocator_calls(self) -> int:
        """Calls of the allocator, over all orders."""
        return sum(shares.allocator_calls for shares in self._shares)

    @property
    def memo_hits(self) -> int:
        """Questions that an earlier answer settled."""
        return sum(shares.memo_hits for shares in self._shares)

    @property
    def edit_distance(self) -> float:
        """How far the plan's preload order is from execution order, inside a layer.

        The mean over the layers that may be reordered; see `edit_distance`.
        """
        if self.plan is None:
            return 0.0
        distances = []
        for part in self._whole.parts:
            for layer in part.layers:
                pairs = [(g, j) for j in layer if (g := self.plan.gates[j]) is not None]
                order = [j for _, j in sorted(pairs)]
                distances.append(edit_distance(order, sorted(order)))
        return round(sum(distances) / len(distances), 2) if distances else 0.0

    @property
    def _shares(self) -> list[Shares]:
        planners = [self._whole]
        if self._ranking is not self._whole:
            planners.append(self._ranking)
        return [planner.shares for planner in planners]

    def _within_limits(self) -> bool:
        return self._may_go_on(self.allocator_calls)

    def _search(self, kind: int, most_orders: int) -> None:
        """Find the best order of one kind, the others as they are."""
        ranked: dict[Schedule, tuple[int, int, Order]] = {}
        others = self._orders
        for number, order in enumerate(self._candidates(kind, most_orders)):
            orders = others | {kind: order}
            found = self._ranking.plan(orders)
            self.orders_tried += 1
            if found is None:
                continue
            if self._ranking is self._whole:
                self._keep(found, orders)
            else:
                ranked.setdefault(found[1], (found[0], number, order))
        for _, _, order in sorted(ranked.values())[:FINALISTS]:
            if self._within_limits():
                orders = others | {kind: order}
                self._keep(self._whole.plan(orders), orders)

    def _candidates(self, kind: int, most_orders: int) -> Iterator[Order]:
        """Yield orders from the suffix tree after its first, that of execution."""
        part = self._ranking.parts[kind]
        layer = part.layers[-1]
        movable = frozenset(layer.start + j for j in part.movable)
        tree = SuffixTree(self._ranking.shares.problem, layer, movable)
        for order in islice(tree.orders(), 1, most_orders + 1):
            if not self._within_limits():
                break
            yield tuple(j - layer.start for j in order)
        self.branches_cut += tree.cut

    def _keep(
        self, found: tuple[int, Schedule] | None, orders: dict[int, Order]
    ) -> None:
        """Keep a plan of the whole problem if it is faster than all before."""
        if found is not None and (self.plan is None or found[0] < self._makespan):
            self._makespan, self.plan = found
            self._orders = orders


class _Planner:
    """Plans one problem in a given order.

    Parameters
    ----------
    shares : Shares
        The problem, and what the allocator answered so far.
    parts : list of Part
        What is reordered.
    may_go_on : callable
        Whether the limits leave anything to do.
    """

    def __init__(
        self, shares: Shares, parts: list[Part], may_go_on: Callable[[], bool]
    ) -> None:
        self.shares = shares
        self.parts = parts
        self._may_go_on = may_go_on

    def plan(self, orders: Mapping[int, Order]) -> tuple[int, Schedule] | None:
        """Return makespan and plan; None if the order forces what does not fit.

        Parameters
        ----------
        orders : mapping of int to Order
            Of each part by its number; those missing keep execution order.
        """
        problem = self.shares.problem
        streaming = problem.streaming
        order = list(streaming)
        for kind, inside in orders.items():
            for layer in self.parts[kind].layers:
                first = bisect_left(streaming, layer.start)
                order[first : first + len(inside)] = [layer.start + j for j in inside]
        induction = Induction(
            self.shares, tuple(order), lambda calls: self._may_go_on()
        )
        plan = induction.run()
        return None if plan is None else (timeline(problem, plan).makespan, plan)


def parts(
    problem: ScheduleProblem, kinds: Sequence[Layers], least_share_permille: int
) -> list[Part]:
    """Return what may be reordered: every kind of layer, in parts if it is long."""
    found = []
    for layers in kinds:
        first = layers[0]
        shortest = {
            i - first.start: min(o.preload_cycles for o in operator.options)
            for i in first
            if (operator := problem.operators[i]).streams
        }
        least = sum(shortest.values()) * least_share_permille
        movable = [i for i, cycles in shortest.items() if cycles * 1000 >= least]
        bounds = [0, *movable[MOST_MOVABLE::MOST_MOVABLE], len(first)]
        for start, stop in pairwise(bounds):
            found.append(
                Part(
                    tuple(range(r.start + start, r.start + stop) for r in layers),
                    tuple(i - start for i in movable if start <= i < stop),
                )
            )
    return found


def edit_distance(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the least number of insertions, deletions and replacements between them.

    Levenshtein's distance: moving one element past others counts two.
    """
    row = list(range(len(second) + 1))
    for count, element in enumerate(first, 1):
        before, row = row, [count]
        for k, other in enumerate(second):
            changed = before[k] + (element != other)
            row.append(min(changed, before[k + 1] + 1, row[k] + 1))
    return row[-1]
