"""Small schedule problems, made by hand, on which one idea of a planner loses."""

from __future__ import annotations

from collections.abc import Callable

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.schedule import (
    Contention,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)


def adversarial_schedule(name: str) -> ScheduleProblem:
    """Return a hand-made problem by name.

    Parameters
    ----------
    name : str
        A key of `ADVERSARIAL`.
    """
    if name not in ADVERSARIAL:
        raise BadInputError(
            f"adversarial problem {name} is unknown",
            hint=nearest(name, list(ADVERSARIAL)),
        )
    return ADVERSARIAL[name]()


def one_ahead() -> ScheduleProblem:
    """Reward preloading more than one operator ahead.

    `head` runs 50 cycles; two short operators later `tail` needs a preload of 45.
    Issued beside `head` it is hidden: 2 + 50 + 1 + 1 + 5 = 59 cycles in all. Issued one
    operator ahead, it starts at 53, is waited for until 98, and the end is at 103.
    """
    return _problem(
        "one-ahead",
        100,
        head=[_option(20, 10, preload=(2, 1), execute=(50, 0))],
        short0=[_option(10, 5, preload=(1, 1), execute=(1, 0))],
        short1=[_option(10, 5, preload=(1, 1), execute=(1, 0))],
        tail=[_option(40, 40, preload=(45, 20), execute=(5, 0))],
    )


def fixed_split() -> ScheduleProblem:
    """Reward dividing SRAM anew at every step.

    `wide` needs 80 of 100 B to run in 10 cycles instead of 60, with nothing beside it;
    `data` wants 70 B preloaded, beside `narrow`, to run in 10 cycles instead of 50. A
    split that holds for the whole model pays for one of the two. Optimum: 10 + 40 + 10.
    """
    return _problem(
        "fixed-split",
        100,
        wide=[
            _option(80, execute=(10, 0)),
            _option(20, execute=(60, 0), plan=1),
        ],
        narrow=[_option(25, 5, preload=(5, 2), execute=(40, 0))],
        data=[
            _option(75, 70, preload=(30, 10), execute=(10, 0)),
            _option(75, 15, preload=(30, 10), execute=(50, 40)),
        ],
    )


def reordered() -> ScheduleProblem:
    """Reward a preload order other than the execution order.

    `large` cannot lie beside `first`, `slow` can. In execution order P_slow waits for
    P_large and so for E_first: 2 + 60 + 10 + 60 + 5 = 137 cycles. Issued ahead of
    P_large it is hidden: 2 + 60 + 10 + 5 + 5 = 82.
    """
    return _problem(
        "reordered",
        100,
        first=[_option(60, 10, preload=(2, 1), execute=(60, 0))],
        large=[_option(80, 80, preload=(10, 5), execute=(5, 0))],
        slow=[_option(15, 15, preload=(60, 30), execute=(5, 0))],
    )


def stretch_trap() -> ScheduleProblem:
    """Punish preloading whenever there is room.

    `busy` exchanges all of its 100 cycles, so a preload beside it costs 100 more and
    hides only 20: 5 + 200 + 10 = 215 against 5 + 100 + 20 + 10 = 135 in turn.
    """
    return _problem(
        "stretch-trap",
        100,
        busy=[_option(20, 10, preload=(5, 2), execute=(100, 100))],
        next=[_option(20, 10, preload=(20, 10), execute=(10, 0))],
    )


def frozen_choice() -> ScheduleProblem:
    """Punish fixing an execute plan before what it forbids is known.

    Alone, `second` is faster by 5 cycles in the plan that preloads 50 B; only the
    other, of 20 B, fits beside `first` and hides 40 cycles there. Planned backwards,
    the fast one is taken first and kept: 5 + 50 + 40 + 5 = 100, not 5 + 50 + 10 = 65.
    """
    return _problem(
        "frozen-choice",
        100,
        first=[_option(60, 50, preload=(5, 2), execute=(50, 0))],
        second=[
            _option(50, 50, preload=(40, 20), execute=(5, 0)),
            _option(50, 20, preload=(40, 20), execute=(10, 0), plan=1),
        ],
    )


ADVERSARIAL: dict[str, Callable[[], ScheduleProblem]] = {
    "one-ahead": one_ahead,
    "fixed-split": fixed_split,
    "reordered": reordered,
    "stretch-trap": stretch_trap,
    "frozen-choice": frozen_choice,
}


def _problem(
    name: str, sram_bytes: int, **options: list[ScheduleOption]
) -> ScheduleProblem:
    operators = tuple(
        ScheduleOperator(operator, tuple(choices))
        for operator, choices in options.items()
    )
    return ScheduleProblem(sram_bytes, operators, Contention.STRETCH, name=name)


def _option(
    execute_bytes: int,
    preload_bytes: int = 0,
    *,
    preload: tuple[int, int] = (0, 0),
    execute: tuple[int, int],
    plan: int = 0,
) -> ScheduleOption:
    """Return an option; times come as (cycles, link cycles)."""
    return ScheduleOption(
        execute_plan=plan,
        execute_bytes=execute_bytes,
        preload_bytes=preload_bytes,
        preload_cycles=preload[0],
        preload_link_cycles=preload[1],
        execute_cycles=execute[0],
        execute_link_cycles=execute[1],
    )
