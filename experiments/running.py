"""A comparison while it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter, process_time
from typing import Any

from elkhound.experiments.addresses import with_addresses
from elkhound.experiments.contradictions import contradictions
from elkhound.experiments.fused_groups import Fusion, adopted
from elkhound.experiments.interrupts import interrupts_wait
from elkhound.experiments.kind import Kind
from elkhound.experiments.methods import AnyMethod, Role, Variant
from elkhound.experiments.observer import Observer
from elkhound.experiments.outcome import Outcome, SourcedBound
from elkhound.experiments.outcome_row import largest, outcome_row
from elkhound.experiments.pinning import PinnedMethod, gated
from elkhound.experiments.proving import (
    is_proof,
    proved_by,
    remark,
    second_formulation,
)
from elkhound.experiments.rows import Row
from elkhound.experiments.table import Table
from elkhound.model.chip import Chip
from elkhound.model.errors import ElkhoundError
from elkhound.model.graph import Graph
from elkhound.model.lifetimes import held_tensors
from elkhound.model.limits import Limits, Progress
from elkhound.model.pin import Pinned
from elkhound.model.placement import Buffer
from elkhound.model.result import Bound, OrderClass, Status
from elkhound.model.schedule import ScheduleProblem


class Run:
    """A comparison while it runs: the outcomes so far."""

    def __init__(
        self,
        kind: Kind[Any, Any],
        problem: Any,
        chip: Chip | None,
        graph: Graph | None,
        limits: Limits[Any],
        names: tuple[str, ...],
        hears: Observer,
        thin_permille: int | None,
    ) -> None:
        self.kind = kind
        self.problem = problem
        self.chip = chip
        self.graph = graph
        self.limits = limits
        self.names = names
        self.hears = hears
        self.thin_permille = thin_permille
        self.pins: Pinned | None = None
        self.held: tuple[Buffer, ...] | None = None
        self.tile_cost: Mapping[str, Any] | None = None
        self.fused: Fusion | None = None
        self.rule = kind.contention(problem)
        self.quick_bounds: tuple[SourcedBound, ...] = ()
        self.outcomes: dict[str, Outcome] = {}

    def find_bounds(self, known: tuple[Bound, ...] | None) -> None:
        """Compute the bounds that belong to no method, unless they are known."""
        found: tuple[Bound, ...] = (
            self.kind.bounds(self.problem) if known is None else known
        )
        self.quick_bounds = tuple(SourcedBound(str(b.kind), b) for b in found)

    def add(self, variant: Variant, *, warm: bool = True) -> None:
        """Run a method, judge its plan, simulate it.

        Parameters
        ----------
        warm : bool
            Whether it may start from a plan known already.
        """
        start = self._warm_start(variant) if warm else None
        limits = replace(
            self.limits, warm_start=start, progress=self._progress(variant)
        )
        wall, cpu = perf_counter(), process_time()
        try:
            method = self._method(variant)
            result = method.solve(self.problem, limits)
        except ElkhoundError as error:
            wall, cpu = perf_counter() - wall, process_time() - cpu
            self.outcomes[variant.text] = Outcome(
                variant.text, error=error, wall_seconds=wall, cpu_seconds=cpu
            )
            return
        outcome = self._judged(Outcome(variant.text, result))
        if outcome.verified:
            outcome = self._addressed(method, limits, outcome)
        if outcome.judgement is not None and outcome.judgement.feasible:
            outcome = self._simulated(outcome)
        self.outcomes[variant.text] = outcome

    def _method(self, variant: Variant) -> AnyMethod:
        """Build a method; one that plans keeps pins and gets thinned options."""
        with interrupts_wait():
            method = variant.build()
            if variant.entry.role is Role.BOUND:
                return method
            if self.pins is not None:
                method = gated(method, self.pins)
            if self.thin_permille is not None:
                from elkhound.solvers.schedule.thinned import Thinned

                exact = variant.entry.role is Role.EXACT
                method = Thinned(method, self.thin_permille, exact=exact)
            return method if self.pins is None else PinnedMethod(method, self.pins)

    def _progress(self, variant: Variant) -> Progress:
        """Return what passes a method's news on, with the quick bounds it lacks."""
        order = variant.order or OrderClass.free()
        known = [s.bound for s in self.quick_bounds if s.bound.order.contains(order)]
        least = largest(known)

        def tell(objective: float | None, bound: float | None) -> None:
            if least is not None:
                bound = least.value if bound is None else max(bound, least.value)
            self.hears.improved(variant.text, objective, bound)

        return tell

    def prove(self, chosen: Sequence[Variant]) -> None:
        """Have every proof tried again by another formulation of the same class."""
        tried = list(chosen)
        for first in chosen:
            if not first.entry.proves:
                continue
            if not is_proof(self.outcomes[first.text]):
                continue
            second = proved_by(first, tried, self.outcomes)
            if second is None:
                second = second_formulation(first, self.kind.registry)
                asked = [
                    v
                    for v in tried
                    if (v.entry, v.settings) == (second.entry, second.settings)
                ]
                second = asked[0] if asked else second
                if not asked:
                    self.names = (*self.names, second.text)
                    tried.append(second)
                    self.hears.started(second.text)
                    self.add(second, warm=False)
                    self.hears.finished(second.text, self.table())
            outcome = self.outcomes[first.text]
            said = remark(second, self.outcomes[second.text])
            note = "; ".join(filter(None, (outcome.note, said)))
            self.outcomes[first.text] = replace(outcome, note=note)

    def _judged(self, outcome: Outcome) -> Outcome:
        if outcome.plan is None:
            if self.pins is not None and _is_infeasible(outcome):
                return replace(outcome, note=f"proved: no plan keeps {self.pins.said}")
            return outcome
        judgement = self.kind.judge_result(self.problem, outcome.result)
        return replace(outcome, judgement=judgement)

    def _addressed(self, method: Any, limits: Limits[Any], outcome: Outcome) -> Outcome:
        """Place a schedule's buffers, and take the plan that has addresses."""
        if not isinstance(self.problem, ScheduleProblem) or outcome.result is None:
            return outcome
        found = with_addresses(
            method, self.problem, outcome.result, limits, self._held()
        )
        outcome = replace(
            outcome, result=found.result, addresses=found.addresses, note=found.note
        )
        return self._judged(outcome)

    def _held(self) -> tuple[Buffer, ...] | None:
        """Return the activations behind resident_bytes, if the graph is known."""
        if self.held is not None or self.graph is None or self.chip is None:
            return self.held
        return held_tensors(self.graph, self.chip.cores)

    def _warm_start(self, variant: Variant) -> Any:
        """Return the best verified plan so far of the class the method searches."""
        if variant.entry.role is not Role.EXACT:
            return None
        best, value = None, None
        plans = [(o.plan, o.judgement) for o in self.outcomes.values()]
        if self.limits.warm_start is not None:
            given = self.limits.warm_start
            plans.insert(0, (given, self.kind.judge(self.problem, given)))
        for plan, judgement in plans:
            if judgement is None or judgement.objective is None:
                continue
            if not judgement.belongs_to(variant.order):
                continue
            if value is None or judgement.objective < value:
                best, value = plan, judgement.objective
        return best

    def _simulated(self, outcome: Outcome) -> Outcome:
        """Let the simulated chip run a verified plan."""
        program = self.kind.program(self.problem, outcome.plan, self.chip)
        if program is None:
            latency = self.kind.simulated_latency(self.problem, outcome.plan)
            return replace(outcome, simulated_latency=latency)
        from elkhound.simpy_chip import simulate

        try:
            score = simulate(program)
        except ElkhoundError as error:
            return replace(outcome, refused_by_simulator=str(error))
        return replace(outcome, score=score, simulated_cycles=score.makespan_cycles)

    def table(self) -> Table:
        """Return the table of what has ended, in the order the user gave."""
        ended = [self.outcomes[name] for name in self.names if name in self.outcomes]
        proved = [sourced for o in ended for sourced in o.bounds(self.rule)]
        # `ideal` is a quick bound and a method.
        bounds = tuple(dict.fromkeys([*self.quick_bounds, *proved]))
        same_rule = tuple(s for s in bounds if _rule(s.bound) == self.rule)
        return Table(
            self.problem,
            self.chip,
            tuple(self._row(outcome, same_rule) for outcome in ended),
            contradictions(ended, same_rule) + self.kind.contradictions(ended),
            bounds,
            tuple(ended),
            self.pins,
            self.tile_cost,
            self.fused,
        )

    def _row(self, outcome: Outcome, bounds: tuple[SourcedBound, ...]) -> Row:
        seed = self.limits.seed
        row = outcome_row(self.kind, self.problem, outcome, bounds, seed)
        return replace(row, fused=adopted(self.fused))


def _is_infeasible(outcome: Outcome) -> bool:
    return outcome.result is not None and outcome.result.status is Status.INFEASIBLE


def _rule(bound: Bound) -> str | None:
    return None if bound.contention is None else str(bound.contention)
