"""Shell completion: what the script of `_ELKHOUND_COMPLETE` would ask on Tab."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from elkhound.experiments.cli.main import VERBS

COMMAND = "from elkhound.experiments.cli.main import main; main()"


def completed(words: str, number: int, instruction: str = "bash_complete") -> list[str]:
    """The lines offered for the word of that number."""
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND],
        env={
            **os.environ,
            "_ELKHOUND_COMPLETE": instruction,
            "COMP_WORDS": words,
            "COMP_CWORD": str(number),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stderr == ""
    return [line.partition(",")[2] for line in ended.stdout.splitlines() if line]


def test_verbs_complete() -> None:
    assert completed("elkhound s", 1) == [v for v in VERBS if v.startswith("s")]


def test_flags_of_a_verb_complete() -> None:
    assert completed("elkhound sweep --re", 2) == ["--resume", "--retry-failed"]


def test_a_wrong_verb_completes_to_nothing_without_a_word() -> None:
    assert completed("elkhound swep --re", 2) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script(shell: str) -> None:
    """bash 4.4 or later is needed by click, and is asked for its version."""
    if shell == "bash" and not os.path.exists("/bin/bash"):
        pytest.skip("no bash")
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND],
        env={**os.environ, "_ELKHOUND_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "_ELKHOUND_COMPLETE" in ended.stdout
    assert "elkhound" in ended.stdout
