"""What verbs print with ``--json``, and their CSV files, fit the schemas of `schema`.

The judges are jsonschema and the csv module, which know nothing of the models and the
tables that the schemas come from.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fakes.said import Said

from elkhound.experiments.cli.main import command_line
from elkhound.experiments.schemas import file_schemas

Say = Callable[..., Said]
SCHEMAS = file_schemas()
ROOT = Path(__file__).parents[2]
SMALL = ("llama-2-7b", "--bind", "batch=1,seq=16,layers=1")
MATMULS = ("--workload", "matmuls", "--accelerator", "simple")


def faults(kind: str, value: object) -> list[str]:
    """What does not fit a schema."""
    found = jsonschema.Draft202012Validator(SCHEMAS[kind]).iter_errors(value)
    return [f"{error.json_path}: {error.message}" for error in found]


def printed(say: Say, *arguments: str, status: int = 0) -> Any:
    said = say(*arguments, "--json")
    assert said.status == status, said.err
    return json.loads(said.out)


def lines_of(kind: str, path: Path) -> list[dict[str, Any]]:
    """The lines of a CSV file, cells read by the types of their columns."""
    with path.open(newline="") as file:
        return [
            {name: cell_of(kind, name, text) for name, text in line.items()}
            for line in csv.DictReader(file)
        ]


def types_of(kind: str, column: str) -> set[str]:
    """The JSON types that a column's cells may have."""
    line = SCHEMAS[kind]["items"]
    cell = line["properties"].get(column, {"type": ["string", "number", "null"]})
    parts = [cell, *cell.get("anyOf", ())]
    said = [part.get("type", "string") for part in parts if "anyOf" not in part]
    return {one for t in said for one in ([t] if isinstance(t, str) else t)}


def cell_of(kind: str, column: str, text: str) -> Any:
    types = types_of(kind, column)
    if text == "" and "null" in types:
        return None
    if "array" in types:
        return json.loads(text)
    if "boolean" in types and text in ("True", "False"):
        return text == "True"
    for name, read in (("integer", int), ("number", float)):
        if name in types:
            try:
                return read(text)
            except ValueError:
                continue
    return text


def test_there_is_a_schema_of_what_every_verb_prints() -> None:
    with_rows = {"compare", "plan", "allocate", "place", "fuse"}
    verbs = set(command_line.list_commands(None)) - with_rows - {"schema"}  # type: ignore[arg-type]
    assert {f"{verb}-output" for verb in verbs} <= set(SCHEMAS)
    others = {"min-capacity-output", "error-output"}
    named = {kind for kind in SCHEMAS if kind.endswith("-output")}
    assert named == {f"{verb}-output" for verb in verbs} | others


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        pytest.param("import-output", ["import", *SMALL], id="import"),
        pytest.param("options-output", ["options", *SMALL], id="options"),
        pytest.param(
            "options-output",
            ["options", *SMALL, "--op", "layer0.q", "--thin", "0.1", "--no-plots"],
            id="options of one",
        ),
        pytest.param("figures-output", ["figures", "--list"], id="figures"),
        pytest.param("chips-output", ["chips"], id="chips"),
        pytest.param("workloads-output", ["workloads"], id="workloads"),
        pytest.param(
            "workloads-output",
            ["workloads", "export", *SMALL, "--output", "m.onnx"],
            id="workloads export",
        ),
        pytest.param("methods-output", ["methods"], id="methods"),
        pytest.param("doctor-output", ["doctor"], id="doctor"),
        pytest.param(
            "tiles-output", ["tiles", "--chip", "toy-8", "--tiles", "5"], id="tiles"
        ),
        pytest.param(
            "generate-output", ["generate", "--output", "p.json"], id="generate"
        ),
        pytest.param(
            "generate-output",
            ["generate", "--kind", "placement", "--output", "p.csv"],
            id="generate csv",
        ),
        pytest.param(
            "generate-output",
            ["generate", "--kind", "fusion", "--output", "w.yaml"],
            id="generate fusion",
        ),
        pytest.param(
            "export-output",
            ["export", "matmuls", "--format", "fusion-workload"],
            id="export workload",
        ),
    ],
)
def test_what_a_verb_prints_fits(kind: str, arguments: list[str], say: Say) -> None:
    document = printed(say, *arguments)
    assert faults(kind, document) == []
    if kind == "methods-output":  # its keys are names
        return
    assert faults(kind, {**document, "unheard_of": 1})
    for key in set(document) - {"run_dir", "hash", "capacity_bytes"}:
        assert faults(kind, {k: v for k, v in document.items() if k != key}), key


def test_spilled_activations_fit(say: Say) -> None:
    text = (ROOT / "model" / "presets" / "chips" / "toy-8.yaml").read_text()
    text = re.sub(r"(?m)^sram_bytes: \d+", "sram_bytes: 185524", text)
    Path("small.yaml").write_text(text)
    model = str(ROOT / "examples" / "decoder_block.onnx")
    flags = ("--bind", "batch=4,context=128", "--chip", "small.yaml")
    document = printed(say, "import", model, *flags, "--spill", "auto")
    assert document["spilled"]
    assert faults("import-output", document) == []


def test_what_is_printed_of_a_problem_and_its_plan_fits(
    say: Say, problem_file: str
) -> None:
    found = printed(say, "compare", problem_file, "--min-capacity")
    assert faults("min-capacity-output", found) == []
    say("plan", problem_file, "--method", "basic", "--output", "p.json")
    for verb in (["evaluate", "--plan", "p.json"], ["simulate", "p.json"]):
        assert faults(f"{verb[0]}-output", printed(say, *verb)) == []
    for form in ("program", "program-json"):
        told = printed(say, "export", "p.json", "--format", form)
        assert faults("export-output", told) == []
    told = printed(say, "export", problem_file, "--format", "lp", "--output", "m.lp")
    assert faults("export-output", told) == []


def test_plans_of_allocations_and_placements_fit(say: Say) -> None:
    for kind, verb, method in (
        ("allocation", "allocate", "delta"),
        ("placement", "place", "best-fit"),
    ):
        say("generate", "--kind", kind, "--output", "q.json")
        say(verb, "q.json", "--methods", method, "--run-dir", kind)
        (plan, *_) = (Path(kind) / "plans").iterdir()
        told = printed(say, "evaluate", "q.json", "--plan", str(plan))
        assert told["kind"] == kind
        assert faults("evaluate-output", told) == []


def test_what_is_printed_of_a_mapping_fits(say: Say) -> None:
    flags = ("--accelerator", "simple", "--no-plots", "--run-dir", "run")
    say("fuse", "matmuls", *flags)
    mapping = "run/plans/pareto-join.txt"
    evaluated = printed(say, "evaluate", "--mapping", mapping, *MATMULS)
    assert faults("evaluate-output", evaluated) == []
    simulated = printed(say, "simulate", mapping, *MATMULS)
    assert faults("simulate-output", simulated) == []
    nest = printed(say, "export", mapping, "--format", "numpy", *MATMULS)
    assert faults("export-output", nest) == []


def test_scores_of_a_chip_fit(say: Say) -> None:
    flags = ("--bind", "batch=1,seq=16,layers=1", "--chip", "toy-64.yaml")
    from dataclasses import replace

    from elkhound.model.io import chip_document, load_chip
    from elkhound.model.io.text import as_text

    chip = load_chip("toy-64")
    chip = replace(chip, core=replace(chip.core, sram_bytes=8 << 20))
    Path("toy-64.yaml").write_text(as_text(chip_document(chip)))
    said = ("--method", "elk-dyn", "--output", "p.json")
    assert say("plan", "llama-2-7b", *flags, *said).status == 0
    document = printed(say, "simulate", "p.json", "--fidelity", "core")
    assert faults("simulate-output", document) == []
    assert any(operator["phases"] for operator in document["operators"])


def test_a_refusal_fits(say: Say) -> None:
    assert faults("error-output", printed(say, "import", "gpt", status=2)) == []


def test_everything_of_a_comparison_fits(say: Say, problem_file: str) -> None:
    say("compare", problem_file, "--methods", "basic,ideal", "--run-dir", "run")
    score = json.loads(Path("run/scores/basic.json").read_text())
    assert faults("simulate-output", score) == []
    assert faults("rows-csv", lines_of("rows-csv", Path("run/rows.csv"))) == []
    assert faults("rows-output", printed(say, "rows", "run")) == []
    chosen = printed(say, "rows", "run", "--columns", "method,gap")
    assert faults("rows-output", chosen) == []
    written = printed(say, "rows", "run", "--output", "x.csv")
    assert faults("rows-output", written) == []
    assert faults("rows-csv", lines_of("rows-csv", Path("x.csv"))) == []
    assert faults("report-output", printed(say, "report", "run")) == []


GRID = """grid:
  model: [llama-2-7b]
  bind: {batch: [1, 2], seq: [16], layers: [1]}
  chip: [toy-64]
  set: {sram_bytes: [8388608]}
  fuse: [none, pareto-join]
  thin: [null, 0.1]
  methods: [basic, ideal]
  limits: {seconds: [5, 6]}
"""


def test_everything_of_a_sweep_fits(say: Say) -> None:
    Path("grid.yaml").write_text(GRID)
    told = printed(say, "sweep", "grid.yaml", "--jobs", "1", "--output", "run")
    assert told["points"] == 32
    assert faults("sweep-output", told) == []
    lines = lines_of("rows-csv", Path("run/rows.csv"))
    assert faults("rows-csv", lines) == []
    assert lines == json.loads(json.dumps(told["rows"]))


def test_rows_of_fusion_fit(say: Say) -> None:
    say("fuse", "matmuls", "--accelerator", "simple", "--objective", "front",
        "--no-plots", "--run-dir", "run")  # fmt: skip
    (line,) = lines_of("rows-csv", Path("run/rows.csv"))
    assert faults("rows-csv", [line]) == []
    assert {"energy", "latency"} <= set(line["pareto_points"][0])


def test_buffers_and_their_offsets_fit(say: Say) -> None:
    say("generate", "--kind", "placement", "--size", "4", "--output", "b.csv")
    said = ("--capacity", "1000000", "--methods", "best-fit", "--output", "placed.csv")
    say("place", "b.csv", *said)
    for file in ("b.csv", "placed.csv"):
        lines = lines_of("placement-csv", Path(file))
        assert len(lines) == 12
        assert faults("placement-csv", lines) == []
    assert "offset" in lines[0]


def test_tiles_and_their_predictions_fit(say: Say) -> None:
    from elkhound.model.io import load_chip
    from elkhound.model.tile_cost import Device, TileKind, write_tiles
    from elkhound.model.tile_cost.fitted import device_tiles

    device = Device.of(load_chip("toy-8").core)
    samples = [device_tiles(device, k, 60_000, 9, seed=1) for k in TileKind]
    write_tiles("tiles.csv", samples)
    lines = lines_of("tiles-csv", Path("tiles.csv"))
    assert len(lines) == 9 * len(TileKind)
    assert faults("tiles-csv", lines) == []
    told = printed(say, "tiles", "--chip", "toy-8", "--tiles", "5", "--output", "t")
    assert faults("tiles-output", told) == []
    lines = lines_of("predictions-csv", Path("t/predictions.csv"))
    assert faults("predictions-csv", lines) == []


@pytest.mark.parametrize(
    ("kind", "good", "column", "wrong"),
    [
        pytest.param(
            "transfers-csv",
            {"link": "hbm", "bytes": 64, "cycles": 9},
            "link",
            "usb",
            id="link",
        ),
        pytest.param(
            "tiles-csv",
            {"kind": "unary", "elements": 4, "cycles": 9},
            "cycles",
            0,
            id="cycles",
        ),
        pytest.param(
            "placement-csv",
            {"id": "b", "lower": 0, "upper": 1, "size": 4},
            "size",
            -4,
            id="size",
        ),
        pytest.param("figure-csv", {"elkhound": "1", "gap": 0.5}, "gap", "x", id="gap"),
    ],
)
def test_wrong_lines_do_not_fit(
    kind: str, good: Mapping[str, Any], column: str, wrong: object
) -> None:
    assert faults(kind, [good]) == []
    assert faults(kind, [{**good, column: wrong}])
    assert faults(kind, [{**good, "unheard_of": 1}])
    for name in SCHEMAS[kind]["items"]["required"]:
        assert faults(kind, [{k: v for k, v in good.items() if k != name}])


def test_every_number_of_a_table_has_a_unit() -> None:
    counts = {"seed", "leaves", "operators", "value", "pmappings", "pareto_points"}
    for kind in SCHEMAS:
        if not kind.endswith("-csv"):
            continue
        columns = SCHEMAS[kind]["items"]["properties"]
        bare = {
            name
            for name, cell in columns.items()
            if types_of(kind, name) & {"integer", "number"} and "unit" not in cell
        }
        assert bare <= counts, kind


def test_rows_of_figures_fit(tmp_path: Path) -> None:
    from elkhound.experiments.row_table import RowTable

    samples = Path(__file__).parent / "figures" / "samples.json"
    for name, lines in json.loads(samples.read_text()).items():
        table = RowTable(tuple({**line, "elkhound": "1"} for line in lines))
        (tmp_path / "rows.csv").write_text(table.csv_text())
        read = lines_of("figure-csv", tmp_path / "rows.csv")
        assert faults("figure-csv", read) == [], name


def _studied() -> Sequence[Mapping[str, Any]]:
    """A random problem, thinned and whole, as our own studies have them."""
    from elkhound.experiments.figures.instances import lines_of as study_lines
    from elkhound.experiments.figures.instances import points_of
    from elkhound.experiments.point_run import run_point

    about = {"family": "balanced", "size": 3, "seed": 1, "max_outstanding": 1}
    asked = {"problems": [about | {"plans": 2, "states": 2, "contention": "charge"}],
             "methods": ["basic", ["dp", 50]], "seconds": 5}  # fmt: skip
    return [*study_lines([(p, run_point(p)) for p in points_of(asked)])]


def _raced() -> Sequence[Mapping[str, Any]]:
    """A chain of two matmuls, mapped by search and by join."""
    from elkhound.experiments.figures.mapper_race import race

    return [*race("chain", {"einsums": 2}, "simple", "edp", 20, 1)]


@pytest.mark.parametrize("measured", [_studied, _raced])
def test_rows_of_studies_and_races_fit(
    measured: Callable[[], Sequence[Mapping[str, Any]]], tmp_path: Path
) -> None:
    from elkhound.experiments.row_table import RowTable

    lines = [{**line, "elkhound": "1"} for line in measured()]
    (tmp_path / "rows.csv").write_text(RowTable(tuple(lines)).csv_text())
    assert faults("figure-csv", lines_of("figure-csv", tmp_path / "rows.csv")) == []
