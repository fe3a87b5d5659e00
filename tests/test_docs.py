"""What the pages tell a reader to write works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from elkhound.experiments import compare
from elkhound.experiments.methods import SCHEDULE, Entry, Role
from elkhound.model.instances import random_schedule

PAGE = Path(__file__).parent.parent / "docs" / "extending.md"


def test_the_method_of_the_extending_page_plans_what_the_referee_accepts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (source,) = re.findall(r'```python\n("""On demand.*?)```', PAGE.read_text(), re.S)
    written: dict[str, Any] = {"__name__": "on_demand"}
    exec(compile(source, str(PAGE), "exec"), written)
    entry = Entry(
        Role.HEURISTIC, "no preload ahead", lambda settings: written["OnDemand"]()
    )
    monkeypatch.setitem(SCHEDULE, "on-demand", entry)
    table = compare(random_schedule(1, 4), ["on-demand", "cp-sat"])
    own, exact = table.rows
    assert own.verified
    assert own.objective is not None
    assert exact.objective is not None
    assert own.objective >= exact.objective
    assert table.contradictions == ()
