"""Who may import whom: the picture in docs/architecture, held against the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("model", "solvers", "heuristics", "simpy_chip", "experiments")

# room -> rooms it may import from
ROOM_MAY_IMPORT = {
    "model": {"model"},
    "solvers": {"model", "solvers"},
    "heuristics": {"model", "heuristics"},
    "simpy_chip": {"model", "simpy_chip"},
    "experiments": set(ROOMS),
}

# part of model -> parts it may import from; "nouns" are the files right under model/,
# "fusion" the nouns of the fusion problem and the cost of a mapping,
# "door" is model/__init__.py, which exports from everywhere and which no part uses
READERS = {"io", "onnx_import", "workloads", "instances"}
PART_MAY_IMPORT = {
    "nouns": {"nouns"},
    "fusion": {"nouns", "fusion"},
    "referee": {"nouns", "fusion", "referee"},
    "io": {"nouns", "fusion", *READERS},
    "onnx_import": {"nouns", *READERS},
    "workloads": {"nouns", *READERS},
    "instances": {"nouns", "fusion", *READERS},
    "tile_cost": {"nouns", *READERS, "tile_cost"},
    "options": {"nouns", *READERS, "tile_cost", "options"},
    "door": {"nouns", "fusion", *READERS, "tile_cost", "options", "referee"},
}

# the referee computes times, stretched durations and what mappings cost on its own
REFEREE_MUST_NOT_IMPORT = {
    "elkhound.model.timing",
    "elkhound.model.units",
    "elkhound.model.fusion.actions",
    "elkhound.model.fusion.cost",
    "elkhound.model.fusion.legality",
    "elkhound.model.fusion.nest",
    "elkhound.model.fusion.occupancy",
}

# library -> rooms that may import it, so that the others start fast
LIBRARY_LIVES_IN = {
    "ortools": {"solvers"},
    "pulp": {"solvers"},
    "highspy": {"solvers"},
    "simpy": {"simpy_chip"},
    "matplotlib": {"experiments"},
    "click": {"experiments"},
    "rich": {"experiments"},
    "onnx": {"model"},
    "pydantic": {"model"},
}


def sources() -> list[Path]:
    return sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def module_name(path: Path) -> str:
    """`model/io/chip.py` is `elkhound.model.io.chip`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("elkhound", *(part for part in parts if part != "__init__")))


def imported(source: str) -> Iterator[tuple[int, str]]:
    """Line and module of every import; a relative one starts with a dot."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for alias in node.names:
                yield node.lineno, _deepest_module(base, alias.name)


def _deepest_module(base: str, name: str) -> str:
    """`from elkhound.model import graph` imports elkhound.model.graph."""
    path = ROOT.joinpath(*base.split(".")[1:], name)
    is_module = path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
    return f"{base}.{name}" if base.startswith("elkhound") and is_module else base


def model_part(module: str) -> str:
    """Which part of model a module belongs to."""
    parts = module.split(".")[2:]
    if not parts:
        return "door"
    return parts[0] if (ROOT / "model" / parts[0]).is_dir() else "nouns"


def violations(module: str, source: str) -> list[str]:
    """One line per import that the tables do not allow."""
    room = module.split(".")[1]
    lines = []
    for line, target in imported(source):
        library = target.split(".")[0]
        if library == "elkhound":
            reason = _forbidden_inside(module, target)
        elif library == "":
            reason = "relative import"
        elif library in ROOMS:
            reason = f"write elkhound.{target}"
        elif room not in LIBRARY_LIVES_IN.get(library, {room}):
            reason = f"{library} lives in {', '.join(LIBRARY_LIVES_IN[library])}"
        else:
            reason = ""
        if reason:
            lines.append(f"{module}:{line}: imports {target}: {reason}")
    return lines


def _forbidden_inside(module: str, target: str) -> str:
    room, other = module.split(".")[1], [*target.split("."), ""][1]
    if other not in ROOM_MAY_IMPORT[room]:
        return f"{room} must not import {other}"
    if room == other == "model":
        part, other_part = model_part(module), model_part(target)
        if other_part not in PART_MAY_IMPORT[part]:
            return f"{part} of model must not import {other_part}"
        if part == "referee" and target in REFEREE_MUST_NOT_IMPORT:
            return "the referee computes this on its own"
    return ""


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_modules_import_only_what_their_room_may(path: Path) -> None:
    assert violations(module_name(path), path.read_text()) == []


def test_every_part_of_model_has_its_row() -> None:
    parts = {model_part(module_name(p)) for p in (ROOT / "model").rglob("*.py")}
    assert parts <= set(PART_MAY_IMPORT)


@pytest.mark.parametrize(
    ("module", "source", "reason"),
    [
        pytest.param(
            "elkhound.model.graph",
            "from elkhound.solvers.schedule import cp_sat",
            "model must not import solvers",
            id="model-imports-solvers",
        ),
        pytest.param(
            "elkhound.solvers.schedule.milp",
            "def f():\n    import elkhound.heuristics.schedule",
            "solvers must not import heuristics",
            id="inside-a-function",
        ),
        pytest.param(
            "elkhound.heuristics.schedule.basic",
            "from elkhound.experiments import compare",
            "heuristics must not import experiments",
            id="nobody-imports-experiments",
        ),
        pytest.param(
            "elkhound.model.referee.schedule",
            "from elkhound.model.timing import timeline",
            "the referee computes this on its own",
            id="referee-imports-timing",
        ),
        pytest.param(
            "elkhound.model.referee.schedule",
            "from elkhound.model import timing",
            "the referee computes this on its own",
            id="referee-imports-timing-as-a-name",
        ),
        pytest.param(
            "elkhound.model.referee.schedule",
            "from elkhound.model.instances import random_schedule",
            "referee of model must not import instances",
            id="referee-imports-instances",
        ),
        pytest.param(
            "elkhound.model.graph",
            "from elkhound.model.options import front",
            "nouns of model must not import options",
            id="noun-imports-options",
        ),
        pytest.param(
            "elkhound.model.tile_cost.device",
            "from elkhound.model import load_chip",
            "tile_cost of model must not import door",
            id="through-the-door",
        ),
        pytest.param(
            "elkhound.model.io.chip",
            "from .chip import Chip",
            "relative import",
            id="relative",
        ),
        pytest.param(
            "elkhound.experiments.compare",
            "import model.chip",
            "write elkhound.model.chip",
            id="second-copy",
        ),
        pytest.param(
            "elkhound.experiments.compare",
            "import ortools",
            "ortools lives in solvers",
            id="library",
        ),
    ],
)
def test_a_forbidden_import_is_found(module: str, source: str, reason: str) -> None:
    (line,) = violations(module, source)
    assert line.endswith(reason)


def test_allowed_imports_pass() -> None:
    source = (
        "from __future__ import annotations\n"
        "import numpy\n"
        "from elkhound.model.schedule import Schedule\n"
        "from elkhound.model import chip\n"
        "from ortools.sat.python import cp_model\n"
    )
    assert violations("elkhound.solvers.schedule.cp_sat", source) == []
