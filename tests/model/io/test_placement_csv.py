from __future__ import annotations

from pathlib import Path

import pytest

from elkhound.model.errors import BadInputError
from elkhound.model.io import (
    read_placement_csv,
    read_problem,
    write_placement_csv,
    write_problem,
)
from elkhound.model.placement import Buffer, Placement, PlacementProblem

BUFFERS = (Buffer("b1", 0, 3, 4), Buffer("b, 2", 3, 9, 5))
PROBLEM = PlacementProblem(12, BUFFERS, minimise=True, name="p")


def test_buffers_and_offsets_come_back(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    write_placement_csv(path, PROBLEM)
    assert path.read_text() == 'id,lower,upper,size\nb1,0,3,4\n"b, 2",3,9,5\n'
    assert read_placement_csv(path).buffers == BUFFERS
    assert read_placement_csv(path).plan is None
    write_placement_csv(path, PROBLEM, Placement((7, 0)))
    assert read_placement_csv(path).plan == Placement((7, 0))


def test_columns_may_come_in_any_order_with_spaces_and_blank_lines(
    tmp_path: Path,
) -> None:
    path = tmp_path / "p.csv"
    path.write_text("size, id,offset,upper,lower\r\n\r\n4,b1,8, 3 ,0\r\n")
    read = read_placement_csv(path)
    assert read.buffers == BUFFERS[:1]
    assert read.plan == Placement((8,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "p.csv:1: column id is missing", id="empty"),
        pytest.param(
            "id,lower,size\n", "p.csv:1: column upper is missing", id="column"
        ),
        pytest.param(
            "id,lower,uper,size\n",
            r"p.csv:1: unknown column 'uper' \(did you mean upper",
            id="misspelt",
        ),
        pytest.param(
            "id,lower,upper,size,size\n", "p.csv:1: column size stands twice", id="two"
        ),
        pytest.param(
            "id,lower,upper,size\na,0,1,2\nb,0,1\n",
            "p.csv:3: 3 values, must be 4",
            id="short row",
        ),
        pytest.param(
            "id,lower,upper,size\n\na,2,2,2\n",
            "p.csv:3: upper is 2, must be above lower = 2",
            id="no lifetime",
        ),
        pytest.param(
            "id,lower,upper,size\na,0,1,-2\n",
            r"p.csv:2: size is '-2', must be an integer from 0 to 1000000000000000$",
            id="negative",
        ),
        pytest.param(
            "id,lower,upper,size\na,0,1,1.5\n", "p.csv:2: size is '1.5'", id="fraction"
        ),
        pytest.param(
            "id,lower,upper,size\na,0,1,1000000000000001\n",
            "p.csv:2: size is 1000000000000001, must be an integer from 0 to 10",
            id="huge",
        ),
        pytest.param(
            "id,lower,upper,size\na,0,1,2\na,1,2,2\n",
            "p.csv:3: id 'a' stands in line 2 too",
            id="name twice",
        ),
        pytest.param(
            "id,lower,upper,size\n,0,1,2\n", "p.csv:2: id is empty", id="name"
        ),
        pytest.param(
            'id,lower,upper,size\n"a,0,1,2\n', "p.csv:2: is not CSV", id="open quote"
        ),
    ],
)
def test_a_bad_row_is_refused_by_line(
    tmp_path: Path, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text(text)
    with pytest.raises(BadInputError, match=message):
        read_placement_csv("p.csv")


def test_a_problem_file_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_problem(path, PROBLEM)
    assert read_problem(path) == PROBLEM


def test_a_bad_buffer_of_a_problem_file_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_problem(path, PROBLEM)
    path.write_text(path.read_text().replace('"end_step": 3', '"end_step": 1'))
    read_problem(path)
    path.write_text(path.read_text().replace('"start_step": 0', '"start_step": 1'))
    with pytest.raises(
        BadInputError, match=r"p.json:\d+: buffer b1: end_step is 1, must be above"
    ):
        read_problem(path)
