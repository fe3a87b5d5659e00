from __future__ import annotations

from collections.abc import Iterator

import pytest

from elkhound.model.options.fused.table import group_table
from elkhound.model.options.search import forget_tables


@pytest.fixture(autouse=True)
def _no_cache_on_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Search anew in every test, and leave the user's cache alone."""
    monkeypatch.setenv("ELKHOUND_CACHE", "off")
    forget_tables()
    group_table.cache_clear()
    yield
    forget_tables()
    group_table.cache_clear()
