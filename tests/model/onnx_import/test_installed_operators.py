"""Packages that describe operators by an entry point, the example of examples/."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from onnx import helper

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Pass
from elkhound.model.onnx_import.user_operators import ENTRY_POINTS

node = helper.make_node
STAND_IN = """\
from elkhound.model.onnx_import.user_operators import StandIn
def cost(call): return StandIn("""
EXAMPLE = Path(__file__).parents[3] / "examples" / "user_operators"


def install(folder: Path, name: str, points: dict[str, str]) -> None:
    """Lay out what installing a package leaves: its metadata on the path."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\n")
    lines = [f"{op} = {place}" for op, place in points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *lines]))


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example package, as installed."""
    folder = tmp_path / "site"
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    install(folder, project["name"], project["entry-points"][ENTRY_POINTS])
    shutil.copy(EXAMPLE / "example_operators.py", folder)
    monkeypatch.syspath_prepend(folder)
    return folder


def attention(**attributes: Any) -> list[Any]:
    return [
        node(
            "WindowAttention",
            ["q", "k", "v"],
            ["o", "s"],
            domain="example",
            name="attention",
            **attributes,
        ),
        node("Relu", ["o"], ["y"]),
    ]


QKV = {name: (2, 64, 32) for name in "qkv"}


def test_an_installed_package_gives_shape_and_cost(files: Any, example: Path) -> None:
    report = files.read(attention(window=16, heads=4), QKV, ["y", "s"])
    mix, scores, _ = report.graph.operators
    # 2·64/16 = 8 windows of 4 heads: 16 · 16 · 8 products each
    assert mix.einsum.macs == scores.einsum.macs == 8 * 4 * 16 * 16 * 8
    assert report.graph.tensor["o"].shape == (2, 64, 32)
    assert report.graph.tensor["s"].shape == (8, 4, 16, 16)
    assert scores.einsum.passes[0] is Pass.MATMUL
    assert report.unsupported == ("example::WindowAttention",)
    assert any(
        "costs what package elkhound-example-operators (example_operators:window"
        in warning
        for warning in report.warnings
    )


def test_a_package_names_a_stand_in(files: Any, example: Path) -> None:
    nodes = [node("SwishNorm", ["x", "g", "x"], ["y"], domain="example")]
    graph = files.read(nodes, {"x": (3, 8)}, "y", weights={"g": (8,)}).graph
    assert [operator.kind.value for operator in graph.operators] == ["norm"]


def test_what_a_package_objects_to_is_one_line(files: Any, example: Path) -> None:
    with pytest.raises(BadInputError, match="64 tokens in windows of 15") as error:
        files.read(attention(window=15, heads=4), QKV, ["y", "s"])
    assert error.value.code == "bad-description"
    assert "package elkhound-example-operators" in error.value.where
    with pytest.raises(BadInputError, match=r"node attention .*'heads'"):
        files.read(attention(window=16), QKV, ["y", "s"])


def test_a_file_comes_before_a_package(
    files: Any, example: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("operators:\n  example::WindowAttention: {passes: [unary]}\n")
    options = {"unknown": file}
    report = files.read(attention(window=16, heads=4), QKV, ["y", "s"], options=options)
    assert report.graph.operators[0].einsum.passes == (Pass.UNARY,)


def test_two_packages_for_one_operator_are_refused(files: Any, example: Path) -> None:
    install(example, "rival", {"example::WindowAttention": "rival:cost"})
    with pytest.raises(BadInputError, match=r"by several packages: .*rival") as error:
        files.read(attention(window=16, heads=4), QKV, ["y", "s"])
    assert error.value.code == "bad-description"


def test_a_package_that_cannot_be_loaded_is_named(
    files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", "broken", {"example::Foo": "no_such_module:cost"})
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(BadInputError, match="no_such_module") as error:
        files.read([node("Foo", ["x"], ["y"], domain="example")], {"x": (3,)}, "y")
    assert error.value.where == "package broken (no_such_module:cost)"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param(
            "cost = 1 / 0", "ZeroDivisionError: division by zero", id="import"
        ),
        pytest.param("def cost(", "SyntaxError", id="syntax"),
        pytest.param("cost = 3", "'int' object is not callable", id="no-function"),
        pytest.param(
            "def cost(call): raise RuntimeError", "RuntimeError", id="runtime-error"
        ),
        pytest.param(
            "def cost(call): assert not call", "AssertionError", id="assertion"
        ),
        pytest.param("def cost(call): return cost(call)", "Recursion", id="recursion"),
        pytest.param("def cost(call): return None", "not iterable", id="nothing"),
        pytest.param(f"{STAND_IN}None)", "stands for None", id="no-name"),
        pytest.param(f"{STAND_IN}'Relu', (-1,))", r"inputs are \[-1\]", id="inputs"),
        pytest.param(
            f"{STAND_IN}'Relu', None, 3)", "attributes are 3", id="attributes"
        ),
        pytest.param(f"{STAND_IN}'Loop')", "has no body", id="loop"),
        pytest.param(f"{STAND_IN}'elkhound::Free')", "not known", id="our-own"),
    ],
)
def test_a_package_that_goes_wrong_is_one_line(
    files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    install(tmp_path / "site", "wrong", {"example::Foo": "wrong_operators:cost"})
    (tmp_path / "site" / "wrong_operators.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "wrong_operators", raising=False)
    with pytest.raises(BadInputError, match=message) as error:
        files.read([node("Foo", ["x"], ["y"], domain="example")], {"x": (3,)}, "y")
    assert "\n" not in str(error.value)


def test_a_package_is_asked_about_unknown_operators_only(
    files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", "broken", {"Relu": "no_such_module:cost"})
    monkeypatch.syspath_prepend(tmp_path / "site")
    report = files.read([node("Relu", ["x"], ["y"])], {"x": (3,)}, "y")
    assert report.unsupported == ()
