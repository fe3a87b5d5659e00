"""A chip for Elkhound; look_ahead.py has a method."""

from pathlib import Path

EXAMPLE_16 = Path(__file__).parent / "example-16.yaml"
"""What the entry point `example-16` of the group `elkhound.chips` names: a file."""
