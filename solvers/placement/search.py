"""Search: lowest-first branch and bound with restarts, at a capacity or for the least.

At the lowest bound of a part a buffer is placed, or delayed until it rests on another;
floors and remaining sizes on maximal cliques cut (`state`), failures tell which
decisions they depend on (`branching`), and weights drawn anew lead every run
(`weights`, `restarts`). A run that ends by itself is a proof.
"""

from __future__ import annotations

from math import inf

from elkhound.model.limits import Limits
from elkhound.model.placement import Placement, PlacementProblem, height_bytes
from elkhound.model.result import (
    Bound,
    BoundKind,
    OrderClass,
    Result,
    Status,
    own_version,
)
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.placement.cliques import Cliques, cliques_of
from elkhound.solvers.placement.restarts import Answer, Restarts

_FIRST_NODES = 20_000  # at a height, before another one is tried; then twice as many


class Search:
    """Place-or-delay search; `deterministic_work` counts nodes."""

    name = "search"

    def solve(
        self, problem: PlacementProblem, limits: Limits[Placement]
    ) -> Result[Placement]:
        """Return a placement within the capacity, the lowest one if asked for.

        INFEASIBLE is a proof; UNKNOWN says that none was found.
        """
        watch = Stopwatch(limits.seconds)
        hunt = _Hunt(problem, limits, watch)
        status = Status.UNKNOWN
        answer = hunt.start()
        if answer is Answer.CANNOT_FIT:
            status = Status.INFEASIBLE
        elif hunt.plan is not None:
            if problem.minimise:
                hunt.lower()
            proved = hunt.height <= hunt.least
            status = Status.OPTIMAL if proved else Status.FEASIBLE
        unit = hunt.cliques.unit_bytes
        plan = hunt.plan
        statistics: dict[str, int | float | str] = {
            "nodes": hunt.nodes,
            "runs": hunt.runs,
        }
        if status is Status.UNKNOWN:
            statistics["reason"] = f"found none in {hunt.nodes} nodes"
        return Result(
            method=self.name,
            status=status,
            plan=plan,
            objective=None if plan is None else height_bytes(problem, plan),
            bound=Bound(hunt.least * unit, BoundKind.PROOF, OrderClass.free()),
            seed=limits.seed,
            wall_seconds=watch.wall_seconds,
            cpu_seconds=watch.cpu_seconds,
            version=own_version(),
            statistics=statistics,
        )


class _Hunt:
    """What is known of the height, in units: least ≤ optimum ≤ height.

    Parameters
    ----------
    problem : PlacementProblem
        What to place.
    limits : Limits
        Seed, gap, nodes and a plan to start from.
    watch : Stopwatch
        Ends it.
    """

    def __init__(
        self,
        problem: PlacementProblem,
        limits: Limits[Placement],
        watch: Stopwatch,
    ) -> None:
        self.problem = problem
        self.limits = limits
        self.watch = watch
        self.cliques: Cliques = cliques_of(problem.buffers)
        self.least = self.cliques.liveness
        self.height = 0
        self.plan: Placement | None = None
        self._searches: dict[int, Restarts] = {}

    @property
    def nodes(self) -> int:
        """Nodes at all heights."""
        return sum(search.nodes for search in self._searches.values())

    @property
    def runs(self) -> int:
        """Runs at all heights."""
        return sum(search.runs for search in self._searches.values())

    def start(self) -> Answer:
        """Find a first placement; a minimisation may start from a given one."""
        capacity = self.problem.capacity_bytes // self.cliques.unit_bytes
        given = self.limits.warm_start
        if self.problem.minimise and given is not None:
            height = height_bytes(self.problem, given)
            if height <= self.problem.capacity_bytes:
                self.plan = given
                self.height = -(-height // self.cliques.unit_bytes)
                return Answer.FITS
        return self._search(capacity, inf)

    def lower(self) -> None:
        """Try the least height, then halve what is open; patience doubles per round.

        Only a proof raises `least`; a height without an answer is taken up again in
        the next round.
        """
        patience = _FIRST_NODES
        target = hope = self.least  # no answer below `hope` in this round
        while not self._close_enough() and not self._spent():
            if self._search(target, patience) is not Answer.FITS:
                hope = target + 1
            if hope < self.height:
                target = (hope + self.height - 1) // 2
            else:
                patience *= 2
                target = hope = self.least

    def _search(self, capacity: int, nodes: float) -> Answer:
        """Search at a height, and keep what comes of it."""
        search = self._searches.get(capacity)
        if search is None:
            search = Restarts(self.cliques, capacity, self.limits.seed, self._late)
            self._searches[capacity] = search
        work = self.limits.deterministic_work
        left = inf if work is None else work - self.nodes
        answer = search.search(min(nodes, left))
        if answer is Answer.FITS:
            self._keep(search.offsets)
        elif answer is Answer.CANNOT_FIT:
            self.least = max(self.least, capacity + 1)
        return answer

    def _keep(self, offsets: tuple[int, ...]) -> None:
        all_offsets = [0] * len(self.problem.buffers)
        for place, offset in zip(self.cliques.index, offsets, strict=True):
            all_offsets[place] = offset * self.cliques.unit_bytes
        self.plan = Placement(tuple(all_offsets))
        height = height_bytes(self.problem, self.plan)
        self.height = height // self.cliques.unit_bytes

    def _close_enough(self) -> bool:
        gap = self.height - self.least
        return gap <= self.limits.relative_gap * self.height

    def _late(self) -> bool:
        return self.watch.expired

    def _spent(self) -> bool:
        work = self.limits.deterministic_work
        return self.watch.expired or (work is not None and self.nodes >= work)
