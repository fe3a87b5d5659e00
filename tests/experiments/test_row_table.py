from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.methods import PROBLEM
from fakes.said import Said

from elkhound.experiments.point_run import run_point
from elkhound.experiments.points import point, subject
from elkhound.experiments.row_table import RowTable, conditions, read_rows
from elkhound.experiments.store import Store
from elkhound.model.errors import BadInputError

Say = Callable[..., Said]

TABLE = RowTable(
    (
        {"batch": 16, "method": "dp:order=identity", "gap": 0.5, "verified": True},
        {"batch": 32, "method": "basic", "gap": None, "verified": None},
        {"batch": 8, "method": "basic", "gap": 0.25, "verified": False},
    )
)


@pytest.fixture
def store_file(tmp_path: Path) -> str:
    """Three methods on three operators, in run/store.sqlite."""
    (tmp_path / "run").mkdir()
    about = subject(PROBLEM)
    with Store(tmp_path / "run" / "store.sqlite") as store:
        for method in ("basic", "brute-force", "ideal"):
            store.add(run_point(point(about, method)))
    return "run/store.sqlite"


def batches(table: RowTable) -> list[int]:
    return [line["batch"] for line in table.lines]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("method=basic", [32, 8], id="equal"),
        pytest.param("method!=basic", [16], id="different"),
        pytest.param("method=basic,batch=8", [8], id="both"),
        pytest.param("method=dp:order=identity", [16], id="variant"),
        pytest.param("gap=", [32], id="not-known"),
        pytest.param("gap!=,batch=8.0", [8], id="number"),
        pytest.param("verified=true", [16], id="truth"),
    ],
)
def test_conditions_keep_the_rows_that_meet_all(text: str, left: list[int]) -> None:
    assert batches(TABLE.where(conditions(text, TABLE.columns))) == left


def test_a_comma_inside_a_variant_does_not_part_conditions() -> None:
    asked = conditions("method=milp:order=free,backend=cbc,batch=8", TABLE.columns)
    assert asked == [
        ("method", True, "milp:order=free,backend=cbc"),
        ("batch", True, "8"),
    ]


def test_rows_are_sorted_with_unknown_values_last() -> None:
    assert batches(TABLE.sorted_by(["batch"])) == [8, 16, 32]
    assert batches(TABLE.sorted_by(["gap"])) == [8, 16, 32]
    assert batches(TABLE.sorted_by(["-gap"])) == [16, 8, 32]
    assert batches(TABLE.sorted_by(["method", "-batch"])) == [32, 8, 16]


def test_a_column_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadInputError, match=r"no column 'bach' \(did you mean batch"):
        TABLE.sorted_by(["bach"])


def test_a_data_frame_keeps_integers_beside_unknown_values() -> None:
    pandas = pytest.importorskip("pandas", reason="needs the extra tables")
    lines = ({"objective": 3, "gap": None}, {"objective": None, "gap": 0.5})
    frame = RowTable(lines).to_pandas()
    assert frame["objective"][0] == 3
    assert isinstance(frame["objective"].dtype, pandas.Int64Dtype)


def test_the_verb_filters_sorts_and_chooses_columns(say: Say, store_file: str) -> None:
    said = say(
        "rows", store_file, "--where", "status!=unknown", "--sort", "-method",
        "--columns", "method,objective,lower_bound", "--json",
    )  # fmt: skip
    optimum = read_rows(store_file).lines[1]["objective"]
    assert json.loads(said.out)["rows"] == [
        {"method": "brute-force", "objective": optimum, "lower_bound": optimum},
        {"method": "basic", "objective": 15, "lower_bound": optimum},
    ]


def test_the_verb_shows_a_table(say: Say, store_file: str) -> None:
    said = say("rows", "run")
    assert said.status == 0
    assert "brute-force" in said.out
    assert "optimal" in said.out


def test_the_table_has_what_a_grid_varies(say: Say, problem_file: str) -> None:
    Path("grid.yaml").write_text(
        f"grid: {{model: {problem_file}, methods: [basic], contention: [none, charge],"
        " limits: {seed: [0, 1], seconds: [5, 6]}}"
    )
    said = say("sweep", "grid.yaml", "--output", "run")
    heading = next(line for line in said.out.splitlines() if "method" in line)
    assert heading.split()[:4] == ["limits.seconds", "contention", "seed", "method"]
    assert "8 points, 0 reused, 8 computed, 0 failed, 0 missing" in said.out


def test_csv_and_parquet_hold_the_same(say: Say, store_file: str) -> None:
    pandas = pytest.importorskip("pandas", reason="needs the extra tables")
    pytest.importorskip("pyarrow", reason="needs the extra tables")
    for name in ("x.csv", "x.parquet"):
        assert say("rows", store_file, "--output", name).status == 0
    kept = pandas.read_parquet("x.parquet")
    assert list(kept["method"]) == ["basic", "brute-force", "ideal"]
    written = pandas.read_csv("x.csv")
    assert list(written.columns) == list(kept.columns)
    assert list(written["objective"].dropna()) == list(kept["objective"].dropna())


def test_a_program_hears_where_rows_were_written(say: Say, store_file: str) -> None:
    said = say("rows", store_file, "--output", "x.csv", "--json")
    assert json.loads(said.out) == {"output": "x.csv", "count": 3}


def test_parquet_without_its_library_is_refused_in_one_line(
    say: Say, store_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    said = say("rows", store_file, "--output", "x.parquet")
    assert said.status == 2
    assert "Parquet needs the library pyarrow, which is not installed" in said.line
    assert not Path("x.parquet").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--output", "x.txt"), "is neither .csv nor .parquet", id="name"),
        pytest.param(("--where", "statis=optimal"), "did you mean status?", id="where"),
        pytest.param(("--where", "status"), "is not of the form column=", id="form"),
        pytest.param(("--columns", "gab"), "did you mean gap?", id="columns"),
        pytest.param(("--sort", "gap,,"), "has an empty name", id="empty"),
        pytest.param(("--output", "no/x.csv"), "cannot be written", id="place"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    say: Say, store_file: str, arguments: tuple[str, ...], message: str
) -> None:
    said = say("rows", store_file, *arguments)
    assert said.status == 2
    assert message in said.line


def test_the_rows_of_a_comparison_are_rows_too(say: Say, problem_file: str) -> None:
    ask = ("--methods", "basic,static", "--run-dir", "run", "--no-plots")
    say("compare", problem_file, *ask)
    said = say("rows", "run", "--columns", "method", "--json")
    assert json.loads(said.out)["rows"] == [{"method": "basic"}, {"method": "static"}]


def test_a_directory_without_rows_is_refused(say: Say) -> None:
    Path("empty").mkdir()
    assert "holds neither store.sqlite nor rows.json" in say("rows", "empty").line
    assert "no such store" in say("rows", "nowhere").line


def test_an_empty_store_has_no_rows(say: Say) -> None:
    Store(Path("store.sqlite")).close()
    said = say("rows", "store.sqlite", "--json", "--sort", "objective")
    assert json.loads(said.out) == {"rows": []}
