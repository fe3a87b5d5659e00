"""Kill `elkhound figures --quick` with −9 at random, resume: docs/figures.md.

Usage: python benchmarks/kill_figures.py [--kills 3] [--seed 0] [NAME …]

Makes the figures once undisturbed. Then makes them again elsewhere, killing the process
at random moments of that time and starting it again, and compares all rows but for the
columns of seconds that were measured. Exit status 1 if a row differs.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_NAMES = ("elk-5", "elk-12", "elk-20")
_MEASURED = ("cpu_seconds", "wall_seconds", "priced_seconds", "seconds_a_pmapping")

Rows = list[dict[str, str]]


def main() -> int:
    """Print what was killed when, what was kept, and whether the rows are equal."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("names", nargs="*", default=list(_NAMES))
    asked.add_argument("--kills", type=int, default=3)
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as place:
        calm, killed = Path(place, "undisturbed"), Path(place, "killed")
        start = time.monotonic()
        finish(given.names, calm)
        seconds = time.monotonic() - start
        print(f"undisturbed: {seconds:.1f} s")
        for _ in range(given.kills):
            moment = chance.uniform(0, seconds / given.kills)
            print(kill_after(given.names, killed, moment), flush=True)
        made = finish(given.names, killed)
        kept = sum(figure["reused"] for figure in made["figures"])
        new = sum(figure["computed"] for figure in made["figures"])
        print(f"resumed to the end: {kept} points or pieces kept, {new} computed")
        return compare(given.names, calm, killed)


def command(names: list[str], folder: Path) -> list[str]:
    """Return the command that makes the figures."""
    called = Path(sys.executable).with_name("elkhound")
    return [str(called), "figures", *names, "--quick", "--output", str(folder)]


def finish(names: list[str], folder: Path) -> dict[str, Any]:
    """Make the figures; return what `--json` says."""
    done = subprocess.run(
        [*command(names, folder), "--json"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"figures ended with {done.returncode}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def kill_after(names: list[str], folder: Path, moment: float) -> str:
    """Start making the figures, kill that after so many seconds; say what happened."""
    running = subprocess.Popen(
        command(names, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        code = running.wait(moment)
    except subprocess.TimeoutExpired:
        running.kill()
        return f"killed after {moment:.1f} s: status {running.wait()}"
    return f"ended by itself before {moment:.1f} s: status {code}"


def rows(folder: Path, name: str) -> Rows:
    """Return a figure's rows without what was measured in seconds."""
    with (folder / name / "rows.csv").open(encoding="utf-8", newline="") as file:
        return [
            {k: v for k, v in row.items() if not k.endswith(_MEASURED)}
            for row in csv.DictReader(file)
        ]


def compare(names: list[str], one: Path, other: Path) -> int:
    """Print whether the rows of every figure are equal; return the exit status."""
    status = 0
    for name in names:
        first, second = rows(one, name), rows(other, name)
        differ = sum(a != b for a, b in zip(first, second, strict=False))
        differ += abs(len(first) - len(second))
        print(f"{name}: {len(first)} rows, {differ} differ")
        status = status or int(differ > 0)
    return status


if __name__ == "__main__":
    sys.exit(main())
