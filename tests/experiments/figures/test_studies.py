"""Our own studies: their problems, yardsticks, and what they say of known lines."""

from __future__ import annotations

from typing import Any

import pytest

from elkhound.experiments.cli.main import run
from elkhound.experiments.figures import (
    ablation,
    gap_study,
    model_error,
    solver_scaling,
)
from elkhound.experiments.figures.figure import Figure
from elkhound.experiments.figures.instances import (
    drawn_problem,
    lines_of,
    points_of,
    shape_of,
    thirds,
)
from elkhound.experiments.point_run import run_point
from elkhound.experiments.records import with_shared_bounds
from elkhound.model.io import read_problem
from elkhound.model.schedule import ScheduleOperator, ScheduleOption, ScheduleProblem

FIGURES = [m.FIGURE for m in (gap_study, ablation, model_error, solver_scaling)]
CONFIGURATION = {
    "problems": [{"family": "tight-sram", "size": 4, "seed": 1}],
    "methods": ["basic", "dp", "cp-sat", ["cp-sat", 200]],
    "seconds": 20,
}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.name)
@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
def test_every_point_of_a_study_is_legal_and_another(
    figure: Figure, quick: bool
) -> None:
    configuration = figure.measure.configuration(quick)
    configuration["problems"] = configuration["problems"][:6]
    points = points_of(configuration)
    assert len({p.key for p in points}) == len(points)


def test_the_command_beside_a_worst_case_writes_that_problem(tmp_path: Any) -> None:
    path = tmp_path / "worst.json"
    flags = "--kind schedule --family unstructured --size 4 --seed 2"
    assert run(["generate", *flags.split(), "--output", str(path)]) == 0
    written = read_problem(path)
    assert isinstance(written, ScheduleProblem)
    assert written.operators == drawn_problem("unstructured", 4, 2).operators


def test_every_method_is_measured_against_the_bound_over_all_orders() -> None:
    points = points_of(CONFIGURATION)
    records = with_shared_bounds([run_point(point) for point in points])
    lines = list(lines_of(list(zip(points, records, strict=True))))
    exact = lines[2]
    assert exact["status"] == "optimal"
    assert {line["free_bound"] for line in lines} == {exact["objective"]}
    for line in lines:
        far = (line["objective"] - exact["objective"]) / line["objective"]
        assert line["free_gap"] == pytest.approx(far)
    assert lines[3]["thinned"] == 200


def test_what_presses_on_a_problem_is_told_by_hand() -> None:
    # one operator: needs 30 B, preloads 20 B in 8 cycles, executes in 16, links 6 + 4
    option = ScheduleOption(0, 30, 20, 8, 4, 16, 6)
    problem = ScheduleProblem(40, (ScheduleOperator("a", (option,)),))
    assert shape_of(problem) == {
        "room": 10 / 20,
        "hbm_share": 0.5,
        "link_share": 10 / 16,
    }


def test_thirds_put_every_line_in_one_group() -> None:
    lines = [{"room": value / 7} for value in (5, 3, 3, 9, 1, 8, 2)]
    groups = thirds(lines, "room")
    assert sorted(map(len, groups.values())) == [2, 2, 3]


def line(method: str, **known: Any) -> dict[str, Any]:
    about = {"family": "layers", "size": 4, "seed": 0, "plans": 3, "states": 2}
    shape = {"room": 0.5, "hbm_share": 1.0, "link_share": 1.0, "status": "optimal"}
    return {**about, **shape, "method": method, "contention": "stretch", **known}


def test_the_gap_study_counts_optima_and_names_the_worst_case() -> None:
    lines = [
        line("basic", free_gap=0.0),
        line("basic", free_gap=0.5, seed=9),
        line("cp-sat", free_gap=0.0),
    ]
    said = gap_study.found(lines)
    assert "CP-SAT proves 1 of 1" in said
    assert "basic is optimal on 1 of 2, mean gap 25.00 %, worst 50.0 %" in said
    assert "--family layers --size 4 --seed 9" in said


def test_the_ablation_tells_thinned_plans_from_others() -> None:
    lines = [
        line("cp-sat", free_gap=0.0),
        line("cp-sat", free_gap=0.02, thinned=100),
        line("cp-sat", free_gap=0.04, thinned=100),
    ]
    assert "none 0.00 (1), ε = 10 % 3.00 (2)" in ablation.found(lines)


def test_the_model_error_counts_reversed_pairs() -> None:
    # planned 10 < 12 < 14, simulated 11, 15, 13: only the last pair turns round
    plans = [("basic", 10, 11), ("static", 12, 15), ("dp", 14, 13)]
    lines = [
        line(name, objective=p, simulated=s, model_error=s / p - 1)
        for name, p, s in plans
    ]
    assert "1 of 3 pairs of methods reversed" in model_error.found(lines)


def test_solver_scaling_names_the_largest_proof() -> None:
    lines = [
        line("dp", cpu_seconds=0.1),
        line("dp", size=6, cpu_seconds=0.3),
        line("dp", size=8, cpu_seconds=9.0, status="feasible"),
    ]
    said = solver_scaling.found(lines)
    assert said == "dp proves 2 of 3, the largest with 6 operators in 0.30 CPU s."


@pytest.mark.parametrize("figure", FIGURES, ids=[figure.name for figure in FIGURES])
def test_studies_are_drawn(figure: Figure) -> None:
    known = {"free_gap": 0.1, "model_error": 0.1, "cpu_seconds": 0.1}
    lines = [
        line(method, thinned=thin, max_outstanding=limit, **known)
        for method in ("basic", "static", "elk-dyn", "dp", "cp-sat")
        for thin in (None, 50)
        for limit in (None, 1)
    ]
    lines += [{**line("basic", **known), "family": None, "model": "llama-2-13b"}]
    drawing = figure.draw(lines)
    assert all(axes.get_children() for axes in drawing.axes)
