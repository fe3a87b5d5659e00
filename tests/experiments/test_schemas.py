"""Files of every kind fit the schema that `elkhound schema` prints; broken ones do not.

The judge is jsonschema, which knows nothing of the models that the schemas come from.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fakes.said import Said

from elkhound.experiments.schemas import file_schemas
from elkhound.model.io import read_document

Say = Callable[..., Said]
ROOT = Path(__file__).parent.parent.parent
SCHEMAS = file_schemas()


def fits(kind: str, value: object) -> bool:
    """Whether a document fits its schema."""
    checker = jsonschema.Draft202012Validator(SCHEMAS[kind])
    return bool(checker.is_valid(value))


def of(path: Path) -> Any:
    """What a file holds."""
    return read_document(path).value


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_one(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[kind])


@pytest.mark.parametrize(
    ("kind", "folder"), [("chip", "chips"), ("accelerator", "accelerators")]
)
def test_presets_fit(kind: str, folder: str) -> None:
    files = [*(ROOT / "model" / "presets" / folder).glob("*.yaml")]
    assert len(files) >= 3
    for file in files:
        assert fits(kind, of(file)), file.name


def test_the_example_grid_fits() -> None:
    assert fits("grid", of(ROOT / "examples" / "sweep.yaml"))


@pytest.mark.parametrize("kind", ["pin", "operators"])
def test_what_the_pages_show_fits(kind: str, tmp_path: Path) -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs").glob("*.md"))
    (shown,) = re.findall(rf"```yaml\n({kind}:\n.*?)```", pages, re.DOTALL)
    (tmp_path / "shown.yaml").write_text(shown)
    assert fits(kind, of(tmp_path / "shown.yaml"))


@pytest.mark.parametrize("kind", ["schedule", "allocation", "placement"])
def test_generated_problems_fit(kind: str, say: Say) -> None:
    for seed in range(3):
        say("generate", "--kind", kind, "--seed", str(seed), "--output", "p.json")
        assert fits(kind, of(Path("p.json")))


def test_everything_a_comparison_keeps_fits(say: Say, problem_file: str) -> None:
    say("compare", problem_file, "--methods", "basic,ideal", "--run-dir", "run")
    assert fits("schedule", of(Path("run/problem.json")))
    assert fits("schedule-plan", of(Path("run/plans/basic.json")))
    assert fits("rows", of(Path("run/rows.json")))
    say("export", "run/plans/basic.json", "--format", "program-json", "--output", "g")
    assert fits("program", of(Path("g")))


def test_allocations_fit(say: Say) -> None:
    say("generate", "--kind", "allocation", "--output", "a.json")
    told = say("allocate", "a.json", "--methods", "delta", "--run-dir", "r", "--json")
    assert fits("rows", json.loads(told.out))
    assert fits("allocation-plan", of(Path("r/plans/delta.json")))


def test_placements_fit(say: Say) -> None:
    say("generate", "--kind", "placement", "--size", "4", "--output", "b.json")
    told = say("place", "b.json", "--methods", "best-fit", "--json")
    assert fits("rows", json.loads(told.out))


def test_everything_of_fusion_fits(say: Say) -> None:
    say("export", "matmuls", "--format", "fusion-workload", "--output", "w.yaml")
    assert fits("fusion-workload", of(Path("w.yaml")))
    say("generate", "--kind", "fusion", "--output", "g.json")
    assert fits("fusion-workload", of(Path("g.json")))
    flags = ("--accelerator", "simple", "--no-plots", "--run-dir", "run")
    say("fuse", "w.yaml", *flags)
    assert fits("fusion", of(Path("run/problem.json")))
    assert fits("mapping", of(Path("run/plans/pareto-join.yaml")))
    assert fits("rows", of(Path("run/rows.json")))


GOOD: dict[str, dict[str, Any]] = {
    "chip": {
        "chip": "c",
        "chips": 1,
        "cores_per_chip": 8,
        "sram_bytes": 4096,
        "clock_hz": 1.0e9,
        "links": {"topology": "all-to-all", "bytes_per_second": 4.0e9},
        "hbm": {"bytes_per_second": 1.6e10, "latency_ns": 400, "controllers": 1},
        "compute": {"mac_per_cycle": 64},
    },
    "schedule": {"kind": "schedule", "sram_bytes": 9, "operators": []},
    "allocation": {
        "kind": "allocation",
        "capacity_bytes": 100,
        "items": [{"name": "a", "options": [{"bytes": 10, "cycles": 5}]}],
    },
    "placement": {
        "kind": "placement",
        "capacity_bytes": 9,
        "buffers": [{"name": "b", "start_step": 0, "end_step": 1, "size_bytes": 4}],
    },
    "grid": {"grid": {"model": "p.json", "methods": ["basic"]}},
    "pin": {"pin": [{"operator": "a", "option": 0}]},
    "operators": {"operators": {"d::Foo": {"as": "Gelu"}}},
    "fusion-workload": {
        "workload": "w",
        "sizes": {"m": 4, "k": 4, "n": 4},
        "bits": 8,
        "einsums": ["C[m,n] = A[m,k] * B[k,n]"],
    },
    "rows": {"problem": {}, "rows": [], "contradictions": [], "run_dir": None},
}
GOOD["schedule"]["operators"] = [
    {
        "name": "a",
        "options": [
            {
                "execute_bytes": 4,
                "preload_bytes": 2,
                "preload_cycles": 7,
                "preload_link_cycles": 3,
                "execute_cycles": 9,
                "execute_link_cycles": 4,
            }
        ],
    }
]


@pytest.mark.parametrize("kind", GOOD)
def test_broken_files_do_not_fit(kind: str) -> None:
    good = GOOD[kind]
    assert fits(kind, good)
    assert not fits(kind, good | {"unheard_of": 1})
    for key in SCHEMAS[kind]["required"]:
        assert not fits(kind, {k: v for k, v in good.items() if k != key}), key
        assert not fits(kind, good | {key: -0.5}), key


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        pytest.param("chip", ("sram_bytes",), -1, id="negative SRAM"),
        pytest.param("chip", ("links", "topology"), "torus", id="topology"),
        pytest.param(
            "schedule", ("operators", 0, "options", 0, "execute_cycles"), 1.5, id="half"
        ),
        pytest.param("allocation", ("items", 0, "options"), [], id="no option"),
        pytest.param("placement", ("buffers", 0, "size_bytes"), "4", id="text"),
        pytest.param("grid", ("grid", "methods"), 3, id="methods"),
        pytest.param("rows", ("rows",), [{"kind": "schedule"}], id="half a row"),
    ],
)
def test_a_wrong_value_inside_does_not_fit(
    kind: str, path: tuple[str | int, ...], value: object
) -> None:
    broken = copy.deepcopy(GOOD[kind])
    place: Any = broken
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not fits(kind, broken)


def test_the_verb_prints_every_kind(say: Say) -> None:
    assert json.loads(say("schema").out) == json.loads(json.dumps(SCHEMAS))
    assert {"operators", "rows", "rows-csv", "import-output"} < set(SCHEMAS)


def test_the_page_on_files_names_every_kind() -> None:
    page = (ROOT / "docs" / "reference" / "files.md").read_text()
    assert re.findall(r"^\| `([a-z-]+)`", page, re.MULTILINE) == list(SCHEMAS)
