"""The edge to files: chips, problems and plans; errors with file and line."""

from elkhound.model.io.chip_file import chip_document, chip_names, load_chip
from elkhound.model.io.problem_file import (
    Problem,
    problem_document,
    read_problem,
    write_problem,
)
from elkhound.model.io.problem_hash import problem_hash

__all__ = [
    "Problem",
    "chip_document",
    "chip_names",
    "load_chip",
    "problem_document",
    "problem_hash",
    "read_problem",
    "write_problem",
]
