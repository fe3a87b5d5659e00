"""Which operators are alike: equal operators share every precomputed table."""

from __future__ import annotations

from elkhound.model.schedule import ScheduleOption, ScheduleProblem


def shape_numbers(problem: ScheduleProblem) -> list[int]:
    """Return for every operator the first one whose options have equal numbers.

    The numbers are those that a planner decides by: not the phases inside an execute,
    nor the payload, which names the operator's own tensors.
    """
    by_object: dict[int, int] = {}
    by_value: dict[tuple[tuple[int, ...], ...], int] = {}
    shapes = []
    for i, operator in enumerate(problem.operators):
        identity = id(operator.options)
        if identity not in by_object:
            numbers = tuple(map(_numbers, operator.options))
            by_object[identity] = by_value.setdefault(numbers, i)
        shapes.append(by_object[identity])
    return shapes


def _numbers(option: ScheduleOption) -> tuple[int, ...]:
    return (
        option.execute_plan,
        option.execute_bytes,
        option.preload_bytes,
        option.preload_cycles,
        option.preload_link_cycles,
        option.execute_cycles,
        option.execute_link_cycles,
    )


def fastest_first(options: tuple[ScheduleOption, ...]) -> list[int]:
    """Return the options by execute cycles; ties: smaller, then shorter, preload."""
    return sorted(
        range(len(options)),
        key=lambda k: (
            options[k].execute_cycles,
            options[k].preload_bytes,
            options[k].preload_cycles,
        ),
    )
