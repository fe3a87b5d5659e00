"""Files that appear under their name only when complete."""

from __future__ import annotations

import os
from pathlib import Path


def replace_file(target: Path, text: str) -> None:
    """Write a text beside its place and then move it there."""
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, target)
