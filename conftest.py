"""Lets the tests run from a checkout with nothing installed."""

import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("elkhound") is None:
    sys.path.insert(0, str(Path(__file__).parent / "typings"))
