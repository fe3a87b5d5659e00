"""heuristics."""
