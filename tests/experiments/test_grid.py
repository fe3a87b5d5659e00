from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.methods import PROBLEM
from fakes.said import Said

from elkhound.experiments.grid import grid_points
from elkhound.experiments.points import Point
from elkhound.model.errors import BadInputError
from elkhound.model.io import json_schemas, load_grid, write_problem

Say = Callable[..., Said]

GRID = """\
grid:
  model: [gpt-3-6.7b]
  bind: {batch: [1, 2], seq: 64, layers: 1}
  chip: ipu-pod4-hbm
  spill: auto
  set: {hbm.bytes_per_second: [8.0e12, 16.0e12]}
  methods: [basic, "dp:order=identity"]
"""


@pytest.fixture
def expand(tmp_path: Path) -> Callable[[str], tuple[Point, ...]]:
    """Returns the points of a grid that is written as grid.yaml."""

    def points(text: str) -> tuple[Point, ...]:
        file = tmp_path / "grid.yaml"
        file.write_text(text)
        return grid_points(load_grid(file))

    return points


Expand = Callable[[str], tuple[Point, ...]]


def test_points_are_the_product_with_methods_innermost(expand: Expand) -> None:
    points = expand(GRID)
    assert [
        (
            p.coordinates["bind.batch"],
            p.coordinates["set.hbm.bytes_per_second"],
            p.method,
        )
        for p in points
    ] == [
        (batch, rate, method)
        for batch in (1, 2)
        for rate in (8 * 10**12, 16 * 10**12)
        for method in ("basic", "dp:order=identity")
    ]
    assert points[0].coordinates["model"] == "gpt-3-6.7b"
    chip = points[-1].subject.chip
    assert chip is not None
    assert chip.hbm.bytes_per_second == 16 * 10**12
    assert len({p.key for p in points}) == 8
    assert len({p.subject.key for p in points}) == 4
    assert len({p.subject.graph_key for p in points}) == 2


def test_a_value_stands_for_a_list_of_one(expand: Expand) -> None:
    listed = GRID.replace("ipu-pod4-hbm", "[ipu-pod4-hbm]").replace(
        "seq: 64", "seq: [64]"
    )
    assert [p.key for p in expand(listed)] == [p.key for p in expand(GRID)]


def test_what_a_chip_file_leaves_out_follows_a_changed_field(
    expand: Expand, tmp_path: Path
) -> None:
    """Without a rate of its own the exchange has that of the links."""
    (tmp_path / "chip.yaml").write_text(
        "{chip: c, chips: 1, cores_per_chip: 64, sram_bytes: 4194304,"
        " clock_hz: 1000000000,"
        " links: {topology: all-to-all, bytes_per_second: 4000},"
        " hbm: {bytes_per_second: 8000, latency_ns: 1, controllers: 1},"
        " compute: {mac_per_cycle: 64}}"
    )
    text = GRID.replace("ipu-pod4-hbm", str(tmp_path / "chip.yaml"))
    text = text.replace("hbm.bytes_per_second", "links.bytes_per_second")
    for p in expand(text):
        assert p.subject.chip is not None
        links = p.subject.chip.links
        assert links.exchange_bytes_per_second == links.bytes_per_second
        assert links.bytes_per_second in (8 * 10**12, 16 * 10**12)


def test_limits_can_be_swept(expand: Expand) -> None:
    text = GRID + "  limits: {seconds: [1, 2], seed: [0, 1], workers: 1}\n"
    points = expand(text)
    assert len(points) == 32
    assert {p.limits.seconds for p in points} == {1.0, 2.0}
    assert points[0].coordinates["limits.seconds"] == 1
    assert "limits.seed" not in points[0].coordinates  # rows have their seed


def test_tile_costs_and_thinning_are_axes(expand: Expand) -> None:
    text = GRID.replace("[8.0e12, 16.0e12]", "8.0e12")
    points = expand(text + "  tile_cost: [device, tree]\n  thin: [null, 0.05]\n")
    assert len(points) == 2 * 2 * 2 * 2
    assert len({p.key for p in points}) == 16
    assert {p.subject.flags.tile_cost for p in points} == {"device", "tree"}
    assert {p.coordinates["thin"] for p in points} == {None, 0.05}
    assert {p.thin_permille for p in points} == {None, 50}


def test_fusion_is_an_axis_of_one_graph(expand: Expand) -> None:
    text = GRID.replace("spill: auto", "fuse: [none, pareto-join]")
    points = expand(text.replace("[8.0e12, 16.0e12]", "8.0e12"))
    fused = [p.coordinates["fuse"] for p in points if p.method == "basic"]
    assert sorted(fused) == ["none", "none", "pareto-join", "pareto-join"]
    assert len({p.subject.key for p in points}) == 4
    assert len({p.subject.graph_key for p in points}) == 2


def test_problem_files_are_planned_without_a_chip(
    expand: Expand, tmp_path: Path
) -> None:
    write_problem(tmp_path / "three.json", PROBLEM)
    text = f"grid: {{model: {tmp_path}/three.json, methods: [basic, brute-force]}}"
    points = expand(text)
    assert [p.subject.chip for p in points] == [None, None]
    assert points[0].subject.kind == "schedule"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        pytest.param(
            "chip:", "chipp:", 4, r"unknown key grid.chipp \(did you mean chip\?\)",
            id="key",
        ),
        pytest.param(
            "basic", "basik", 7, r"methods\[0\]: unknown method 'basik' \(did you mean",
            id="method",
        ),
        pytest.param(
            "order=identity", "order=identitty", 7, r"methods\[1\]: .*order cannot be",
            id="setting",
        ),
        pytest.param(
            "batch:", "bach:", 2, r"unknown symbol 'bach' to bind \(did you mean batch",
            id="symbol",
        ),
        pytest.param(
            "ipu-pod4-hbm", "ipu-pod5", 4, r"chip\[0\]: no chip is called 'ipu-pod5'",
            id="chip",
        ),
        pytest.param(
            "hbm.bytes", "hbm.bites", 6, r"unknown key hbm.bites_per_second \(did you",
            id="chip-field",
        ),
        pytest.param(
            "hbm.bytes", "hbn.bytes", 6, r"unknown key hbn \(did you mean hbm\?\)",
            id="chip-section",
        ),
        pytest.param(
            "hbm.bytes_per_second: [8.0e12, 16.0e12]", "links.rows: [8]", 6,
            r"links.rows has no effect with topology all-to-all", id="no-effect",
        ),
        pytest.param(
            "spill: auto", "patterns: true", 5,
            r"patterns: has no effect on workload gpt-3-6.7b", id="no-effect-on-model",
        ),
        pytest.param(
            "[1, 2]", "[1, 1]", 1, r"gpt-3-6.7b auto 1 64 1 ipu-pod4.* is there twice",
            id="twice",
        ),
        pytest.param(
            "[basic,", "[elk-dyn, 'elk-dyn:allocator=delta',", 1,
            r"elk-dyn and .* are the same point", id="the-same-variant",
        ),
        pytest.param(
            "[1, 2]", "[1, two]", 3, r"grid.bind.batch\[1\] is 'two', must be an int",
            id="value",
        ),
        pytest.param(
            "[1, 2]", "[]", 3, r"bind.batch has 0 entries, must be", id="empty"
        ),
        pytest.param("grid:", "grit:", 1, r"unknown key grit", id="top"),
    ],
)  # fmt: skip
def test_a_wrong_grid_is_refused_by_line(
    expand: Expand, old: str, new: str, line: int, message: str
) -> None:
    with pytest.raises(BadInputError, match=message) as refused:
        expand(GRID.replace(old, new))
    assert f"grid.yaml:{line}: " in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        pytest.param(
            "sram_bytes: -49152",
            "set.sram_bytes: chip toy-8: sram_bytes is -49152, must be an integer from "
            "1 to 10^15",
            id="negative",
        ),
        pytest.param(
            "sram_bytes: 512",  # toy-8 reserves 1024 B
            "set.sram_bytes: chip toy-8: reserved_bytes is 1024, must be from 0 to "
            "511, below sram_bytes = 512",
            id="below-reserved",
        ),
        pytest.param(
            "compute.mac_per_cycle: 1.5",
            "set.compute.mac_per_cycle: chip toy-8: compute.mac_per_cycle is 1.5, must "
            "be an integer from 1 to 10^15",
            id="half",
        ),
    ],
)
def test_a_changed_chip_field_has_the_range_of_the_chips_file(
    expand: Expand, changed: str, message: str
) -> None:
    text = (
        "grid:\n  model: llama-2-7b\n  bind: {batch: 1, seq: 64, layers: 1}\n"
        f"  chip: toy-8\n  methods: basic\n  set: {{{changed}}}\n"
    )
    with pytest.raises(BadInputError) as refused:
        expand(text)
    assert str(refused.value).endswith(f"grid.yaml:6: {message}")


@pytest.mark.parametrize(
    ("extra", "key"),
    [
        pytest.param("chip: ipu-pod4-hbm", "chip", id="chip"),
        pytest.param("set: {sram_bytes: 99999}", "set", id="set"),
        pytest.param("bind: {batch: 1}", "bind", id="bind"),
        pytest.param("spill: auto", "spill", id="spill"),
        pytest.param("strict: true", "strict", id="strict"),
    ],
)
def test_what_has_no_effect_on_a_problem_file_is_refused(
    expand: Expand, tmp_path: Path, extra: str, key: str
) -> None:
    write_problem(tmp_path / "three.json", PROBLEM)
    text = f"grid:\n  model: {tmp_path}/three.json\n  methods: basic\n  {extra}\n"
    with pytest.raises(BadInputError, match=f":4: {key}: has no effect on"):
        expand(text)


def test_the_schema_of_grids_is_told() -> None:
    schema = json_schemas()["grid"]
    axes = schema["$defs"]["GridModel"]["properties"]
    assert {"model", "bind", "chip", "set", "methods", "limits"} <= set(axes)


def test_the_verb_keeps_rows_and_says_what_was_reused(say: Say) -> None:
    Path("grid.yaml").write_text(GRID)
    said = say("sweep", "grid.yaml", "--output", "run", "--jobs", "2", "--json")
    assert said.status == 0
    told = json.loads(said.out)
    assert (told["points"], told["reused"], told["computed"]) == (8, 0, 8)
    assert len(told["rows"]) == 8
    assert "8 points: 0 reused, 8 to compute" in said.err
    assert "8 of 8: " in said.err
    table = Path("run/rows.csv").read_text().splitlines()
    assert table[0].startswith("model,spill,bind.batch,bind.seq,bind.layers,chip,set.")
    assert len(table) == 9
    again = say("sweep", "grid.yaml", "--output", "run", "--resume", "--json")
    assert json.loads(again.out)["reused"] == 8
    assert Path("run/rows.csv").read_text().splitlines() == table
    refused = say("sweep", "grid.yaml", "--output", "run")
    assert refused.status == 2
    assert "holds 8 finished points (--resume reuses them" in refused.line


def test_a_failed_point_is_a_row_with_its_reason_and_status_2(say: Say) -> None:
    """Some 2 KiB of SRAM hold no operator; a batch of 10^15 is out of all ranges."""
    text = GRID.replace("[1, 2]", "[1, 1000000000000000]").replace("auto", "none")
    Path("grid.yaml").write_text(text)
    said = say("sweep", "grid.yaml", "--output", "run", "--json")
    told = json.loads(said.out)
    assert len(told["rows"]) == 8
    assert {row["method"] for row in told["rows"]} == {"basic", "dp:order=identity"}
    without = [row for row in told["rows"] if row["objective"] is None]
    assert without
    assert all(row["reason"] for row in without)
    assert said.status == (2 if told["failed"] else 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--retry-failed",), "no effect without --resume", id="retry"),
        pytest.param(
            ("--jobs", "2", "--cluster", "tcp://127.0.0.1:1"),
            "--jobs: has no effect with --cluster", id="jobs",
        ),
    ],
)  # fmt: skip
def test_flags_without_effect_are_refused(
    say: Say, arguments: tuple[str, ...], message: str
) -> None:
    Path("grid.yaml").write_text(GRID)
    said = say("sweep", "grid.yaml", *arguments)
    assert said.status == 2
    assert message in said.line


def test_another_directory_is_not_touched(say: Say) -> None:
    Path("grid.yaml").write_text(GRID)
    Path("run").mkdir()
    Path("run/thesis.tex").touch()
    said = say("sweep", "grid.yaml", "--output", "run", "--resume")
    assert said.status == 2
    assert "run: is not empty and holds no store.sqlite" in said.line
    assert [p.name for p in Path("run").iterdir()] == ["thesis.tex"]


def test_a_sweep_starts_no_worker_for_a_wrong_store(say: Say) -> None:
    Path("grid.yaml").write_text(GRID)
    Path("run").mkdir()
    Path("run/store.sqlite").write_text("half a file")
    said = say("sweep", "grid.yaml", "--output", "run", "--resume")
    assert said.status == 2
    assert "store.sqlite: cannot be used as a store: file is not a data" in said.line
