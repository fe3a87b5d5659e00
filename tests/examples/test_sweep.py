from __future__ import annotations

from pathlib import Path

from elkhound.experiments import grid_points, point
from elkhound.experiments.point_run import run_point
from elkhound.model.io import load_grid
from elkhound.model.result import Status

GRID = Path(__file__).parent.parent.parent / "examples" / "sweep.yaml"


def test_the_example_has_thirty_points_with_an_exact_method() -> None:
    points = grid_points(load_grid(GRID))
    assert len(points) == 30
    assert len({p.subject.key for p in points}) == 6


def test_a_point_of_the_example_is_planned_to_the_optimum() -> None:
    points = grid_points(load_grid(GRID))
    basic, *_, exact = (run_point(p) for p in points[:5])
    assert exact.row.status is Status.OPTIMAL
    assert basic.row.objective is not None
    assert exact.row.objective is not None
    assert basic.row.objective > exact.row.objective
    assert point(points[0].subject, "basic", limits=points[0].limits).key == (
        points[0].key
    )
