"""`elkhound place`, and placement problems in the other verbs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.said import Said

from elkhound.model.io import read_placement_csv

# b1 + b3 + b5 = 12 at steps 0 … 2, then b2 in the place of b1: 12 B are enough.
CSV = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"


@pytest.fixture
def buffers_file(tmp_path: Path) -> str:
    """buffers.csv: five buffers of 4 B, 12 B at once."""
    (tmp_path / "buffers.csv").write_text(CSV)
    return "buffers.csv"


def test_place_prints_rows_and_keeps_offsets(
    say: Callable[..., Said], buffers_file: str
) -> None:
    said = say(
        "place", buffers_file, "--capacity", "12", "--methods", "best-fit,first-fit",
        "--run-dir", "run", "--json",
    )  # fmt: skip
    assert said.status == 0
    document = json.loads(said.out)
    assert document["problem"]["kind"] == "placement"
    assert document["problem"]["capacity_bytes"] == 12
    for row, method in zip(document["rows"], ("best-fit", "first-fit"), strict=True):
        assert row["kind"] == "placement"
        assert row["status"] == "optimal"
        assert row["objective"] == row["height_bytes"] == row["lower_bound"] == 12
        assert row["verified"] is True
        assert row["simulated"] is None
        assert row["offsets_file"] == f"run/plans/{method}.csv"
        assert read_placement_csv(row["offsets_file"]).plan is not None
    assert (Path("run") / "rows.csv").read_text().count("run/plans/") == 2


def test_methods_agree_on_least_heights(say: Callable[..., Said]) -> None:
    say("generate", "--kind", "placement", "--size", "8", "--output", "p.json")
    said = say(
        "place", "p.json", "--minimise", "--capacity", "999", "--workers", "1",
        "--methods", "best-fit,first-fit:order=area,cp-sat,search", "--no-plots",
        "--json",
    )  # fmt: skip
    document = json.loads(said.out)
    assert document["contradictions"] == []
    fit, other, exact, search = document["rows"]
    assert exact["status"] == search["status"] == "optimal"
    assert exact["objective"] == search["objective"] == fit["lower_bound"]
    assert min(fit["objective"], other["objective"]) >= exact["objective"]


def test_the_lowest_placement_goes_to_the_output(
    say: Callable[..., Said], buffers_file: str
) -> None:
    said = say(
        "place", buffers_file, "--minimise", "--output", "placed.csv", "--no-plots",
        "--methods", "first-fit",
    )  # fmt: skip
    assert said.status == 0
    assert Path("placed.csv").read_text().startswith("id,lower,upper,size,offset\n")


def test_evaluate_judges_offsets_against_a_problem_file(
    say: Callable[..., Said],
) -> None:
    assert say("generate", "--kind", "placement", "--output", "p.json").status == 0
    written = say("generate", "--kind", "placement", "--output", "p.csv")
    assert "for --capacity" in written.out
    said = say("compare", "p.json", "--methods", "first-fit", "--run-dir", "run")
    assert said.status == 0
    plan = "run/plans/first-fit.csv"
    good = say("evaluate", "p.json", "--plan", plan)
    assert (good.status, "bytes high" in good.out) == (0, True)
    rows = Path(plan).read_text().splitlines()
    rows[1:] = [",".join((*row.split(",")[:4], "0")) for row in rows[1:]]
    Path(plan).write_text("\n".join(rows))
    bad = say("evaluate", "p.json", "--plan", plan)
    assert bad.status == 5
    assert "share" in bad.err
    assert say("evaluate", "--plan", plan).line.endswith(
        "offsets need a placement problem beside them (elkhound evaluate PROBLEM.json "
        "--plan FILE.csv)"
    )


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        pytest.param(
            ("--capacity", "11"), 3, "alive at one step need 12 B", id="live"
        ),
        pytest.param((), 2, "a CSV file holds no capacity (give --capacity", id="none"),
        pytest.param(
            ("--capacity", "12", "--methods", "basic"), 2, "unknown method 'basic'",
            id="method",
        ),
        pytest.param(
            ("--capacity", "12", "--output", "no/where.csv"), 2, "cannot be written",
            id="output",
        ),
    ],
)  # fmt: skip
def test_place_refuses_in_one_line(
    say: Callable[..., Said],
    buffers_file: str,
    arguments: tuple[str, ...],
    status: int,
    message: str,
) -> None:
    said = say("place", buffers_file, *arguments)
    assert said.status == status
    assert message in said.line


def test_place_takes_buffers_only(say: Callable[..., Said], problem_file: str) -> None:
    assert "place takes a placement problem" in say("place", problem_file).line
    assert "is no file of buffers" in say("place", "x.onnx").line
    assert "only placement problems are written as CSV" in (
        say("generate", "--output", "a.csv").line
    )


def test_a_heuristic_that_is_too_high_ends_with_status_4(
    say: Callable[..., Said],
) -> None:
    say("generate", "--kind", "placement", "--size", "10", "--seed", "3",
        "--output", "p.json")  # fmt: skip
    said = say("place", "p.json", "--methods", "best-fit:order=size", "--json")
    row = json.loads(said.out)["rows"][0]
    assert said.status == 4
    assert (row["status"], row["objective"]) == ("unknown", None)
    assert row["reason"] == "found none: its lowest height is 60 B, 5 B over"
    assert row["offsets_file"] is None
