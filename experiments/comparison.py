"""Compare methods on one problem: plan, verify, simulate, and put in one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter, process_time
from typing import Any, Protocol

from elkhound.experiments import rows
from elkhound.experiments.addresses import with_addresses
from elkhound.experiments.contradictions import contradictions
from elkhound.experiments.interrupts import interrupts_wait
from elkhound.experiments.kind import Kind
from elkhound.experiments.kinds import called, kind_of
from elkhound.experiments.methods import AnyMethod, Role, Variant, variants
from elkhound.experiments.outcome import Outcome, SourcedBound
from elkhound.experiments.pinning import PinnedMethod, gated, require_pins
from elkhound.experiments.proving import (
    is_proof,
    proved_by,
    remark,
    require_exact,
    second_formulation,
)
from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError, ElkhoundError, InfeasibleError
from elkhound.model.graph import Graph
from elkhound.model.lifetimes import held_tensors
from elkhound.model.limits import Limits, Progress
from elkhound.model.pin import Pinned
from elkhound.model.placement import Buffer
from elkhound.model.result import Bound, BoundKind, OrderClass, Status, own_version
from elkhound.model.schedule import ScheduleProblem


@dataclass(frozen=True, slots=True)
class Table:
    """What a comparison found out.

    Parameters
    ----------
    problem : ScheduleProblem, AllocationProblem or PlacementProblem
        What was planned.
    chip : Chip or None
        The chip it was planned for; None for a problem file.
    rows : tuple of Row
        One per finished method, in the order the user gave.
    contradictions : tuple of str
        Answers that cannot all be right; none of the table can be trusted then.
    bounds : tuple of SourcedBound
        Every lower bound, with who proved it.
    outcomes : tuple of Outcome
        Plans, verdicts and scores behind the rows.
    pins : Pinned or None
        What every plan keeps; proofs and bounds of methods are about such plans.
    tile_cost : mapping or None
        What gave the cycles of tiles; None where that is not known.
    """

    problem: Any
    chip: Chip | None
    rows: tuple[rows.Row, ...]
    contradictions: tuple[str, ...]
    bounds: tuple[SourcedBound, ...]
    outcomes: tuple[Outcome, ...]
    pins: Pinned | None = None
    tile_cost: Mapping[str, Any] | None = None

    @property
    def exit_status(self) -> int:
        """0 done, 5 contradiction, 2 bad input, 3 infeasible, 4 no plan in time."""
        if self.contradictions:
            return 5
        errors = [o.error for o in self.outcomes if o.error is not None]
        failed = [e for e in errors if not isinstance(e, InfeasibleError)]
        if any(isinstance(error, BadInputError) for error in failed):
            return 2
        if failed:
            return failed[0].exit_status
        if any(row.objective is not None for row in self.rows):
            return 0
        proved = any(row.status is Status.INFEASIBLE for row in self.rows)
        return 3 if proved else 4

    @property
    def refusal(self) -> InfeasibleError | None:
        """Why there can be no plan, if that is all that every method says."""
        errors = [o.error for o in self.outcomes]
        reasons = [e for e in errors if isinstance(e, InfeasibleError)]
        return reasons[0] if reasons and len(reasons) == len(errors) else None

    @property
    def best_plan(self) -> Any:
        """The verified plan with the least objective, the first of equals, or None."""
        good = [o for o in self.outcomes if o.verified and o.plan is not None]
        values = [(o.verified_objective, k) for k, o in enumerate(good)]
        return good[min(values)[1]].plan if good else None

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame; pandas has to be installed."""
        from importlib import import_module

        documents = [row.document() for row in self.rows]
        return import_module("pandas").DataFrame(documents)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a comparison; carries what was finished.

    Parameters
    ----------
    table : Table
        Rows of the methods that had ended.
    """

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.table = table


class Observer(Protocol):
    """Who wants to know how far a comparison is."""

    def started(self, method: str) -> None:
        """Hear that a method starts, or the computation of ``bounds``."""

    def improved(
        self, method: str, objective: float | None, bound: float | None
    ) -> None:
        """Hear a running method's best plan and bound, from any thread."""

    def finished(self, method: str, table: Table) -> None:
        """Get the table so far, the method included."""


class Silent:
    """An observer that does nothing."""

    def started(self, method: str) -> None:
        """Ignore it."""

    def improved(
        self, method: str, objective: float | None, bound: float | None
    ) -> None:
        """Ignore it."""

    def finished(self, method: str, table: Table) -> None:
        """Ignore it."""


def compare(
    problem: Any,
    methods: Sequence[str] | None = None,
    *,
    chip: Chip | None = None,
    graph: Graph | None = None,
    held: tuple[Buffer, ...] | None = None,
    limits: Limits[Any] | None = None,
    observer: Observer | None = None,
    prove: bool = False,
    thin_permille: int | None = None,
    pins: Pinned | None = None,
    tile_cost: Mapping[str, Any] | None = None,
    bounds: tuple[Bound, ...] | None = None,
) -> Table:
    """Plan a problem with several methods and say how far each is from optimal.

    Heuristics run first, then bounds, then exact methods, which get the best verified
    plan of their class of schedules as a warm start. The referee judges every plan;
    every plan it accepts is simulated.

    Parameters
    ----------
    problem : ScheduleProblem, AllocationProblem or PlacementProblem
        What to plan.
    methods : sequence of str or None
        Names, with variants; None for the usual ones of the kind.
    chip : Chip or None
        The chip to simulate; None for the abstract chip of a problem file.
    graph : Graph or None
        What the problem was made of, so that held activations have addresses as
        tensors; None where only their sizes are known.
    held : tuple of Buffer or None
        These activations, where operators of the graph are fused; None: of the graph.
    limits : Limits or None
        Per method; None for the defaults. Its own warm start is offered too.
    observer : Observer or None
        Hears of every start and end.
    prove : bool
        Whether every proof is tried again by another formulation, without a warm
        start; its row is added.
    thin_permille : int or None
        ε in permille: methods see options of a schedule problem thinned (`Thinned`);
        None for all options. Bounds and plans are of the whole problem either way.
    pins : Pinned or None
        Decisions that every plan keeps, made for this problem; a method that cannot
        keep a gate is refused.
    bounds : tuple of Bound or None
        What `Kind.bounds` says of the problem, where it has been asked before.
    tile_cost : mapping or None
        What gave the cycles of the problem's tiles, for the report.

    Raises
    ------
    BadInputError
        For a method, setting or value that does not exist.
    InfeasibleError
        If no plan can exist, with the smallest capacity that works.
    Interrupted
        On Ctrl-C, with the table of what had ended.
    """
    kind = kind_of(problem)
    names = kind.default_methods if methods is None else tuple(methods)
    chosen = variants(names, kind.registry)
    if prove:
        require_exact(chosen)
    if thin_permille is not None:
        require_schedule(problem, "--thin")
    kind.require_feasible(problem)
    if pins is not None:
        require_pins(chosen, pins, thin=thin_permille is not None, prove=prove)
    hears = observer or Silent()
    run = _Run(
        kind, problem, chip, graph, limits or Limits(), names, hears, thin_permille
    )
    run.pins = pins
    run.held = held
    run.tile_cost = tile_cost
    try:
        hears.started("bounds")
        run.find_bounds(bounds)
        for variant in sorted(chosen, key=lambda v: list(Role).index(v.entry.role)):
            hears.started(variant.text)
            run.add(variant)
            hears.finished(variant.text, run.table())
        if prove:
            run.prove(chosen)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(run.table()) from interrupt
    return run.table()


def require_schedule(problem: object, flag: str) -> None:
    """Refuse a flag about options on a problem that is no schedule problem."""
    if not isinstance(problem, ScheduleProblem):
        raise BadInputError(
            f"has no effect on {called(problem)}",
            code="no-effect",
            where=flag,
        )


class _Run:
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
        least = _largest(known)

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
        )

    def _row(self, outcome: Outcome, bounds: Iterable[SourcedBound]) -> rows.Row:
        result, judgement = outcome.result, outcome.judgement
        if result is None:
            return self._failed(outcome)
        order = result.order or OrderClass.free()
        covering = [b.bound for b in bounds if b.bound.order.contains(order)]
        bound = _largest(covering) if result.plan is not None else result.bound
        simulated = outcome.simulated_cycles
        columns = self.kind.columns(self.problem, result)
        latency = outcome.simulated_latency
        planned = result.objective if latency is None else columns["latency"]
        taken = simulated if latency is None else latency
        return rows.Row(
            kind=self.kind.name,
            method=outcome.method,
            status=result.status,
            objective=result.objective,
            lower_bound=None if bound is None else bound.value,
            bound_kind="none" if bound is None else str(bound.kind),
            order=None if result.order is None else str(result.order),
            contention=self.rule,
            gap=rows.gap(result.objective, bound),
            rounding_error=result.rounding_error + result.thinning_error,
            simulated=taken,
            model_error=rows.model_error(taken, planned),
            verified=outcome.verified,
            wall_seconds=result.wall_seconds,
            cpu_seconds=result.cpu_seconds,
            seed=result.seed,
            version=result.version,
            reason=_reason(outcome),
            simulated_cycles=simulated,
            simulated_latency=latency,
            bytes_used=None if judgement is None else judgement.bytes_used,
            height_bytes=None if judgement is None else judgement.height_bytes,
            **columns,
        )

    def _failed(self, outcome: Outcome) -> rows.Row:
        infeasible = isinstance(outcome.error, InfeasibleError)
        return rows.Row(
            kind=self.kind.name,
            method=outcome.method,
            status=Status.INFEASIBLE if infeasible else Status.UNKNOWN,
            objective=None,
            lower_bound=None,
            bound_kind="none",
            order=None,
            contention=self.rule,
            gap=None,
            rounding_error=0,
            simulated=None,
            model_error=None,
            verified=None,
            wall_seconds=outcome.wall_seconds,
            cpu_seconds=outcome.cpu_seconds,
            seed=self.limits.seed,
            version=own_version(),
            reason=str(outcome.error),
        )


def _is_infeasible(outcome: Outcome) -> bool:
    return outcome.result is not None and outcome.result.status is Status.INFEASIBLE


def _rule(bound: Bound) -> str | None:
    return None if bound.contention is None else str(bound.contention)


def _largest(bounds: Sequence[Bound]) -> Bound | None:
    """Return the largest bound; among equal ones a proof."""
    return max(bounds, key=lambda b: (b.value, b.kind is BoundKind.PROOF), default=None)


def _reason(outcome: Outcome) -> str:
    """Say why there is no plan, or why it cannot be trusted."""
    if outcome.refused_by_simulator:
        return f"simulator: {outcome.refused_by_simulator}"
    if outcome.judgement is not None and not outcome.judgement.feasible:
        return "referee: " + "; ".join(outcome.judgement.violations)
    result = outcome.result
    if outcome.note:
        return outcome.note
    if result is None or result.status not in (Status.UNKNOWN, Status.INFEASIBLE):
        return ""
    said: Mapping[str, Any] = result.statistics
    if "reason" in said:
        return str(said["reason"])
    is_said = result.bound is not None or result.status is Status.INFEASIBLE
    return "" if is_said else "no plan found"
