from __future__ import annotations

from elkhound.experiments.rows import Row, columns, csv_text, gap, model_error
from elkhound.model.result import Bound, BoundKind, OrderClass, Status

COMMON = (
    "kind",
    "method",
    "status",
    "objective",
    "lower_bound",
    "bound_kind",
    "order",
    "contention",
    "gap",
    "rounding_error",
    "simulated",
    "model_error",
    "verified",
    "wall_seconds",
    "cpu_seconds",
    "seed",
    "version",
    "reason",
)


def bound(value: int) -> Bound:
    return Bound(value, BoundKind.PROOF, OrderClass.free())


def row(kind: str) -> Row:
    return Row(
        kind=kind,
        method="basic",
        status=Status.FEASIBLE,
        objective=50,
        lower_bound=40,
        bound_kind="ideal",
        order="identity",
        contention="stretch",
        gap=0.2,
        rounding_error=0,
        simulated=51,
        model_error=0.02,
        verified=True,
        wall_seconds=0.25,
        cpu_seconds=0.125,
        seed=7,
        version="1",
        simulated_cycles=51,
        bytes_used=9,
    )


def test_the_gap_is_relative_to_the_plan() -> None:
    assert gap(50, bound(40)) == 0.2  # (50 − 40) / 50
    assert gap(50, bound(50)) == 0.0


def test_the_gap_is_unknown_without_plan_or_bound() -> None:
    assert gap(None, bound(40)) is None
    assert gap(50, None) is None


def test_a_plan_of_no_cycles_cannot_be_improved() -> None:
    assert gap(0, bound(0)) == 0.0


def test_the_model_error_is_signed() -> None:
    assert model_error(51, 50) == 51 / 50 - 1
    assert model_error(40, 50) == -0.19999999999999996
    assert model_error(None, 50) is None
    assert model_error(50, None) is None
    assert model_error(0, 0) is None


def test_columns_are_those_of_the_file_format() -> None:
    assert columns("schedule") == (*COMMON, "simulated_cycles", "fused")
    assert columns("allocation") == (*COMMON, "bytes_used")


def test_a_row_in_json_has_the_columns_of_its_kind() -> None:
    assert tuple(row("schedule").document()) == columns("schedule")
    assert row("allocation").document()["bytes_used"] == 9


def test_csv_leaves_unknown_values_empty() -> None:
    header, line = csv_text("schedule", [row("schedule")]).splitlines()
    assert header == ",".join(columns("schedule"))
    assert line == (
        "schedule,basic,feasible,50,40,ideal,identity,stretch,0.2,0,51,0.02,True,"
        "0.25,0.125,7,1,,51,"
    )
