"""The choice of partial mappings as a MILP through PuLP, on HiGHS or CBC.

The variables are those of `cp_sat`: y_a, x_o, past_ed and ahead_ed. Bits are counted in
capacities of their memory, so that every row is of the size of 1; a solution that does
not fit to the bit is cut off and the rest searched again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

from elkhound.model.fusion.problem import FusionPlan, FusionProblem, FusionResult
from elkhound.model.limits import Limits
from elkhound.model.result import Status
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.backends import pulp
from elkhound.solvers.fusion.choice import Choice, Option, at
from elkhound.solvers.fusion.exact import Answer, Ceiling, solved
from elkhound.solvers.fusion.stages import Arc

Terms = list[tuple[float, pulp.Variable]]

_REACH = 2.0**20
"""Reach of the sum of costs in the model."""

_HIDDEN = 1e-3
"""What tolerances of a solver may hide of its bound: 1e-9 of the reach."""

_ROUNDING = 1e-9  # relative; of sums of floats in different orders


class Milp:
    """Minimise Σ cost_o x_o over paths of the network that fit the memories.

    Parameters
    ----------
    backend : str
        `highs` or `cbc`.
    """

    def __init__(self, backend: str = pulp.DEFAULT) -> None:
        self.name = "milp" if backend == pulp.DEFAULT else f"milp:backend={backend}"
        self._backend = backend

    def solve(self, problem: FusionProblem, limits: Limits[FusionPlan]) -> FusionResult:
        """Return the optimum or the front with proof, or what is known at the limit.

        Raises
        ------
        InfeasibleError
            An einsum has no mapping at all; names the memory, its need and its size.
        BadInputError
            The backend is not installed.
        """
        pulp.require(self._backend)
        version = pulp.versions()[self._backend]
        return solved(self.name, version, problem, limits, self._least)

    def _least(
        self,
        choice: Choice,
        criterion: str,
        ceiling: Ceiling | None,
        limits: Limits[FusionPlan],
        seconds: float,
    ) -> Answer:
        """Minimise one criterion, the other under a ceiling."""
        watch = Stopwatch(seconds)
        model = _Model(choice)
        model.take_one_path()
        model.take_an_option_of_the_class()
        model.carry_past()
        model.carry_ahead()
        model.keep_within_capacity()
        if ceiling is not None:
            model.keep_under(ceiling)
        model.minimise(criterion)
        silent = replace(limits, progress=None)  # it would hear the model's units
        while True:
            left = watch.remaining_seconds
            answer = pulp.run(model.milp, silent, self._backend, seconds=left)
            taken = model.taken(answer)
            if taken is None or model.fits(taken, answer):
                break
            model.cut_off(taken)
            taken = None
            if watch.expired:
                break
        return Answer(
            taken=None if taken is None else tuple(taken),
            bound=model.bound(criterion, answer.bound),
            is_infeasible=answer.status is Status.INFEASIBLE,
            is_complete=answer.status in (Status.OPTIMAL, Status.INFEASIBLE),
            statistics=answer.statistics,
        )


class _Model:
    """The formulation."""

    def __init__(self, choice: Choice) -> None:
        self.milp = pulp.Model("fusion")
        self.choice = choice
        self.einsums = range(len(choice.stages))
        self.depths = range(1, choice.deepest + 1)
        self.memories = range(len(choice.capacity_bits))
        self.y = [
            [self.milp.binary(f"y_{e}_{a}") for a in range(len(stage.arcs))]
            for e, stage in enumerate(choice.stages)
        ]
        self.x = [
            [self.milp.binary(f"x_{e}_{o}") for o in range(len(own))]
            for e, own in enumerate(choice.options)
        ]
        self.past: dict[tuple[int, int, int], pulp.Variable] = {}
        self.ahead: dict[tuple[int, int, int], pulp.Variable] = {}

    def take_one_path(self) -> None:
        """Require Σ_a y_a = 1 per einsum, and at every interface Σ_in y = Σ_out y."""
        for e in self.einsums:
            self.milp.equal([(1, y) for y in self.y[e]], 1)
        for e in self.einsums[:-1]:
            flow: dict[int, Terms] = defaultdict(list)
            for arc, y in self._arcs(e):
                flow[arc.head].append((1, y))
            for arc, y in self._arcs(e + 1):
                flow[arc.tail].append((-1, y))
            for terms in flow.values():
                self.milp.equal(terms, 0)

    def take_an_option_of_the_class(self) -> None:
        """Require Σ_{o of class g} x_o = Σ_{a of class g} y_a."""
        for e in self.einsums:
            balance: dict[int, Terms] = defaultdict(list)
            for option, x in self._options(e):
                balance[option.pick.group].append((1, x))
            for arc, y in self._arcs(e):
                balance[arc.group].append((-1, y))
            for terms in balance.values():
                self.milp.equal(terms, 0)

    def carry_past(self) -> None:
        """Require past_{e+1,d} ≥ past_ed + held_ed + retired_ed − (1 − s_ed)."""
        for m, d in self._places():
            before: Terms = []
            for e in self.einsums[:-1]:
                own = self._held(e, m, d) + self._retired(e, m, d)
                before = self._carried(self.past, (e + 1, d, m), before + own, e)

    def carry_ahead(self) -> None:
        """Require ahead_ed ≥ ahead_fd + held_fd + opened_fd − (1 − s_ed), f = e + 1."""
        for m, d in self._places():
            after: Terms = []
            for e in reversed(self.einsums[:-1]):
                own = self._held(e + 1, m, d) + self._opened(e + 1, m, d)
                after = self._carried(self.ahead, (e, d, m), after + own, e)

    def _carried(
        self,
        into: dict[tuple[int, int, int], pulp.Variable],
        key: tuple[int, int, int],
        terms: Terms,
        e: int,
    ) -> Terms:
        """Require amount ≥ terms − (1 − s_ed) with s_ed = Σ y of arcs that keep d open.

        Whatever is carried fits the memory, so 1 is enough to lift the row.
        """
        d = key[1]
        open_loops = self.choice.stages[e].open_loops
        opens = [y for arc, y in self._arcs(e) if open_loops[arc.head] >= d]
        if not opens or not terms:
            return []
        name = "past" if into is self.past else "ahead"
        amount = self.milp.continuous(f"{name}_{'_'.join(map(str, key))}", 0, 1)
        keeps: Terms = [(1, y) for y in opens]
        self.milp.at_most([*terms, (-1, amount), *keeps], 1)
        into[key] = amount
        return [(1, amount)]

    def keep_within_capacity(self) -> None:
        """Require H_e ≤ 1 for every memory while every einsum e runs.

        H_e = private_e + live_e + Σ_{f≠e} persist_f + Σ_d (past_ed + ahead_ed).
        """
        for m in self.memories:
            for e in self.einsums:
                terms = self._private(e, m) + self._live(e, m)
                for f in self.einsums:
                    terms += self._held(f, m, 0) if f != e else []
                    terms += self._opened(f, m, 0) if f > e else []
                for d in self.depths:
                    for carried in (self.past, self.ahead):
                        if (e, d, m) in carried:
                            terms.append((1, carried[e, d, m]))
                if terms:
                    self.milp.at_most(terms, 1)

    def keep_under(self, ceiling: Ceiling) -> None:
        """Require Σ cost_o x_o ≤ ceiling, both in units of the ceiling's slack."""
        slack = ceiling.most - self.choice.least(ceiling.criterion)
        unit = max(slack, abs(ceiling.most) * _ROUNDING) or 1.0  # all cost nothing
        terms = self._costs(ceiling.criterion, unit)
        self.milp.at_most(terms, slack / unit + _ROUNDING)

    def minimise(self, criterion: str) -> None:
        """Minimise Σ cost_o x_o above the least, scaled to a reach of `_REACH`."""
        self.milp.minimise(self._costs(criterion, self._unit(criterion)))

    def bound(self, criterion: str, found: float | None) -> float | None:
        """Return the dual bound as a cost, less what tolerances may hide."""
        if found is None or not math.isfinite(found):
            return None
        units = max(0.0, found - _HIDDEN)
        return self.choice.least(criterion) + units * self._unit(criterion)

    def _unit(self, criterion: str) -> float:
        reach = sum(
            max(o.cost(criterion) for o in own) - min(o.cost(criterion) for o in own)
            for own in self.choice.options
        )
        return reach / _REACH or 1.0

    def _costs(self, criterion: str, unit: float) -> Terms:
        terms: Terms = []
        for e in self.einsums:
            least = min(o.cost(criterion) for o in self.choice.options[e])
            terms += [
                ((option.cost(criterion) - least) / unit, x)
                for option, x in self._options(e)
            ]
        return terms

    def cut_off(self, taken: list[int]) -> None:
        """Require Σ x of this choice ≤ n − 1."""
        chosen = [(1, own[o]) for own, o in zip(self.x, taken, strict=True)]
        self.milp.at_most(chosen, len(chosen) - 1)

    def taken(self, answer: pulp.MilpAnswer) -> list[int] | None:
        """Read the option of every einsum; None without a solution."""
        if not answer.values:
            return None
        return [_largest(own, answer) for own in self.x]

    def fits(self, taken: list[int], answer: pulp.MilpAnswer) -> bool:
        """Whether the choice fits the memories to the bit."""
        arcs = [
            stage.arcs[_largest(own, answer)]
            for stage, own in zip(self.choice.stages, self.y, strict=True)
        ]
        options = [own[o] for own, o in zip(self.choice.options, taken, strict=True)]
        return self.choice.fits(options, arcs)

    def _places(self) -> Iterator[tuple[int, int]]:
        return ((m, d) for m in self.memories for d in self.depths)

    def _arcs(self, e: int) -> Iterator[tuple[Arc, pulp.Variable]]:
        return zip(self.choice.stages[e].arcs, self.y[e], strict=True)

    def _options(self, e: int) -> Iterator[tuple[Option, pulp.Variable]]:
        return zip(self.choice.options[e], self.x[e], strict=True)

    def _private(self, e: int, m: int) -> Terms:
        return self._of_options(e, m, lambda option: option.private_bits[m])

    def _held(self, e: int, m: int, d: int) -> Terms:
        return self._of_options(e, m, lambda option: at(option.held_bits[m], d))

    def _live(self, e: int, m: int) -> Terms:
        return self._of_arcs(e, m, lambda arc: arc.held.live[m])

    def _opened(self, e: int, m: int, d: int) -> Terms:
        return self._of_arcs(e, m, lambda arc: at(arc.held.opened[m], d))

    def _retired(self, e: int, m: int, d: int) -> Terms:
        return self._of_arcs(e, m, lambda arc: at(arc.held.retired[m], d))

    def _of_options(self, e: int, m: int, bits: Callable[[Option], int]) -> Terms:
        size = self.choice.capacity_bits[m]
        return [(bits(o) / size, x) for o, x in self._options(e) if bits(o)]

    def _of_arcs(self, e: int, m: int, bits: Callable[[Arc], int]) -> Terms:
        size = self.choice.capacity_bits[m]
        return [(bits(a) / size, y) for a, y in self._arcs(e) if bits(a)]


def _largest(own: list[pulp.Variable], answer: pulp.MilpAnswer) -> int:
    return max(range(len(own)), key=lambda number: answer.value(own[number]))
