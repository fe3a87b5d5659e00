"""How many points run at a time where nobody says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from elkhound.experiments import jobs as module
from elkhound.experiments.jobs import (
    default_jobs,
    jobs_for,
    usable_cores,
    usable_memory_bytes,
)

GIB = 2**30


@pytest.mark.parametrize(
    ("cores", "memory_bytes", "jobs"),
    [
        pytest.param(2, 24 * GIB, 2, id="cores decide"),
        pytest.param(64, 24 * GIB, 4, id="memory decides: 24 GiB / 5 GiB"),
        pytest.param(4, GIB, 1, id="one, whatever there is"),
        pytest.param(16, None, 16, id="memory not known"),
    ],
)
def test_jobs_are_as_many_as_cores_and_memory_allow(
    cores: int, memory_bytes: int | None, jobs: int
) -> None:
    assert jobs_for(cores, memory_bytes, 5 * GIB) == jobs


def test_reduced_grids_need_less_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "usable_cores", lambda: 64)
    monkeypatch.setattr(module, "usable_memory_bytes", lambda: 24 * GIB)
    assert default_jobs(quick=False) == 4
    assert default_jobs(quick=True) == 16  # 24 GiB / 1.5 GiB


def test_cores_are_those_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_of_all(pid: int) -> set[int]:
        return {3}

    monkeypatch.setattr(os, "sched_getaffinity", one_of_all, raising=False)
    assert usable_cores() == 1
    assert default_jobs(quick=False) == 1


def test_a_container_may_use_less_than_the_machine_has(tmp_path: Path) -> None:
    machine = usable_memory_bytes(tmp_path / "no such file")
    assert machine is not None
    limit = tmp_path / "memory.max"
    limit.write_text("max\n")
    assert usable_memory_bytes(limit) == machine
    limit.write_text("1000000\n")
    assert usable_memory_bytes(limit) == 1_000_000
