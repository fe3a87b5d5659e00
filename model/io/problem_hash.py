"""Identity of a problem, for bounds and for plans that name their problem."""

from __future__ import annotations

import hashlib
import json

from elkhound.model.allocation import AllocationProblem
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.io.problem_file import (
    Problem,
    distinct_option_lists,
    problem_document,
)
from elkhound.model.placement import PlacementProblem
from elkhound.model.schedule import Contention, ScheduleProblem

_MATHEMATICS = (
    "execute_bytes",
    "preload_bytes",
    "preload_cycles",
    "preload_link_cycles",
    "execute_cycles",
    "execute_link_cycles",
)


def problem_hash(problem: Problem) -> str:
    """Return the sha256 of what the mathematics of a problem depends on.

    Equal hashes mean the same plans, feasible alike and worth the same, so bounds of
    one hold for the other. Names, layers, execute-plan numbers (they only guide
    heuristics), phases inside t and payloads (for the simulator) are left out.
    """
    if isinstance(problem, AllocationProblem):
        return _sha256(_allocation_parts(problem))
    if isinstance(problem, PlacementProblem):
        return _sha256(_placement_parts(problem))
    if isinstance(problem, FusionProblem):
        return _sha256(problem_document(problem))
    return _sha256(_schedule_parts(problem))


def _allocation_parts(problem: AllocationProblem) -> list[object]:
    items = [[[o.size_bytes, o.cycles] for o in i.options] for i in problem.items]
    return ["allocation", problem.capacity_bytes, items]


def _placement_parts(problem: PlacementProblem) -> list[object]:
    buffers = [[b.start_step, b.end_step, b.size_bytes] for b in problem.buffers]
    return ["placement", problem.capacity_bytes, buffers]


def _schedule_parts(problem: ScheduleProblem) -> list[object]:
    numbers, distinct = distinct_option_lists(problem)
    digests = [_sha256([[o[key] for key in _MATHEMATICS] for o in s]) for s in distinct]
    stretches = problem.contention is Contention.STRETCH
    return [
        "schedule",
        problem.sram_bytes,
        problem.max_outstanding,
        str(problem.contention),
        problem.link_stretch_permille if stretches else None,
        [operator.resident_bytes for operator in problem.operators],
        [digests[number] for number in numbers],
    ]


def _sha256(value: object) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()
