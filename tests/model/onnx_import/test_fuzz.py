"""Broken files end in status 0, 2 or 3; benchmarks/fuzz_onnx.py breaks 2,000."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_no_broken_file_ends_in_a_traceback() -> None:
    script = ROOT / "benchmarks" / "fuzz_onnx.py"
    done = subprocess.run(
        [sys.executable, str(script), "--files", "300", "--seed", "7"],
        env={"PYTHONPATH": ":".join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
