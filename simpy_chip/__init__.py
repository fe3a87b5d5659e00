"""The chip simulator, built on SimPy: runs a device program and scores it."""

from elkhound.simpy_chip.chip import simulate
from elkhound.simpy_chip.placement import Fidelity
from elkhound.simpy_chip.score import (
    CoreScore,
    Limit,
    LinkScore,
    Occupancy,
    OperatorScore,
    Phase,
    PhaseKind,
    Score,
    TimeSplit,
    score_document,
)
from elkhound.simpy_chip.sram import SramExceededError
from elkhound.simpy_chip.trace import trace_document
from elkhound.simpy_chip.waits import DeadlockError

__all__ = [
    "CoreScore",
    "DeadlockError",
    "Fidelity",
    "Limit",
    "LinkScore",
    "Occupancy",
    "OperatorScore",
    "Phase",
    "PhaseKind",
    "Score",
    "SramExceededError",
    "TimeSplit",
    "score_document",
    "simulate",
    "trace_document",
]
