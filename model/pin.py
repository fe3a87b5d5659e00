"""Decisions of a schedule that a user keeps, and the problem that is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from elkhound.model.result import Method
from elkhound.model.schedule import (
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)


@dataclass(frozen=True, slots=True)
class Pin:
    """What is kept of one operator; what is None or not named stays free.

    Parameters
    ----------
    operator : str
        Its name in the problem.
    option : int or None
        Index of its option.
    splits : tuple of (str, int)
        Spatial split of some of its dimensions.
    gate : int or None
        Executes issued before its preload.
    """

    operator: str
    option: int | None = None
    splits: tuple[tuple[str, int], ...] = ()
    gate: int | None = None

    def keeps(self, index: int, option: ScheduleOption) -> bool:
        """Whether an option of the operator is one that the pin leaves."""
        if self.option is not None and index != self.option:
            return False
        if not self.splits:
            return True
        cut = {} if option.payload is None else dict(option.payload.splits)
        return all(cut.get(name) == parts for name, parts in self.splits)


@dataclass(frozen=True, slots=True)
class Pinned:
    """A problem with the options and gates that pins leave.

    Parameters
    ----------
    problem : ScheduleProblem
        Every operator with the options left.
    kept : tuple of tuple of int
        By operator, the original index of every option left.
    gates : mapping of int to int
        By operator index, the gates that are kept.
    narrowed : tuple of int
        Operators of which some options are left out.
    """

    problem: ScheduleProblem
    kept: tuple[tuple[int, ...], ...]
    gates: Mapping[int, int]
    narrowed: tuple[int, ...] = ()

    @property
    def said(self) -> str:
        """The pins in words."""
        names = [operator.name for operator in self.problem.operators]
        gates = [f"gate {gate} of {names[j]}" for j, gate in self.gates.items()]
        options = [
            f"options {', '.join(map(str, self.kept[j]))} of {names[j]}"
            for j in self.narrowed
        ]
        return "; ".join((*gates, *options))

    def restore(self, plan: Schedule) -> Schedule:
        """Return a plan with the option indices of the whole problem."""
        chosen = zip(self.kept, plan.options, strict=True)
        return Schedule(plan.gates, tuple(kept[index] for kept, index in chosen))

    def translate(self, plan: Schedule) -> Schedule | None:
        """Return a plan of the whole problem as one of what is left; None if none."""
        if any(plan.gates[j] != gate for j, gate in self.gates.items()):
            return None
        chosen = tuple(zip(self.kept, plan.options, strict=True))
        if any(index not in kept for kept, index in chosen):
            return None
        return Schedule(plan.gates, tuple(kept.index(index) for kept, index in chosen))


def pinned(problem: ScheduleProblem, pins: tuple[Pin, ...]) -> Pinned:
    """Return what pins leave of a problem; each must leave an option.

    Raises
    ------
    ValueError
        A pin leaves no option of its operator.
    """
    by_name = {pin.operator: pin for pin in pins}
    operators, kept = [], []
    for operator in problem.operators:
        left = options_left(operator, by_name.get(operator.name))
        if not left:
            raise ValueError(f"operator {operator.name}: the pin leaves no option")
        kept.append(left)
        options = tuple(operator.options[k] for k in left)
        operators.append(replace(operator, options=options))
    gates = {
        j: gate
        for j, operator in enumerate(problem.operators)
        if (pin := by_name.get(operator.name)) and (gate := pin.gate) is not None
    }
    narrowed = tuple(
        j for j, o in enumerate(problem.operators) if len(kept[j]) < len(o.options)
    )
    rest = replace(problem, operators=tuple(operators))
    return Pinned(rest, tuple(kept), gates, narrowed)


def options_left(operator: ScheduleOperator, pin: Pin | None) -> tuple[int, ...]:
    """Return the indices of an operator's options that a pin leaves."""
    return tuple(
        k
        for k, option in enumerate(operator.options)
        if pin is None or pin.keeps(k, option)
    )


@runtime_checkable
class KeepsGates(Protocol):
    """A method that can search only schedules with some gates given."""

    def with_gates(self, gates: Mapping[int, int]) -> Method[ScheduleProblem, Schedule]:
        """Return the method on schedules with these gates, by operator index."""
