"""The table of docs/models.md states what the workloads are."""

from __future__ import annotations

from pathlib import Path

import pytest

from elkhound.model.workloads import build_workload, workload_names, workload_phases

BIND = {
    "decode": {"batch": 32, "seq": 2048},
    "prefill": {"batch": 2, "seq": 2048},
    "training": {"batch": 2, "seq": 2048},
    "denoise": {"batch": 32, "seq": 256},
}


def documented() -> dict[tuple[str, str], tuple[int, int]]:
    """Return (operators, multiply-accumulates) by name and phase."""
    text = (Path(__file__).parents[3] / "docs" / "models.md").read_text()
    rows = {}
    name = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and cells[3] in BIND:
            name = cells[0].strip("`") or name
            operators, macs = (int(cell.replace(",", "")) for cell in cells[4:6])
            rows[name, cells[3]] = (operators, macs)
    return rows


def test_every_workload_and_phase_is_documented() -> None:
    built = {
        (name, phase) for name in workload_names() for phase in workload_phases(name)
    }
    assert set(documented()) == built


@pytest.mark.parametrize(("name", "phase"), documented())
def test_operators_and_macs_are_those_documented(name: str, phase: str) -> None:
    graph = build_workload(name, BIND[phase], phase)
    assert (len(graph.operators), graph.macs) == documented()[name, phase]
