"""The wheel holds every package, the links point home, and doctests run."""

from __future__ import annotations

import ast
import configparser
import doctest
import importlib
import importlib.metadata
import pkgutil
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# distribution -> the required one whose interface it is part of
BROUGHT_ALONG = {"protobuf": "onnx", "pydantic_core": "pydantic"}
ROOMS = ("experiments", "heuristics", "model", "simpy_chip", "solvers")


@pytest.fixture(scope="module")
def setup_cfg() -> configparser.ConfigParser:
    """The package list and mapping that wheels are built from."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


def packages_on_disk() -> list[str]:
    return sorted(
        ".".join(("elkhound", *path.parent.relative_to(ROOT).parts))
        for room in ROOMS
        for path in (ROOT / room).rglob("__init__.py")
    )


def modules() -> list[str]:
    """Every module of the rooms, found inside each room: the namespace lists none."""
    names = []
    for room in ROOMS:
        package = importlib.import_module(f"elkhound.{room}")
        prefix = f"elkhound.{room}."
        names.append(f"elkhound.{room}")
        names += [m.name for m in pkgutil.walk_packages(package.__path__, prefix)]
    return names


def test_setup_cfg_lists_every_package(setup_cfg: configparser.ConfigParser) -> None:
    assert setup_cfg["options"]["packages"].split() == packages_on_disk()


def test_every_folder_with_sources_is_a_package() -> None:
    folders = {path.parent for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert [f for f in sorted(folders) if not (f / "__init__.py").is_file()] == []


def test_every_room_is_mapped_and_typed(setup_cfg: configparser.ConfigParser) -> None:
    mapping = dict(
        line.split(" = ")
        for line in setup_cfg["options"]["package_dir"].strip().splitlines()
    )
    assert mapping == {f"elkhound.{room}": room for room in ROOMS}
    assert all((ROOT / room / "py.typed").is_file() for room in ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_the_type_checkers_link_points_to_the_room(room: str) -> None:
    link = ROOT / "typings" / "elkhound" / room
    assert link.is_symlink()
    assert link.readlink() == Path("../..") / room
    assert link.resolve() == ROOT / room


def test_every_preset_is_packaged(setup_cfg: configparser.ConfigParser) -> None:
    """Package data are the YAML files anywhere below presets/."""
    patterns = setup_cfg["options.package_data"]["elkhound.model"].split()
    packaged = {path for pattern in patterns for path in (ROOT / "model").glob(pattern)}
    presets = {p for p in (ROOT / "model" / "presets").rglob("*") if p.is_file()}
    assert presets <= packaged


def test_the_command_is_where_the_entry_point_says(
    setup_cfg: configparser.ConfigParser,
) -> None:
    script = setup_cfg["options.entry_points"]["console_scripts"].strip()
    target = script.split(" = ")[1]
    entry = importlib.metadata.EntryPoint("elkhound", target, "console_scripts")
    assert callable(entry.load())


def third_party_imports() -> set[str]:
    names = set()
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"elkhound"}


def test_every_library_that_is_imported_is_required(
    setup_cfg: configparser.ConfigParser,
) -> None:
    required = {
        re.split(r"[<>=]", line)[0].lower()
        for line in setup_cfg["options"]["install_requires"].split()
    }
    distributions = importlib.metadata.packages_distributions()
    brought_by = {
        name: {BROUGHT_ALONG.get(d, d).lower() for d in distributions[name]}
        for name in third_party_imports()
    }
    assert {n: d for n, d in brought_by.items() if not d & required} == {}


@pytest.mark.parametrize("module", modules())
def test_examples_in_docstrings_are_true(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0
