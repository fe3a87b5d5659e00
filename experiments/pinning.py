"""Methods that keep the decisions of a pin file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from elkhound.experiments.methods import Role, Variant
from elkhound.model.errors import BadInputError, ContradictionError, InfeasibleError
from elkhound.model.limits import Limits
from elkhound.model.pin import KeepsGates, Pinned
from elkhound.model.result import Method, Result
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.units import in_kib

Planner = Method[ScheduleProblem, Schedule]


def require_pins(
    chosen: Sequence[Variant], pins: Pinned, *, thin: bool, prove: bool
) -> None:
    """Refuse methods, flags and pins that do not go together, before anything runs."""
    require_room(pins)
    if not pins.gates:
        return
    for flag, given in (("--thin", thin), ("--prove", prove)):
        if given:
            raise BadInputError(
                "cannot be given with pinned gates", code="no-gates", where=flag
            )
    for variant in chosen:
        if variant.entry.role is not Role.BOUND:
            gated(variant.build(), pins)


def gated(method: Any, pins: Pinned) -> Any:
    """Return a method that keeps the pinned gates.

    Raises
    ------
    BadInputError
        The method cannot, and there are some.
    """
    if not pins.gates:
        return method
    if not isinstance(method, KeepsGates):
        raise BadInputError(
            f"method {method.name} cannot keep a gate",
            code="no-gates",
            where="--pin",
            hint="cp-sat and brute-force can",
        )
    return method.with_gates(pins.gates)


class PinnedMethod:
    """Another method on the options that pins leave; its plan is one of the whole.

    Parameters
    ----------
    method : Method
        Keeps the gates already (`gated`).
    pins : Pinned
        Of the problem it is going to be asked.
    """

    def __init__(self, method: Planner, pins: Pinned) -> None:
        self.name = method.name
        self.method = method
        self.pins = pins

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the method's result; bound and proof are about plans with the pins.

        Raises
        ------
        ContradictionError
            The plan does not keep what is pinned.
        """
        left = replace(self.pins.problem, sram_bytes=problem.sram_bytes)
        start = limits.warm_start
        if start is not None:
            start = self.pins.translate(start)
        result = self.method.solve(left, replace(limits, warm_start=start))
        if result.plan is None:
            return result
        plan = self.pins.restore(result.plan)
        if self.pins.translate(plan) is None:
            raise ContradictionError(f"{self.name}: its plan does not keep the pins")
        return replace(result, plan=plan)


def require_room(pins: Pinned) -> None:
    """Refuse pins with which no plan can exist, where that is plain to see.

    P_j gated at g waits during the executes g … j − 1: each of them needs room for its
    smallest option beside the smallest options of all that wait.

    Raises
    ------
    InfeasibleError
        Names the execute, the pinned preloads, and the bytes needed and there.
    """
    problem = pins.problem
    for i, operator in enumerate(problem.operators):
        waiting = [j for j, gate in pins.gates.items() if gate <= i < j]
        sizes = {j: _least_preload(problem, j) for j in waiting}
        needed = operator.least_bytes + sum(sizes.values())
        held = ", ".join(
            f"{problem.operators[j].name} (gate {pins.gates[j]}, at least {size} B)"
            for j, size in sizes.items()
        )
        if needed > problem.sram_bytes:
            beside = f" beside the pinned preloads of {held}" if held else ""
            raise InfeasibleError(
                f"operator {operator.name}: its smallest option left needs "
                f"{operator.least_bytes} B{beside}: {needed} B{in_kib(needed)} in "
                f"all, {problem.sram_bytes} B{in_kib(problem.sram_bytes)} are usable",
                code="pins-do-not-fit",
                where="--pin",
                hint="pin a later gate or a smaller option",
                needed_bytes=needed,
                available_bytes=problem.sram_bytes,
                smallest_capacity_bytes=None,
            )
        most = problem.max_outstanding
        if most is not None and len(waiting) > most:
            raise InfeasibleError(
                f"{len(waiting)} pinned preloads wait during {operator.name}: {held}; "
                f"max_outstanding is {most}",
                code="pins-do-not-fit",
                where="--pin",
                hint="pin a later gate",
            )


def _least_preload(problem: ScheduleProblem, j: int) -> int:
    return min(option.preload_bytes for option in problem.operators[j].options)
