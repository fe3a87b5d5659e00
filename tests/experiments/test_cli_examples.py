"""Every verb shows an example, and every example of help and pages is understood.

Understood means parsed: the verb and its flags exist, and their values are legal.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from elkhound.experiments.cli.main import VERBS, command_line

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_END_OF_COMMAND = re.compile(r"^(?:\|\|?|&&?|;|2?>.*|2>&1)$")


def command_at(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the first words name, and its arguments."""
    context = click.Context(command_line)
    command: click.Command = command_line
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        below = command.get_command(context, words[0])
        assert below is not None, f"no verb {words[0]}"
        command, words = below, words[1:]
    return command, words


def parse(line: str) -> None:
    """Parse a command line and run nothing."""
    words = shlex.split(line, comments=True)
    ends = [k for k, word in enumerate(words) if _END_OF_COMMAND.match(word)]
    command, arguments = command_at(words[1 : min(ends, default=len(words))])
    if arguments != ["--help"]:
        command.make_context(str(command.name), arguments)


def commands(text: str) -> list[str]:
    """The lines of a text that are commands of ours, continued lines joined."""
    joined = re.sub(r"\\\n\s*", " ", text)
    return re.findall(r"^ *(elkhound .*)$", joined, re.MULTILINE)


def shown_by(page: Path) -> list[str]:
    """The commands in code blocks of a page, fenced or indented; no synopses."""
    shown: list[str] = []
    fence = ""
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            fence = "" if fence else line
        elif fence in ("```", "```sh") or (not fence and line.startswith("    ")):
            shown.append(line)
        else:
            shown.append("")
    return [line for line in commands("\n".join(shown)) if "[--" not in line]


def leaves() -> list[str]:
    """Every verb, and the verbs below one."""
    context = click.Context(command_line)
    found = []
    for verb in VERBS:
        command = command_line.get_command(context, verb)
        found.append(verb)
        if isinstance(command, click.Group):
            found += [f"{verb} {name}" for name in command.list_commands(context)]
    return found


@pytest.mark.parametrize("verb", leaves())
def test_the_help_of_a_verb_shows_examples_that_parse(verb: str) -> None:
    command, _ = command_at(verb.split())
    assert command.help
    examples = commands(command.epilog or "")
    assert any(line.startswith(f"elkhound {verb}") for line in examples)
    for line in examples:
        parse(line)


@pytest.mark.parametrize("verb", leaves())
def test_every_flag_of_a_verb_is_explained_and_json_is_one(verb: str) -> None:
    command, _ = command_at(verb.split())
    options = [p for p in command.params if isinstance(p, click.Option)]
    assert any("--json" in option.opts for option in options)
    for option in options:
        assert option.help, option.opts


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_parse(page: Path) -> None:
    for line in shown_by(page):
        parse(line)


def test_commands_are_found_in_the_pages() -> None:
    assert sum(len(shown_by(page)) for page in PAGES) > 80


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            "elkhound compare llama-2-13b --bind batch=32,seq=2048,layers=1 "
            "--chip ipu-pod4-hbm --methods basic,static,elk-dyn,elk-full,ideal,dp "
            "--time-limit 300 --json",
            id="compare a model",
        ),
        pytest.param(
            "elkhound compare problem.json --methods brute-force,cp-sat,milp,elk-full "
            "--time-limit 30 --json",
            id="compare a problem",
        ),
        pytest.param(
            "elkhound plan llama-2-13b --bind batch=32,seq=2048,layers=1 "
            "--chip ipu-pod4-hbm --method elk-full --output plan.json",
            id="plan",
        ),
        pytest.param(
            "elkhound simulate plan.json --fidelity core --json", id="simulate"
        ),
        pytest.param(
            "elkhound place A.1048576.csv --capacity 1048576 --json", id="place"
        ),
        pytest.param(
            "elkhound fuse chain.yaml --accelerator tpu-v4i --objective energy "
            "--methods pareto-join,cp-sat --json",
            id="fuse",
        ),
    ],
)
def test_commands_that_other_programs_use_stay(line: str) -> None:
    parse(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("elkhound plan p.json", "--method", id="missing flag"),
        pytest.param("elkhound compare p.json --metods a", "--metods", id="no flag"),
        pytest.param("elkhound compare p.json --time-limit 0", "above 0", id="value"),
    ],
)
def test_a_wrong_example_would_be_found(line: str, message: str) -> None:
    with pytest.raises(click.UsageError) as refusal:
        parse(line)
    assert message in refusal.value.format_message()
