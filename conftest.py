"""Lets the tests run from a checkout with nothing installed, beside a user's cache."""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

if importlib.util.find_spec("elkhound") is None:
    sys.path.insert(0, str(Path(__file__).parent / "typings"))

os.environ.setdefault(
    "ELKHOUND_CACHE", str(Path(tempfile.gettempdir()) / "elkhound-test-cache")
)
