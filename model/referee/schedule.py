"""The referee of schedules: re-derives times and SRAM from the definition.

Shares no code with any method, nor with `elkhound.model.timing`: the sums over
outstanding preloads are written out as docs/schedule.md states them.
"""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.referee.coverage import coverage_violations, phase_violations
from elkhound.model.result import OrderClass
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOption,
    ScheduleProblem,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a schedule is worth, or why it is none.

    Parameters
    ----------
    objective : int or None
        Makespan in cycles; None if anything is violated.
    violations : tuple of str
        One line per broken rule, naming operator, need and what is there.
    order : OrderClass
        `identity` if the gates never decrease, else `free`.
    window : int
        The least W with g_j ≥ j − W for every preload.
    preload_start, preload_end : tuple of (int or None)
        PS_j and PE_j; None for operators that stream nothing.
    execute_start, execute_end : tuple of int
        ES_i and EE_i. Times are empty for a plan that is no schedule at all, and
        given for one that merely does not fit.
    occupancy_bytes : tuple of int
        Bytes per core taken at step i: the larger of the two SRAM rows.
    """

    objective: int | None
    violations: tuple[str, ...]
    order: OrderClass
    window: int = 0
    preload_start: tuple[int | None, ...] = ()
    preload_end: tuple[int | None, ...] = ()
    execute_start: tuple[int, ...] = ()
    execute_end: tuple[int, ...] = ()
    occupancy_bytes: tuple[int, ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations

    def belongs_to(self, order: OrderClass) -> bool:
        """Whether the plan is one of that class, so that its bounds hold for it."""
        if order.window is not None:
            return self.window <= order.window
        return order.contains(self.order)


def judge(problem: ScheduleProblem, plan: Schedule) -> Verdict:
    """Decide whether a plan obeys every rule, and how long it takes.

    Parameters
    ----------
    problem : ScheduleProblem
        What was asked.
    plan : Schedule
        Any gates and option indices; illegal ones become violations.
    """
    illegal = _illegalities(problem, plan)
    if illegal:
        return Verdict(None, tuple(illegal), OrderClass.free())
    count = len(problem.operators)
    option = [problem.operators[i].options[plan.options[i]] for i in range(count)]
    gate = plan.gates
    issued: list[list[int]] = [[] for _ in range(count)]  # [i]: every j with g_j = i
    for j, g in enumerate(gate):
        if g is not None:
            issued[g].append(j)
    outstanding: list[list[int]] = []  # [i]: every j > i with g_j ≤ i
    waiting: list[int] = []
    for i in range(count):
        waiting = sorted(j for j in waiting + issued[i] if j > i)
        outstanding.append(waiting)
    violations, occupancy = _sram(problem, option, outstanding)
    violations += _outstanding_limit(problem, outstanding)
    violations += _coverage(problem, option)
    duration = _durations(problem, option, gate, outstanding)

    preload_start: list[int | None] = [None] * count
    preload_end: list[int | None] = [None] * count
    execute_start, execute_end = [0] * count, [0] * count
    previous_preload_end = previous_execute_end = 0
    for i in range(count):
        for j in issued[i]:  # the batch of gate i, in index order
            start = max(previous_preload_end, previous_execute_end)
            preload_start[j] = start
            previous_preload_end = start + option[j].preload_cycles
            preload_end[j] = previous_preload_end
        execute_start[i] = max(previous_execute_end, preload_end[i] or 0)
        previous_execute_end = execute_start[i] + duration[i]
        execute_end[i] = previous_execute_end

    gates = [g for g in gate if g is not None]
    in_order = gates == sorted(gates)
    return Verdict(
        objective=None if violations else execute_end[-1],
        violations=tuple(violations),
        order=OrderClass.identity() if in_order else OrderClass.free(),
        window=max((j - g for j, g in enumerate(gate) if g is not None), default=0),
        preload_start=tuple(preload_start),
        preload_end=tuple(preload_end),
        execute_start=tuple(execute_start),
        execute_end=tuple(execute_end),
        occupancy_bytes=tuple(occupancy),
    )


def _coverage(problem: ScheduleProblem, option: list[ScheduleOption]) -> list[str]:
    """Return what the tiles of options that say what they mean leave out or repeat."""
    found: list[str] = []
    for operator, chosen in zip(problem.operators, option, strict=True):
        if chosen.payload is not None:
            found += coverage_violations(operator.name, chosen.payload)
            found += phase_violations(operator.name, chosen)
    return found


def _illegalities(problem: ScheduleProblem, plan: Schedule) -> list[str]:
    """Say why the numbers of a plan do not even describe a program."""
    count = len(problem.operators)
    lines = [
        f"plan: {len(values)} {what} for {count} operators"
        for what, values in (("gates", plan.gates), ("options", plan.options))
        if len(values) != count
    ]
    if lines:
        return lines
    for j, operator in enumerate(problem.operators):
        gate, index, last = plan.gates[j], plan.options[j], len(operator.options) - 1
        if not 0 <= index <= last:
            lines.append(
                f"operator {operator.name}: option {index}, must be 0 … {last}"
            )
        if operator.streams and gate is None:
            lines.append(f"operator {operator.name}: no gate, but it has a preload")
        elif not operator.streams and gate is not None:
            lines.append(
                f"operator {operator.name}: gate {gate}, but it has no preload"
            )
        elif gate is not None and not 0 <= gate <= j:
            lines.append(f"operator {operator.name}: gate {gate}, must be 0 … {j}")
    return lines


def _sram(
    problem: ScheduleProblem,
    option: list[ScheduleOption],
    outstanding: list[list[int]],
) -> tuple[list[str], list[int]]:
    """Check both SRAM rows of every step, and give the bytes taken.

    execute_bytes_i + r_i + Σ_{j>i, g_j ≤ i} preload_bytes_j ≤ C
    preload_bytes_i + r_i + Σ_{j>i, g_j ≤ i} preload_bytes_j ≤ C
    """
    lines, occupancy = [], []
    for i, operator in enumerate(problem.operators):
        waiting = sum(option[j].preload_bytes for j in outstanding[i])
        others = operator.resident_bytes + waiting
        own_rows = (
            (option[i].execute_bytes, f"at execute {i}", "execute"),
            (option[i].preload_bytes, f"before execute {i}", "own preload"),
        )
        for own, when, what in own_rows:
            over = own + others - problem.sram_bytes
            if over > 0:
                who = [f"{what} {own} B", f"resident {operator.resident_bytes} B"]
                who += [
                    f"preloaded {problem.operators[j].name} {option[j].preload_bytes} B"
                    for j in outstanding[i]
                ]
                lines.append(
                    f"operator {operator.name}: {own + others} B needed of "
                    f"{problem.sram_bytes} B {when} ({', '.join(who)}): {over} B over"
                )
        occupancy.append(max(own for own, _, _ in own_rows) + others)
    return lines, occupancy


def _outstanding_limit(
    problem: ScheduleProblem, outstanding: list[list[int]]
) -> list[str]:
    """Check Σ_{j>i} [g_j ≤ i] ≤ K at every step."""
    limit = problem.max_outstanding
    if limit is None:
        return []
    lines = []
    for i, waiting in enumerate(outstanding):
        if len(waiting) > limit:
            names = ", ".join(problem.operators[j].name for j in waiting)
            lines.append(
                f"operator {problem.operators[i].name}: {len(waiting)} preloads "
                f"outstanding at execute {i} ({names}), {limit} allowed: "
                f"{len(waiting) - limit} over"
            )
    return lines


def _durations(
    problem: ScheduleProblem,
    option: list[ScheduleOption],
    gate: tuple[int | None, ...],
    outstanding: list[list[int]],
) -> list[int]:
    """Give D_i under the problem's contention rule.

    none: t_i. stretch: t_i + ⌈σ X_i / 1000⌉ if some outstanding P_j has Y_j > 0, else
    t_i. charge: max(t_i, X_i + Σ_{j>i, g_j = i} Y_j).
    """
    durations = []
    for i, taken in enumerate(option):
        cycles, link_cycles = taken.execute_cycles, taken.execute_link_cycles
        if problem.contention is Contention.STRETCH:
            if any(option[j].preload_link_cycles > 0 for j in outstanding[i]):
                cycles += -(-problem.link_stretch_permille * link_cycles // 1000)
        elif problem.contention is Contention.CHARGE:
            issued = [j for j in outstanding[i] if gate[j] == i]
            booked = sum(option[j].preload_link_cycles for j in issued)
            cycles = max(cycles, link_cycles + booked)
        durations.append(cycles)
    return durations
