"""Schedule problems small enough to read, and a strategy that draws such ones."""

from __future__ import annotations

from hypothesis import strategies as st

from elkhound.model.schedule import (
    Contention,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)


def option(
    execute_bytes: int = 1,
    preload_bytes: int = 1,
    *,
    h: int = 0,
    y: int = 0,
    t: int = 0,
    x: int = 0,
) -> ScheduleOption:
    """Return an option, with the letters of docs/schedule.md."""
    return ScheduleOption(0, execute_bytes, preload_bytes, h, y, t, x)


def problem(
    *operators: tuple[ScheduleOption, ...] | ScheduleOption,
    sram_bytes: int = 100,
    contention: Contention = Contention.NONE,
    link_stretch_permille: int = 1000,
    max_outstanding: int | None = None,
    resident_bytes: tuple[int, ...] = (),
) -> ScheduleProblem:
    """Return a problem; an operator is its options, or its only one."""
    resident = resident_bytes or (0,) * len(operators)
    return ScheduleProblem(
        sram_bytes,
        tuple(
            ScheduleOperator(
                f"o{i}",
                options if isinstance(options, tuple) else (options,),
                resident[i],
            )
            for i, options in enumerate(operators)
        ),
        contention,
        link_stretch_permille,
        max_outstanding,
    )


@st.composite
def options_(draw: st.DrawFn, streams: bool) -> ScheduleOption:
    """Draw an option; zero cycles, Y = 0 and preload > execute bytes are common."""
    t = draw(st.integers(0, 20))
    x = draw(st.integers(0, t))
    size = draw(st.integers(1, 10))
    if not streams:
        return ScheduleOption(0, size, 0, 0, 0, t, x)
    preload_bytes = draw(st.integers(0, 12))
    h = draw(st.integers(0 if preload_bytes else 1, 25))
    y = draw(st.sampled_from([0, h // 2, h]))
    return ScheduleOption(0, size, preload_bytes, h, y, t, x)


@st.composite
def small_problems(draw: st.DrawFn, most_plans: int = 400) -> ScheduleProblem:
    """Draw a problem of up to 5 operators with at most so many schedules."""
    operators = []
    plans = 1
    for i in range(draw(st.integers(1, 5))):
        streams = draw(st.integers(0, 4)) > 0
        gates = i + 1 if streams else 1
        room = most_plans // (plans * gates)
        if room < 1:
            break
        count = draw(st.integers(1, min(3, room)))
        plans *= gates * count
        drawn = tuple(draw(options_(streams)) for _ in range(count))
        operators.append(
            ScheduleOperator(f"o{i}", drawn, draw(st.sampled_from([0, 0, 1, 3])))
        )
    return ScheduleProblem(
        draw(st.integers(8, 30)),
        tuple(operators),
        draw(st.sampled_from(Contention)),
        draw(st.sampled_from([0, 329, 977, 1000, 1500])),
        draw(st.sampled_from([None, None, 0, 1, 2])),
    )
