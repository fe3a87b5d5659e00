"""Which operators are alike: equal operators share every precomputed table."""

from __future__ import annotations

from elkhound.model.schedule import ScheduleOption, ScheduleProblem


def shape_numbers(problem: ScheduleProblem) -> list[int]:
    """Return for every operator the first one with equal options."""
    by_object: dict[int, int] = {}
    by_value: dict[tuple[ScheduleOption, ...], int] = {}
    shapes = []
    for i, operator in enumerate(problem.operators):
        identity = id(operator.options)
        if identity not in by_object:
            by_object[identity] = by_value.setdefault(operator.options, i)
        shapes.append(by_object[identity])
    return shapes


def own_bytes(option: ScheduleOption) -> int:
    """Return what an operator itself takes of its step: the larger of its two rows."""
    return max(option.execute_bytes, option.preload_bytes)


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
