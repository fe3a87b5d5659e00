"""The CP-SAT gate model of the schedule problem (docs/exact-methods.md).

No time index, no cumulative, no permutation: a schedule is its gates and options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import IntVar

from elkhound.model.result import OrderClass
from elkhound.model.schedule import Contention, Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.backends.levels import Expression, Levels
from elkhound.solvers.schedule.amounts import PLAIN_SUM_LIMIT, Amounts
from elkhound.solvers.schedule.reduce import earliest_gates

Issued = IntVar | int
"""y_ji: a Boolean variable, or 0 or 1 where it is known."""


class GateModel:
    """Variables, constraints, objective and read-back of the gate model.

    Parameters
    ----------
    problem : ScheduleProblem
        Reduced: every option fits.
    amounts : Amounts
        Its numbers in granules and ticks.
    order : OrderClass
        Identity, a window, or free.
    horizon : int
        Ticks by which the schedule must end; no shorter than some plan of the class.
    stopwatch : Stopwatch
        Building stops with `OutOfTime` at its limit.
    """

    def __init__(
        self,
        problem: ScheduleProblem,
        amounts: Amounts,
        order: OrderClass,
        horizon: int,
        stopwatch: Stopwatch,
    ) -> None:
        self.problem = problem
        self.amounts = amounts
        self.order = order
        self.horizon = horizon
        self.stopwatch = stopwatch
        self.count = len(problem.operators)
        self.streaming = problem.streaming
        self.earliest = earliest_gates(problem, order)
        self.model = cp_model.CpModel()
        self._add_variables()
        self._relate_gates()
        self._fit_into_sram()
        self._limit_outstanding()
        self._lengthen_executes()
        self._execute_in_order()
        self._preload_after_gate()
        self._preload_one_by_one()
        self._cut_by_prefixes()
        self.model.minimize(self.execute_end[-1])

    def issued(self, j: int, i: int) -> Issued:
        """Return y_ji = [g_j ≤ i]."""
        first = self.earliest[j]
        if first is None or i < first:
            return 0
        return 1 if i >= j else self.gate_literals[j, i]

    def fix_gates(self, gates: Mapping[int, int]) -> None:
        """g_j = gate: y_ji = [gate ≤ i]; no schedule where SRAM or K forbid it."""
        for j, gate in gates.items():
            for i in range(j):
                wanted, issued = gate <= i, self.gate_literals.get((j, i))
                if issued is not None:
                    self.model.add(issued == int(wanted))
                elif wanted:  # earlier than the earliest gate there can be
                    self.model.add_bool_or([])

    def may_wait(self, i: int) -> list[int]:
        """Return every j > i whose preload may be outstanding during E_i."""
        return [
            j
            for j in self.streaming
            if j > i and (first := self.earliest[j]) is not None and first <= i
        ]

    def _add_variables(self) -> None:
        model, amounts = self.model, self.amounts
        self.chosen: list[list[IntVar]] = []
        self.execute_end: list[IntVar] = []
        self.duration: list[IntVar] = []
        self.preload_start: dict[int, IntVar] = {}
        self.preload_end: dict[int, IntVar] = {}
        self.gate_literals: dict[tuple[int, int], IntVar] = {}
        self.totals: list[tuple[int, tuple[int, ...], Levels]] = []
        for i, operator in enumerate(self.problem.operators):
            self.stopwatch.check()
            options = range(len(operator.options))
            chosen = [model.new_bool_var(f"x{i},{q}") for q in options]
            model.add_exactly_one(chosen)
            self.chosen.append(chosen)
            least = min(amounts.t[i])
            self.execute_end.append(model.new_int_var(0, self.horizon, f"EE{i}"))
            self.duration.append(model.new_int_var(least, self.horizon, f"D{i}"))
        for j in self.streaming:
            self.preload_start[j] = model.new_int_var(0, self.horizon, f"PS{j}")
            self.preload_end[j] = model.new_int_var(0, self.horizon, f"PE{j}")
            for i in range(self.earliest[j] or 0, j):
                self.gate_literals[j, i] = model.new_bool_var(f"y{j},{i}")
        self.waiting = {
            j: Levels(model, f"preload{j}", amounts.preload[j], self.chosen[j])
            for j in self.streaming
        }

    def _total(self, i: int, values: Sequence[int]) -> Expression:
        """Return Σ_q value_q x_iq, written from the least value on.

        In steps where the plain sum over many slow options could overflow.
        """
        if sum(values) >= PLAIN_SUM_LIMIT:
            levels = Levels(
                self.model, f"total{len(self.totals)}", values, self.chosen[i]
            )
            self.totals.append((i, tuple(values), levels))
            return levels.amount()
        least = min(values)
        terms = [
            (v - least, x)
            for v, x in zip(values, self.chosen[i], strict=True)
            if v > least
        ]
        return least + cp_model.LinearExpr.weighted_sum(
            [x for _, x in terms], [v for v, _ in terms]
        )

    def _relate_gates(self) -> None:
        """Once issued, issued for good: y_ji ≤ y_j,i+1.

        In identity order also y_ji ≤ y_pi for the streaming operator p before j.
        """
        for (j, i), literal in self.gate_literals.items():
            if i + 1 < j:
                self.model.add_implication(literal, self.gate_literals[j, i + 1])
        if self.order != OrderClass.identity():
            return
        for p, j in pairwise(self.streaming):
            for i in range(self.earliest[j] or 0, p):
                self.model.add_implication(
                    self.gate_literals[j, i], self.gate_literals[p, i]
                )

    def _fit_into_sram(self) -> None:
        """Reserve at issue: own_i + Σ_{j>i} y_ji preload_j ≤ C − r_i.

        z_jci ≥ y_ji + a_jc − 1 stands for the c-th step of a waiting preload's size.
        """
        model, amounts = self.model, self.amounts
        self.own: list[Levels] = []
        self.held: dict[tuple[int, int, int], IntVar] = {}
        for i in range(self.count):
            self.stopwatch.check()
            own = Levels(model, f"own{i}", amounts.own[i], self.chosen[i])
            self.own.append(own)
            occupied: Expression = own.amount()
            for j in self.may_wait(i):
                issued = self.gate_literals[j, i]
                levels = self.waiting[j]
                occupied += levels.least * issued
                for c, reached in enumerate(levels.reached):
                    held = model.new_bool_var(f"z{j},{c},{i}")
                    self.held[j, c, i] = held
                    model.add_bool_or(held, ~issued, ~reached)
                    occupied += levels.steps[c] * held
            model.add(occupied <= amounts.room[i]).with_name(f"sram{i}")

    def _limit_outstanding(self) -> None:
        """At most K preloads outstanding: Σ_{j>i} y_ji ≤ K."""
        limit = self.problem.max_outstanding
        if limit is None:
            return
        for i in range(self.count):
            waiting = [self.gate_literals[j, i] for j in self.may_wait(i)]
            if len(waiting) > limit:
                self.model.add(sum(waiting) <= limit)

    def _lengthen_executes(self) -> None:
        """D_i by the contention rule."""
        rule = self.problem.contention
        self.busy: dict[int, IntVar] = {}
        self.loads: dict[int, Issued | None] = {}
        self.link: dict[int, Levels] = {}
        self.charged: dict[tuple[int, int, int], IntVar] = {}
        for i in range(self.count):
            self.model.add(self.duration[i] >= self._total(i, self.amounts.t[i]))
        if rule is Contention.STRETCH:
            self._stretch_under_preloads()
        elif rule is Contention.CHARGE:
            self._charge_issued_preloads()

    def _stretch_under_preloads(self) -> None:
        """D_i ≥ t_i + ⌈σX_i⌉ if b_i; b_i ≥ y_ji where Y_j > 0."""
        model = self.model
        self.loads = {j: self._load_literal(j) for j in self.streaming}
        for i in range(self.count):
            loading = [j for j in self.may_wait(i) if self.loads[j] is not None]
            if not loading or self.amounts.s[i] == self.amounts.t[i]:
                continue
            busy = self.busy[i] = model.new_bool_var(f"b{i}")
            for j in loading:
                load = self.loads[j]
                clause = [busy, ~self.gate_literals[j, i]]
                if load is not None and not isinstance(load, int):
                    clause.append(~load)
                model.add_bool_or(clause)
            stretched = self._total(i, self.amounts.s[i])
            model.add(self.duration[i] >= stretched).only_enforce_if(busy)

    def _load_literal(self, j: int) -> Issued | None:
        """Return [Y_j > 0]: None if never, 1 if always."""
        loads = [o.preload_link_cycles > 0 for o in self.problem.operators[j].options]
        if not any(loads):
            return None
        if all(loads):
            return 1
        literal = self.model.new_bool_var(f"Y{j}>0")
        with_load = [x for x, load in zip(self.chosen[j], loads, strict=True) if load]
        self.model.add(sum(with_load) == literal)
        return literal

    def _charge_issued_preloads(self) -> None:
        """D_i ≥ X_i + Σ_{j>i} Y_j [g_j = i], [g_j = i] = y_ji − y_j,i−1."""
        model, amounts = self.model, self.amounts
        self.link = {
            j: Levels(model, f"Y{j}", amounts.y[j], self.chosen[j])
            for j in self.streaming
        }
        for i in range(self.count):
            self.stopwatch.check()
            loaded = self._total(i, amounts.x[i])
            for j in self.may_wait(i):
                before = self.issued(j, i - 1) if i else 0
                levels = self.link[j]
                loaded += levels.least * (self.gate_literals[j, i] - before)
                for c, reached in enumerate(levels.reached):
                    charged = model.new_bool_var(f"v{j},{c},{i}")
                    self.charged[j, c, i] = charged
                    clause = [charged, ~self.gate_literals[j, i], ~reached]
                    if not isinstance(before, int):
                        clause.append(before)
                    model.add_bool_or(clause)
                    loaded += levels.steps[c] * charged
            model.add(self.duration[i] >= loaded).with_name(f"charge{i}")

    def _execute_in_order(self) -> None:
        """EE_i ≥ EE_{i−1} + D_i and EE_i ≥ PE_i + D_i; PE_j ≥ PS_j + h_j."""
        for i in range(self.count):
            end, duration = self.execute_end[i], self.duration[i]
            before = self.execute_end[i - 1] if i else 0
            self.model.add(end >= before + duration)
            if i in self.preload_end:
                self.model.add(end >= self.preload_end[i] + duration)
        for j in self.streaming:
            h = self._total(j, self.amounts.h[j])
            self.model.add(self.preload_end[j] >= self.preload_start[j] + h)

    def _preload_after_gate(self) -> None:
        """PS_j ≥ EE_i for every i < g_j, that is where y_ji = 0."""
        for j in self.streaming:
            first = self.earliest[j] or 0
            if first:
                self.model.add(self.preload_start[j] >= self.execute_end[first - 1])
            for i in range(first, j):
                row = self.model.add(self.preload_start[j] >= self.execute_end[i])
                row.only_enforce_if(~self.gate_literals[j, i])

    def _preload_one_by_one(self) -> None:
        """Preloads do not overlap, in the order of (g_j, j).

        a < b: with o_ab, P_a before P_b, and y_bi ≤ y_ai (g_a ≤ g_b); without,
        P_b before P_a, and y_ai ≤ y_b,i−1 (g_b < g_a).
        """
        self.first: dict[tuple[int, int], IntVar] = {}
        for position, b in enumerate(self.streaming):
            self.stopwatch.check()
            earlier = self.streaming[:position]
            if self.order == OrderClass.identity():
                for a in earlier[-1:]:
                    self._precede(a, b)
                continue
            gate = self.earliest[b] or 0
            always = [a for a in earlier if a <= gate]  # g_a ≤ a ≤ g_b
            for a in always:
                last = always[-1]
                if a == last or a > (self.earliest[last] or 0):  # else through `last`
                    self._precede(a, b)
            for a in earlier[len(always) :]:
                self._choose_order(a, b)

    def _precede(self, a: int, b: int) -> cp_model.Constraint:
        return self.model.add(self.preload_start[b] >= self.preload_end[a])

    def _choose_order(self, a: int, b: int) -> None:
        model = self.model
        first = self.first[a, b] = model.new_bool_var(f"o{a},{b}")
        self._precede(a, b).only_enforce_if(first)
        self._precede(b, a).only_enforce_if(~first)
        for i in range(a):
            _imply(model, [first, self.issued(b, i)], self.issued(a, i))
        for i in range(a + 1):
            _imply(model, [~first, self.issued(a, i)], self.issued(b, i - 1))

    def _cut_by_prefixes(self) -> None:
        """EE_i ≥ Σ_{j≤i} h_j + D_i: redundant, true for every order."""
        self.prefix: dict[int, IntVar] = {}
        total: Expression = 0
        for i in range(self.count):
            if i not in self.preload_start:
                continue
            h = self.amounts.h[i]
            if len(set(h)) > 1:
                prefix = self.model.new_int_var(0, self.horizon, f"H{i}")
                self.model.add(prefix >= total + self._total(i, h))
                self.prefix[i] = prefix
                total = prefix
            else:
                total = total + h[0]
            self.model.add(self.execute_end[i] >= total + self.duration[i])

    def read(self, value: Sequence[int]) -> Schedule:
        """Return the plan that a solution stands for."""
        gates: list[int | None] = [None] * self.count
        for j in self.streaming:
            first = self.earliest[j] or 0
            opened = [
                i for i in range(first, j) if value[self.gate_literals[j, i].index]
            ]
            gates[j] = min(opened, default=j)
        options = tuple(
            next(q for q, x in enumerate(chosen) if value[x.index])
            for chosen in self.chosen
        )
        return Schedule(tuple(gates), options)


def _imply(
    model: cp_model.CpModel,
    conditions: Sequence[cp_model.BoolVarT | int],
    consequence: Issued,
) -> None:
    """Require the consequence if all conditions hold; constants are folded."""
    if 0 in [c for c in conditions if isinstance(c, int)]:
        return
    clause = [~c for c in conditions if not isinstance(c, int)]
    if isinstance(consequence, int):
        if consequence:
            return
    else:
        clause.append(consequence)
    model.add_bool_or(clause)
