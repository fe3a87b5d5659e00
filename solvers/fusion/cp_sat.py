"""The choice of partial mappings on CP-SAT.

Variables: y_a = 1 if einsum e passes arc a of the network, x_o = 1 if it takes option o
(a row in a class); s_ed = 1 if d loops or more stay open after e; past_ed and ahead_ed,
the bits that einsums before and after e hold directly under the d-th loop that they
share with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ortools.sat.python import cp_model

from elkhound.model.fusion.problem import FusionPlan, FusionProblem, FusionResult
from elkhound.model.limits import Limits
from elkhound.model.result import Status
from elkhound.solvers.backends import cp_sat
from elkhound.solvers.backends.levels import Expression, Levels
from elkhound.solvers.backends.scaling import ACTIVITY_LIMIT, unit_for
from elkhound.solvers.fusion.choice import Choice, at
from elkhound.solvers.fusion.exact import Answer, Ceiling, solved
from elkhound.solvers.fusion.scale import Scale
from elkhound.solvers.fusion.stages import Arc

_MOST_UNITS = ACTIVITY_LIMIT // 4
"""Reach of a sum of costs."""


class CpSat:
    """Minimise Σ cost_o x_o over paths of the network that fit the memories.

    Costs are integers in units of at most 2^-29 of their reach, rounded down; what is
    called optimal is within 1e-6 of a bound that counts the rounding.
    """

    name = "cp-sat"

    def solve(self, problem: FusionProblem, limits: Limits[FusionPlan]) -> FusionResult:
        """Return the optimum or the front with proof, or what is known at the limit.

        Raises
        ------
        InfeasibleError
            An einsum has no mapping at all; names the memory, its need and its size.
        """
        return solved(self.name, cp_sat.VERSION, problem, limits, _least)


def _least(
    choice: Choice,
    criterion: str,
    ceiling: Ceiling | None,
    limits: Limits[FusionPlan],
    seconds: float,
) -> Answer:
    """Minimise one criterion, the other under a ceiling."""
    model = _Model(choice)
    model.take_one_path()
    model.take_an_option_of_the_class()
    model.carry_past()
    model.carry_ahead()
    model.keep_within_capacity()
    if ceiling is not None:
        model.keep_under(ceiling)
    scale = model.minimise(criterion)
    answer = cp_sat.run(model.cp, limits, seconds)
    bound = None
    if answer.bound is not None and model.unit.exact:
        bound = scale.total(answer.bound)
    return Answer(
        taken=model.taken(answer),
        bound=bound,
        is_infeasible=answer.status is Status.INFEASIBLE and model.unit.exact,
        is_complete=answer.status in (Status.OPTIMAL, Status.INFEASIBLE),
        statistics=answer.statistics,
    )


class _Model:
    """The formulation; bits are counted in granules."""

    def __init__(self, choice: Choice) -> None:
        self.cp = cp_model.CpModel()
        self.choice = choice
        self.einsums = range(len(choice.stages))
        self.memories = range(len(choice.capacity_bits))
        self.depths = range(1, choice.deepest + 1)
        self.unit = unit_for(_amounts(choice), 8 * max(choice.capacity_bits, default=0))
        self.capacity = [self.unit.down(bits) for bits in choice.capacity_bits]
        self.y = [
            [self.cp.new_bool_var(f"y_{e}_{a}") for a in range(len(stage.arcs))]
            for e, stage in enumerate(choice.stages)
        ]
        self.x = [
            [self.cp.new_bool_var(f"x_{e}_{o}") for o in range(len(own))]
            for e, own in enumerate(choice.options)
        ]
        self.past: dict[tuple[int, int, int], Expression] = {}
        self.ahead: dict[tuple[int, int, int], Expression] = {}

    def take_one_path(self) -> None:
        """Require Σ_a y_a = 1 per einsum, and at every interface Σ_in y = Σ_out y."""
        for e in self.einsums:
            self.cp.add_exactly_one(self.y[e])
        for e in self.einsums[:-1]:
            into: dict[int, list[cp_model.IntVar]] = defaultdict(list)
            out: dict[int, list[cp_model.IntVar]] = defaultdict(list)
            for arc, y in zip(self.choice.stages[e].arcs, self.y[e], strict=True):
                into[arc.head].append(y)
            following = self.choice.stages[e + 1].arcs
            for arc, y in zip(following, self.y[e + 1], strict=True):
                out[arc.tail].append(y)
            for interface in sorted(into.keys() | out.keys()):
                self.cp.add(sum(into[interface]) == sum(out[interface]))

    def take_an_option_of_the_class(self) -> None:
        """Require Σ_{o of class g} x_o = Σ_{a of class g} y_a."""
        for e in self.einsums:
            options: dict[int, list[cp_model.IntVar]] = defaultdict(list)
            arcs: dict[int, list[cp_model.IntVar]] = defaultdict(list)
            for option, x in zip(self.choice.options[e], self.x[e], strict=True):
                options[option.pick.group].append(x)
            for arc, y in zip(self.choice.stages[e].arcs, self.y[e], strict=True):
                arcs[arc.group].append(y)
            for group, own in arcs.items():
                self.cp.add(sum(options[group]) == sum(own))
            self.cp.add_exactly_one(self.x[e])

    def carry_past(self) -> None:
        """Require past_{e+1,d} ≥ past_ed + held_ed + retired_ed if s_ed."""
        for m in self.memories:
            for d in self.depths:
                past: Expression = 0
                for e in self.einsums[:-1]:
                    own = self._held(e, m, d) + self._of_arcs(
                        e, [at(arc.held.retired[m], d) for arc in self._arcs(e)]
                    )
                    past = self._carried(past + own, e, d, m)
                    self.past[e + 1, d, m] = past

    def carry_ahead(self) -> None:
        """Require ahead_ed ≥ ahead_{e+1,d} + held_{e+1,d} + opened_{e+1,d} if s_ed."""
        for m in self.memories:
            for d in self.depths:
                ahead: Expression = 0
                for e in reversed(self.einsums[:-1]):
                    own = self._held(e + 1, m, d) + self._of_arcs(
                        e + 1, [at(arc.held.opened[m], d) for arc in self._arcs(e + 1)]
                    )
                    ahead = self._carried(ahead + own, e, d, m)
                    self.ahead[e, d, m] = ahead

    def _carried(self, bits: Expression, e: int, d: int, m: int) -> Expression:
        """Return a new amount that is at least `bits` if d loops stay open after e."""
        opens = [
            y
            for arc, y in zip(self._arcs(e), self.y[e], strict=True)
            if self.choice.stages[e].open_loops[arc.head] >= d
        ]
        if not opens or (isinstance(bits, int) and bits == 0):
            return 0
        amount = self.cp.new_int_var(0, self.capacity[m], f"held_{e}_{d}_{m}")
        keeps = self.cp.new_bool_var(f"s_{e}_{d}")
        self.cp.add(sum(opens) == keeps)
        self.cp.add(amount >= bits).only_enforce_if(keeps)
        return amount

    def keep_within_capacity(self) -> None:
        """Require H_e ≤ capacity of every memory while every einsum e runs.

        H_e = private_e + live_e + Σ_{f≠e} persist_f + Σ_d (past_ed + ahead_ed).
        """
        for m in self.memories:
            persist = [self._held(e, m, 0) for e in self.einsums]
            opened = [
                self._of_arcs(e, [at(a.held.opened[m], 0) for a in self._arcs(e)])
                for e in self.einsums
            ]
            for e in self.einsums:
                need = self._of_options(
                    e, [o.private_bits[m] for o in self.choice.options[e]]
                )
                need += self._of_arcs(e, [arc.held.live[m] for arc in self._arcs(e)])
                need += sum(persist[f] for f in self.einsums if f != e)
                need += sum(opened[e + 1 :])
                for d in self.depths:
                    need += self.past.get((e, d, m), 0) + self.ahead.get((e, d, m), 0)
                self.cp.add(need <= self.capacity[m])

    def keep_under(self, ceiling: Ceiling) -> None:
        """Require Σ cost_o x_o ≤ ceiling, costs rounded down."""
        scale = self._scale(ceiling.criterion)
        self.cp.add(self._cost(ceiling.criterion, scale) <= scale.room(ceiling.most))

    def minimise(self, criterion: str) -> Scale:
        """Minimise Σ cost_o x_o."""
        scale = self._scale(criterion)
        self.cp.minimize(self._cost(criterion, scale))
        return scale

    def _scale(self, criterion: str) -> Scale:
        costs = [[o.cost(criterion) for o in own] for own in self.choice.options]
        return Scale.of(costs, _MOST_UNITS)

    def _cost(self, criterion: str, scale: Scale) -> Expression:
        return sum(
            self._chosen(
                [scale.down(e, o.cost(criterion)) for o in own], self.x[e], criterion
            )
            for e, own in enumerate(self.choice.options)
        )

    def _arcs(self, e: int) -> Sequence[Arc]:
        return self.choice.stages[e].arcs

    def _held(self, e: int, m: int, d: int) -> Expression:
        own = [at(option.held_bits[m], d) for option in self.choice.options[e]]
        return self._of_options(e, own)

    def _of_options(self, e: int, bits: list[int]) -> Expression:
        return self._chosen([self.unit.up(b) for b in bits], self.x[e], f"option{e}")

    def _of_arcs(self, e: int, bits: list[int]) -> Expression:
        return self._chosen([self.unit.up(b) for b in bits], self.y[e], f"arc{e}")

    def _chosen(
        self, values: list[int], literals: list[cp_model.IntVar], name: str
    ) -> Expression:
        """Return the value that goes with the literal taken, as a safe sum."""
        if not any(values):
            return 0
        if sum(map(abs, values)) < ACTIVITY_LIMIT // 8:
            return cp_model.LinearExpr.weighted_sum(literals, values)
        return Levels(self.cp, name, values, literals).amount()

    def taken(self, answer: cp_sat.CpSatAnswer) -> tuple[int, ...] | None:
        """Read the option of every einsum; None without a solution."""
        if not answer.solution:
            return None
        return tuple(
            next(number for number, x in enumerate(own) if answer.value(x))
            for own in self.x
        )


def _amounts(choice: Choice) -> list[int]:
    """Return all bits that the model adds up."""
    found: set[int] = set()
    for own in choice.options:
        for option in own:
            found.update(option.private_bits)
            found.update(b for bits in option.held_bits for b in bits)
    for stage in choice.stages:
        for arc in stage.arcs:
            found.update(map(abs, arc.held.live))
            for by_memory in (arc.held.opened, arc.held.retired):
                found.update(abs(b) for bits in by_memory for b in bits)
    return sorted(found)
