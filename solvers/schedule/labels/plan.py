"""From a schedule in classes to a schedule."""

from __future__ import annotations

from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.solvers.schedule.incumbent import Incumbent, evaluate
from elkhound.solvers.schedule.labels.classes import Classes, PreloadClass, state_of
from elkhound.solvers.schedule.labels.search import Choice
from elkhound.solvers.schedule.reduce import stretched_cycles


def realise(problem: ScheduleProblem, classes: Classes, choice: Choice) -> Incumbent:
    """Return the schedule with these gates and members of these classes.

    Each operator takes its fastest member that fits beside what waits: first with the
    bytes of the classes, then with those of the members chosen before, which are no
    larger. The makespan is no worse than in classes rounded up.
    """
    chosen = [
        classes.operators[i][c].preload_bytes for i, c in enumerate(choice.classes)
    ]
    best: Incumbent | None = None
    for _ in range(2):
        options = tuple(
            _fastest(problem, classes.operators[i][c], i, room, linked, batch)
            for i, (c, (room, linked, batch)) in enumerate(
                zip(
                    choice.classes,
                    _beside(problem, classes, choice, chosen),
                    strict=True,
                )
            )
        )
        found = evaluate(problem, Schedule(choice.gates, options))
        if best is None or found.value < best.value:
            best = found
        chosen = [
            operator.options[q].preload_bytes
            for operator, q in zip(problem.operators, options, strict=True)
        ]
    assert best is not None
    return best


def _beside(
    problem: ScheduleProblem, classes: Classes, choice: Choice, chosen: list[int]
) -> list[tuple[int, bool, int]]:
    """Return by i: bytes left for E_i, whether it is stretched, and Σ Y gated there."""
    count = len(problem.operators)
    waiting, linked = [0] * (count + 1), [0] * (count + 1)
    batch = [0] * count
    for j, gate in enumerate(choice.gates):
        if gate is None or gate == j:
            continue
        link_cycles = classes.operators[j][choice.classes[j]].link_cycles
        batch[gate] += link_cycles
        waiting[gate] += chosen[j]
        waiting[j] -= chosen[j]
        linked[gate] += link_cycles > 0
        linked[j] -= link_cycles > 0
    left, held, busy = [], 0, 0
    for i, operator in enumerate(problem.operators):
        held += waiting[i]
        busy += linked[i]
        room = problem.sram_bytes - operator.resident_bytes - held
        left.append((room, busy > 0, batch[i]))
    return left


def _fastest(
    problem: ScheduleProblem,
    of_class: PreloadClass,
    i: int,
    room: int,
    linked: bool,
    batch: int,
) -> int:
    corner = (of_class.preload_bytes, of_class.preload_cycles, of_class.link_cycles)
    rule = problem.contention

    def cycles(option: ScheduleOption) -> int:
        if rule is Contention.CHARGE:
            return max(option.execute_cycles, option.execute_link_cycles + batch)
        if rule is Contention.STRETCH and linked:
            return stretched_cycles(problem, option)
        return option.execute_cycles

    members = [
        (cycles(option), option.preload_cycles, option.preload_bytes, q)
        for q, option in enumerate(problem.operators[i].options)
        if option.own_bytes <= room
        and all(a <= b for a, b in zip(state_of(rule, option), corner, strict=True))
    ]
    return min(members)[-1]
