from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.methods import LATE_CYCLES, PROBLEM

from elkhound.experiments.point_run import run_point
from elkhound.experiments.points import Point, PointLimits, point, subject
from elkhound.experiments.records import (
    Record,
    record_document,
    record_from,
    with_shared_bounds,
)
from elkhound.experiments.row_table import RowTable
from elkhound.experiments.source import ModelFlags
from elkhound.experiments.store import Store
from elkhound.model.errors import BadInputError
from elkhound.model.io import load_chip, write_problem
from elkhound.model.limits import Limits
from elkhound.model.result import Status

METHODS = ("basic", "brute-force", "ideal")


def three(method: str = "basic") -> Point:
    return point(subject(PROBLEM), method)


@pytest.fixture(scope="module")
def records() -> tuple[Record, ...]:
    """Three methods on three operators."""
    return tuple(run_point(three(method)) for method in METHODS)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(tmp_path / "store.sqlite") as made:
        yield made


def test_a_key_is_the_same_for_the_same_question() -> None:
    assert three().key == three().key
    renamed = point(subject(PROBLEM), "basic", coordinates={"run": "another name"})
    assert renamed.key == three().key


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(three("static"), id="method"),
        pytest.param(
            point(subject(PROBLEM), "basic", limits=Limits(seconds=9, workers=1)),
            id="limits",
        ),
        pytest.param(
            point(subject(PROBLEM), "basic", limits=Limits(seed=1, workers=1)),
            id="seed",
        ),
        pytest.param(
            point(subject(PROBLEM), "basic", point_limits=PointLimits(seconds=1)),
            id="point-limits",
        ),
        pytest.param(
            point(subject(replace(PROBLEM, sram_bytes=31)), "basic"), id="problem"
        ),
    ],
)
def test_a_key_changes_with_all_that_a_row_depends_on(other: Point) -> None:
    assert other.key != three().key


def test_a_variant_has_the_key_of_what_it_stands_for() -> None:
    plain = three("elk-dyn")
    assert three("elk-dyn:allocator=delta").key == plain.key
    assert three("elk-dyn:allocator=knapsack-dp").key != plain.key


def test_a_file_is_known_by_what_it_holds_not_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write_problem(tmp_path / "p.json", PROBLEM)
    write_problem(tmp_path / "a" / "p.json", PROBLEM)
    here = subject(str(tmp_path / "p.json"))
    assert subject(str(tmp_path / "a" / "p.json")).key == here.key
    write_problem(tmp_path / "p.json", replace(PROBLEM, sram_bytes=31))
    assert subject(str(tmp_path / "p.json")).key != here.key


def test_a_key_changes_with_the_chip_and_the_graph_key_does_not() -> None:
    bind = {"batch": 1, "seq": 16, "layers": 1}
    flags = ModelFlags(bind=bind, chip="toy-64")
    slow = load_chip("toy-64", {"hbm.bytes_per_second": 10**9})
    here, there = (subject("gpt-3-6.7b", flags=flags, chip=c) for c in (None, slow))
    assert here.key != there.key
    assert here.graph_key == there.graph_key


def test_the_package_version_is_part_of_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = three().key
    monkeypatch.setattr("elkhound.experiments.points.own_version", lambda: "other")
    assert three().key != before


def test_a_store_returns_what_it_was_given(
    store: Store, records: tuple[Record, ...]
) -> None:
    for record in records:
        store.add(record)
    assert store.all_records() == records
    assert store.get(records[1].key) == records[1]
    assert store.get("another") is None
    assert len(store) == 3


def test_a_record_survives_json(records: tuple[Record, ...]) -> None:
    for record in records:
        text = json.dumps(record_document(record))
        assert record_from(record.key, json.loads(text)) == record


def test_of_two_records_of_a_point_the_first_stays(
    store: Store, records: tuple[Record, ...]
) -> None:
    first = records[0]
    store.add(first)
    store.add(replace(first, row=replace(first.row, reason="late")))
    assert store.all_records() == (first,)


def test_records_come_in_the_order_of_the_latest_grid(
    store: Store, records: tuple[Record, ...]
) -> None:
    for record in records:
        store.add(record)
    points = [three(method) for method in reversed(METHODS)]
    store.set_grid(points[:2])
    assert [r.row.method for r in store.records()] == ["ideal", "brute-force"]
    assert [r.row.method for r in store.records(points)] == list(reversed(METHODS))


def test_coordinates_are_those_of_the_latest_grid(store: Store) -> None:
    store.add(run_point(three()))
    store.set_grid([point(subject(PROBLEM), "basic", coordinates={"run": 2})])
    assert store.records()[0].coordinates == {"run": 2}


def test_failed_points_can_be_forgotten(
    store: Store, records: tuple[Record, ...]
) -> None:
    store.add(records[0])
    store.add(replace(records[1], failed=True))
    assert store.forget_failed([r.key for r in records]) == 1
    assert store.finished(r.key for r in records) == {records[0].key}


def test_two_writers_do_not_disturb_each_other(
    tmp_path: Path, records: tuple[Record, ...]
) -> None:
    path = tmp_path / "store.sqlite"

    def write(prefix: str) -> None:
        with Store(path) as mine:
            for k in range(50):
                mine.add(replace(records[0], key=f"{prefix}{k}"))
                mine.add(replace(records[0], key=f"both{k}"))

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store(path) as after:
        assert len(after) == 150  # 50 of a, 50 of b, 50 of both


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """A process killed as it makes its store may leave one."""
    path = tmp_path / "store.sqlite"
    path.touch()
    with Store(path) as store:
        assert len(store) == 0


def damaged(path: Path, records: tuple[Record, ...]) -> None:
    """A store of 60 rows whose second half was never written."""
    with Store(path) as store:
        for k in range(60):
            store.add(replace(records[0], key=str(k)))
        store._base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.truncate(path, path.stat().st_size // 2)


def test_a_half_written_store_is_refused(
    tmp_path: Path, records: tuple[Record, ...]
) -> None:
    path = tmp_path / "store.sqlite"
    damaged(path, records)
    with pytest.raises(BadInputError, match=r"store.sqlite: .*(damaged|malformed)"):
        Store(path)


def test_a_text_file_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_text("model,method\n" * 100)
    with pytest.raises(BadInputError, match="file is not a database"):
        Store(path)


def test_a_foreign_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE points (x)")
    base.commit()
    base.close()
    with pytest.raises(BadInputError, match="database of another program"):
        Store(path)


def test_a_store_of_another_layout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    Store(path).close()
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version = 99")
    base.close()
    with pytest.raises(BadInputError, match="has layout 99, this version reads"):
        Store(path)


def test_a_store_that_must_exist_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with pytest.raises(BadInputError, match="no such store"):
        Store(path, must_exist=True)
    assert not path.exists()


def test_a_proof_of_one_method_is_the_bound_of_the_others(
    records: tuple[Record, ...],
) -> None:
    """Brute force proves the optimum, and basic's gap is to it."""
    basic, exact, ideal = with_shared_bounds(records)
    assert exact.row.status is Status.OPTIMAL
    assert basic.row.lower_bound == exact.row.objective
    assert basic.row.bound_kind == "proof"
    assert ideal == records[2]


def test_a_bound_above_a_verified_plan_is_a_contradiction(
    records: tuple[Record, ...],
) -> None:
    (source, bound), *_ = records[1].bounds
    high = type(records[1].bounds[0])(source, replace(bound, value=10**6))
    wrong = replace(records[1], bounds=(high,))
    basic, *_ = with_shared_bounds([records[0], wrong])
    assert len(basic.contradictions) == 1
    assert "bound 1000000 of its problem exceeds" in basic.contradictions[0]


def test_an_infeasible_problem_is_an_answer_and_a_bad_one_a_failure() -> None:
    tight = run_point(point(subject(replace(PROBLEM, sram_bytes=5)), "basic"))
    assert (tight.row.status, tight.failed) == (Status.INFEASIBLE, False)
    assert "smallest capacity that works" in tight.row.reason
    unbound = run_point(point(subject("gpt-3-6.7b", flags=ModelFlags()), "basic"))
    assert (unbound.row.status, unbound.failed) == (Status.UNKNOWN, True)
    assert unbound.row.objective is None
    assert "batch" in unbound.row.reason


def test_a_record_keeps_the_plan_and_the_numbers_of_its_simulation(
    records: tuple[Record, ...],
) -> None:
    basic = records[0]
    assert basic.plan is not None
    assert basic.score is not None
    assert len(basic.plan["gates"]) == len(basic.plan["options"]) == 3
    assert basic.score["makespan_cycles"] == basic.row.simulated
    assert sum(basic.score["split"].values()) == basic.row.simulated
    assert basic.row.objective is not None
    assert basic.row.objective <= LATE_CYCLES


def test_csv_has_coordinates_first_and_leaves_unknown_values_empty(
    records: tuple[Record, ...],
) -> None:
    table = RowTable(tuple(record.flat() for record in records))
    header, *lines = table.csv_text().splitlines()
    assert header.startswith("model,kind,method,status,objective,")
    assert len(lines) == 3
    assert lines[2].startswith("three,schedule,ideal,unknown,,")
    assert header == ",".join(table.columns)
