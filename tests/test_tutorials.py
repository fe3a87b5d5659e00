"""Every tutorial runs as it stands, and prints what it says it prints.

A block of `sh` is run by bash in an empty folder with the examples beside; a block of
`text` behind it is what it prints. Seconds may differ, and which of several optimal
plans a solver finds. A line … stands for any lines.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [DOCS / "quick-start.md", *sorted((DOCS / "tutorials").glob("*.md"))]
LONG = {"redraw-a-figure"}  # a minute of CPU time

_FENCE = re.compile(r"(?:<!-- (.+?) -->\n)?```(sh|text)\n(.*?)```", re.DOTALL)
_SECONDS = re.compile(r"(\s+\d+\.\d\d){2}$")  # the last two columns of compare
_CPU = re.compile(r"\d+\.\d CPU s")
_SOLVED = re.compile(r"^(\s*(?:brute-force|cp-sat|milp)\s.*?\d %).*")  # up to the gap


@dataclass
class Block:
    """A command of a page, and what the page says it prints."""

    command: str
    note: str
    said: str | None = None


def blocks(page: Path) -> list[Block]:
    """The commands of a page, in order."""
    found: list[Block] = []
    for note, language, body in _FENCE.findall(page.read_text()):
        if language == "sh":
            found.append(Block(body, note))
        else:
            found[-1].said = body
    return found


def essence(text: str) -> list[str]:
    """The lines of an output without its layout, its seconds and its rules."""
    lines = []
    for line in text.splitlines():
        masked = _CPU.sub("CPU s", _SECONDS.sub("", line.rstrip()))
        proved = _SOLVED.sub(r"\1", masked)
        plain = " ".join(proved.replace("─", " ").split())
        if plain:
            lines.append(plain)
    return lines


def holds(said: list[str], printed: list[str]) -> bool:
    """Whether the lines said are those printed, … standing for any number."""
    if not said:
        return not printed
    if said[0] == "…":
        return any(holds(said[1:], printed[k:]) for k in range(len(printed) + 1))
    return bool(printed) and said[0] == printed[0] and holds(said[1:], printed[1:])


class Reader:
    """Someone who types the commands of a page into a shell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "examples").symlink_to(ROOT / "examples")
        bin_folder = Path(sys.executable).parent
        self.environment = {
            **os.environ,
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "100",
            "MPLCONFIGDIR": str(folder / "matplotlib"),
        }

    def runs(self, block: Block) -> str:
        """Return what a block prints; it must succeed."""
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, f"{block.command}\n{ended.stderr}"
        return ended.stdout

    def installs(self, name: str) -> None:
        """Leave what an editable `pip install` leaves: entry points and a path."""
        package = self.folder / name
        project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
        info = package / f"{name.replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {project['version']}\n"
        )
        lines = []
        for group, entries in project["entry-points"].items():
            lines.append(f"[{group}]")
            lines += [f"{key} = {value}" for key, value in entries.items()]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        paths = [str(package), os.environ.get("PYTHONPATH", "")]
        self.environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=page.stem,
            marks=[pytest.mark.slow] if page.stem in LONG else [],
        )
        for page in PAGES
    ],
)
def test_a_tutorial_runs_and_prints_what_it_says(page: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    for block in blocks(page):
        if block.note.startswith("not run: installs"):
            package = block.note.removeprefix("not run: installs").strip()
            if package:
                reader.installs(package)
            continue
        printed = reader.runs(block)
        if block.said is not None:
            said = essence(block.said)
            assert said, f"{page.name} says nothing of what {block.command} prints"
            assert holds(said, essence(printed)), f"{block.command}\n{printed}"


def test_there_is_a_tutorial_of_every_use() -> None:
    assert [page.stem for page in PAGES] == [
        "quick-start",
        "add-a-chip",
        "add-a-method",
        "bring-a-model",
        "redraw-a-figure",
        "run-an-ablation",
        "validate-a-heuristic",
    ]


@pytest.mark.parametrize(
    ("said", "printed", "held"),
    [
        pytest.param("a  1  0.10  0.20", "a 1 3.00 4.00", True, id="seconds differ"),
        pytest.param("a  1  0.10  0.20", "a 2 0.10 0.20", False, id="value differs"),
        pytest.param("milp 5 0 % 6", "milp 5 0 % 7", True, id="another optimal plan"),
        pytest.param("milp 5 0 % 6", "milp 4 0 % 6", False, id="another optimum"),
        pytest.param("a\n…\nc", "a\nb\nb\nc", True, id="lines left out"),
        pytest.param("a\nc", "a\nb\nc", False, id="a line too many"),
        pytest.param("a\nb", "a", False, id="a line too few"),
    ],
)
def test_outputs_are_held_to_their_values(said: str, printed: str, held: bool) -> None:
    assert holds(essence(said), essence(printed)) is held
