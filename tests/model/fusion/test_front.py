"""Fronts of energy against latency."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.fusion.front import front


@dataclass(frozen=True)
class At:
    energy: float
    latency: float


def test_a_front_holds_what_no_other_point_beats_by_rising_latency() -> None:
    points = (At(5, 3), At(7, 2), At(7, 4), At(4, 4), At(7, 3))
    assert front(points) == (At(7, 2), At(5, 3), At(4, 4))


def test_of_points_one_rounding_apart_a_front_holds_one() -> None:
    tiny = 1e-15
    assert front([At(5 + 5 * tiny, 3), At(5, 3 + 3 * tiny)]) == (At(5 + 5 * tiny, 3),)
    assert front([At(7, 3 - 3 * tiny), At(5, 3)]) == (At(5, 3),)


def test_equal_points_are_one() -> None:
    assert front([At(1, 1), At(1, 1)]) == (At(1, 1),)


def test_the_front_of_nothing_is_empty() -> None:
    assert front(()) == ()
