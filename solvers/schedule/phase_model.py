"""The MILP phase model of the schedule problem (docs/exact-methods.md).

Time is cut into phases, the stall before each execute and the execute itself; how
much HBM work a preload does in a phase is continuous. In identity order issue times
and deadlines of preloads rise together, so that work may be split freely: first come,
first served does at least as well. In other orders a preload must in addition be done
before any later one is needed (`_finish_before_successors`); with that, issue times
and deadlines rise together along the order (g_j, j) again, and the model is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from elkhound.model.result import OrderClass
from elkhound.model.schedule import Contention, Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.backends.pulp import MilpAnswer, Model, Variable
from elkhound.solvers.schedule.amounts import Amounts
from elkhound.solvers.schedule.reduce import earliest_gates

Term = tuple[int, Variable]


class PhaseModel:
    """Variables, constraints, objective and read-back of the phase model.

    Parameters
    ----------
    problem : ScheduleProblem
        Reduced: every option fits.
    amounts : Amounts
        Its numbers, divided by their gcd.
    order : OrderClass
        Identity, a window, or free.
    stopwatch : Stopwatch
        Building stops with `OutOfTime` at its limit.
    """

    def __init__(
        self,
        problem: ScheduleProblem,
        amounts: Amounts,
        order: OrderClass,
        stopwatch: Stopwatch,
    ) -> None:
        self.problem = problem
        self.amounts = amounts
        self.order = order
        self.stopwatch = stopwatch
        self.count = len(problem.operators)
        self.streaming = problem.streaming
        self.earliest = {
            j: gate
            for j, gate in enumerate(earliest_gates(problem, order))
            if gate is not None
        }
        self.model = Model("schedule")
        self._add_variables()
        self._choose_one_option()
        self._relate_gates()
        self._fit_into_sram()
        self._limit_outstanding()
        self._lengthen_executes()
        self._work_within_phases()
        self._work_after_issue()
        if order != OrderClass.identity():
            self._finish_before_successors()
        self.model.minimise(
            [(1, stall) for stall in self.stall] + [(1, d) for d in self.duration]
        )

    def _add_variables(self) -> None:
        """x_iq, u_ji = [g_j ≤ i], S_i, D_i, and the work ws_ji, we_ji of P_j."""
        model = self.model
        self.chosen: list[list[Variable]] = []
        self.issued: dict[tuple[int, int], Variable] = {}
        self.stall_work: dict[tuple[int, int], Variable] = {}
        self.execute_work: dict[tuple[int, int], Variable] = {}
        for i, operator in enumerate(self.problem.operators):
            options = range(len(operator.options))
            self.chosen.append([model.binary(f"x_{i}_{q}") for q in options])
        self.stall = [model.continuous(f"S_{i}") for i in range(self.count)]
        self.duration = [model.continuous(f"D_{i}") for i in range(self.count)]
        for j, first in self.earliest.items():
            self.stopwatch.check()
            for i in range(first, j):
                self.issued[j, i] = model.binary(f"u_{j}_{i}")
                self.execute_work[j, i] = model.continuous(f"we_{j}_{i}")
            for i in range(first, j + 1):
                self.stall_work[j, i] = model.continuous(f"ws_{j}_{i}")

    def _waiting(self, i: int) -> list[int]:
        """Return every j > i whose preload may be outstanding during E_i."""
        return [j for j, first in self.earliest.items() if first <= i < j]

    def _total(self, i: int, values: Sequence[int], sign: int = 1) -> list[Term]:
        """Return the terms of ±Σ_q value_q x_iq."""
        pairs = zip(values, self.chosen[i], strict=True)
        return [(sign * value, x) for value, x in pairs if value]

    def _choose_one_option(self) -> None:
        """Σ_q x_iq = 1."""
        for chosen in self.chosen:
            self.model.equal([(1, x) for x in chosen], 1)

    def _relate_gates(self) -> None:
        """u_ji ≤ u_j,i+1; in identity order u_ji ≤ u_pi for the p before j."""
        for (j, i), issued in self.issued.items():
            if i + 1 < j:
                self.model.at_most([(1, issued), (-1, self.issued[j, i + 1])], 0)
        if self.order != OrderClass.identity():
            return
        for p, j in pairwise(self.streaming):
            for i in range(self.earliest[j], p):
                self.model.at_most([(1, self.issued[j, i]), (-1, self.issued[p, i])], 0)

    def _ladder(self, name: str, j: int, values: Sequence[int]) -> list[Term]:
        """Return steps (v_c − v_{c−1}, a_c), a_c = Σ of x_jq with value ≥ v_c.

        The steps add up to the chosen value less the smallest one.
        """
        distinct = sorted(set(values))
        steps: list[Term] = []
        above: Variable | None = None
        for low, value in reversed(list(pairwise(distinct))):
            reached = self.model.continuous(f"{name}_{j}_{value}", 0, 1)
            here = [
                (-1, x)
                for v, x in zip(values, self.chosen[j], strict=True)
                if v == value
            ]
            carried = [(-1, above)] if above is not None else []
            self.model.equal([(1, reached), *here, *carried], 0)
            steps.append((value - low, reached))
            above = reached
        return steps

    def _both(self, name: str, first: list[Term], second: Variable) -> Variable:
        """Return z ≥ (Σ first) + second − 1, z ≥ 0."""
        both = self.model.continuous(name, 0, 1)
        self.model.at_least([(1, both), *((-c, v) for c, v in first), (-1, second)], -1)
        return both

    def _fit_into_sram(self) -> None:
        """Reserve at issue: own_i + Σ_{j>i} u_ji preload_j ≤ C − r_i."""
        amounts = self.amounts
        ladders = {j: self._ladder("pb", j, amounts.preload[j]) for j in self.streaming}
        for i in range(self.count):
            self.stopwatch.check()
            terms = self._total(i, amounts.own[i])
            for j in self._waiting(i):
                issued = self.issued[j, i]
                terms.append((min(amounts.preload[j]), issued))
                for c, (step, reached) in enumerate(ladders[j]):
                    held = self._both(f"z_{j}_{c}_{i}", [(1, issued)], reached)
                    terms.append((step, held))
            self.model.fit(terms, amounts.room[i])

    def _limit_outstanding(self) -> None:
        """Σ_{j>i} u_ji ≤ K."""
        limit = self.problem.max_outstanding
        if limit is None:
            return
        for i in range(self.count):
            waiting = [(1, self.issued[j, i]) for j in self._waiting(i)]
            if len(waiting) > limit:
                self.model.at_most(waiting, limit)

    def _lengthen_executes(self) -> None:
        """D_i ≥ t_i, and what the contention rule adds."""
        for i in range(self.count):
            terms = self._total(i, self.amounts.t[i], -1)
            self.model.at_least([(1, self.duration[i]), *terms], 0)
        if self.problem.contention is Contention.STRETCH:
            self._stretch_under_preloads()
        elif self.problem.contention is Contention.CHARGE:
            self._charge_issued_preloads()

    def _stretch_under_preloads(self) -> None:
        """D_i ≥ Σ_q t_q x_iq + (s_q − t_q) v_iq; Σ_q v_iq = b_i, v_iq ≤ x_iq.

        b_i ≥ u_ji where Y_j > 0; v_iq is x_iq ∧ b_i, exactly, without a big constant.
        """
        model, amounts = self.model, self.amounts
        for i in range(self.count):
            self.stopwatch.check()
            extra = [s - t for s, t in zip(amounts.s[i], amounts.t[i], strict=True)]
            waiting = [j for j in self._waiting(i) if any(self._loads(j))]
            if not waiting or not any(extra):
                continue
            busy = model.continuous(f"b_{i}", 0, 1)
            for j in waiting:
                self._be_busy(busy, i, j)
            shares = [model.continuous(f"v_{i}_{q}", 0, 1) for q in range(len(extra))]
            for share, x in zip(shares, self.chosen[i], strict=True):
                model.at_most([(1, share), (-1, x)], 0)
            model.equal([*((1, share) for share in shares), (-1, busy)], 0)
            stretched = [(-e, v) for e, v in zip(extra, shares, strict=True) if e]
            unstretched = self._total(i, amounts.t[i], -1)
            model.at_least([(1, self.duration[i]), *unstretched, *stretched], 0)

    def _loads(self, j: int) -> list[bool]:
        return [o.preload_link_cycles > 0 for o in self.problem.operators[j].options]

    def _be_busy(self, busy: Variable, i: int, j: int) -> None:
        """b_i ≥ u_ji, or b_i ≥ u_ji + [Y_j > 0] − 1 where options differ."""
        loads = self._loads(j)
        issued = self.issued[j, i]
        if all(loads):
            self.model.at_least([(1, busy), (-1, issued)], 0)
            return
        with_load = [(-1, x) for x, y in zip(self.chosen[j], loads, strict=True) if y]
        self.model.at_least([(1, busy), (-1, issued), *with_load], -1)

    def _charge_issued_preloads(self) -> None:
        """D_i ≥ X_i + Σ_{j>i} Y_j [g_j = i], [g_j = i] = u_ji − u_j,i−1."""
        amounts = self.amounts
        ladders = {j: self._ladder("Y", j, amounts.y[j]) for j in self.streaming}
        for i in range(self.count):
            self.stopwatch.check()
            terms = self._total(i, amounts.x[i], -1)
            for j in self._waiting(i):
                here = [(1, self.issued[j, i])]
                if (j, i - 1) in self.issued:
                    here.append((-1, self.issued[j, i - 1]))
                least = min(amounts.y[j])
                terms += [(-least * c, v) for c, v in here]
                for c, (step, reached) in enumerate(ladders[j]):
                    charged = self._both(f"c_{j}_{c}_{i}", here, reached)
                    terms.append((-step, charged))
            self.model.at_least([(1, self.duration[i]), *terms], 0)

    def _work_within_phases(self) -> None:
        """Σ_j ws_ji ≤ S_i and Σ_j we_ji ≤ D_i: one HBM."""
        for work, length in (
            (self.stall_work, self.stall),
            (self.execute_work, self.duration),
        ):
            phases: list[list[Term]] = [[] for _ in range(self.count)]
            for (_, i), amount in work.items():
                phases[i].append((1, amount))
            for terms, whole in zip(phases, length, strict=True):
                if terms:
                    self.model.at_most([*terms, (-1, whole)], 0)

    def _work_until(self, j: int, last: int) -> list[Term]:
        """Return the terms of P_j's work up to the end of E_last."""
        return [
            (1, work[j, i])
            for work in (self.stall_work, self.execute_work)
            for i in range(self.earliest[j], last + 1)
            if (j, i) in work
        ]

    def _work_after_issue(self) -> None:
        """All work is h_j, and none up to E_i if P_j is not issued before it."""
        for j in self.streaming:
            self.stopwatch.check()
            h = self.amounts.h[j]
            self.model.equal([*self._work_until(j, j), *self._total(j, h, -1)], 0)
            for i in range(self.earliest[j], j):
                done = self._work_until(j, i)
                self.model.at_most([*done, (-max(h), self.issued[j, i])], 0)

    def _finish_before_successors(self) -> None:
        """If P_a precedes P_b, P_a is done when E_b starts.

        For a > b (else E_a comes first anyway): q_ab ≥ u_ai − u_bi for every i < b,
        so q_ab = 1 where g_a < g_b; P_a's work during E_b and later ≤ h_a (1 − q_ab).
        q_ab needs not be declared integral, and no transitivity.
        """
        for a in self.streaming:
            self.stopwatch.check()
            most = max(self.amounts.h[a])
            for b in self.streaming:
                if not self.earliest[a] < b < a:
                    continue
                ahead = self.model.continuous(f"q_{a}_{b}", 0, 1)
                for i in range(self.earliest[a], b):
                    row = [(1, ahead), (-1, self.issued[a, i])]
                    if (b, i) in self.issued:
                        row.append((1, self.issued[b, i]))
                    self.model.at_least(row, 0)
                late = [(1, self.execute_work[a, i]) for i in range(b, a)]
                late += [(1, self.stall_work[a, i]) for i in range(b + 1, a + 1)]
                self.model.at_most([*late, (most, ahead)], most)

    def end_by(self, horizon: int) -> None:
        """Σ_i S_i + D_i ≤ horizon, the makespan of a known plan, in ticks."""
        phases = [(1, length) for length in (*self.stall, *self.duration)]
        self.model.at_most(phases, horizon + 0.5)

    def read(self, answer: MilpAnswer) -> Schedule:
        """Return the plan of an incumbent, rounding what a float solver left."""
        gates: list[int | None] = [None] * self.count
        for j, first in self.earliest.items():
            opened = [
                i for i in range(first, j) if answer.value(self.issued[j, i]) > 0.5
            ]
            gates[j] = min(opened, default=j)
        options = []
        for chosen in self.chosen:
            shares = [answer.value(x) for x in chosen]
            options.append(shares.index(max(shares)))
        return Schedule(tuple(gates), tuple(options))
