"""Classes laid out as arrays, so that many labels are looked up at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elkhound.model.schedule import ScheduleProblem
from elkhound.solvers.schedule.labels.classes import Classes, PreloadClass
from elkhound.solvers.schedule.labels.completion import NEVER
from elkhound.solvers.schedule.minima import minima_of
from elkhound.solvers.schedule.renewal import marked_operators

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tables:
    """What issuing P_k in class c costs; rows by k, columns by c.

    Parameters
    ----------
    preload_bytes, preload_cycles, link_cycles : array
        P, h, Y; P of a class that does not exist is larger than any SRAM.
    least_own : array
        Least own bytes of the class.
    surplus : array
        How much slower than the least s the class executes; 0 for operators that are
        not marked.
    relief : array
        By how much that is less if the execute is not stretched.
    marked : array
        By k: whether the operator is marked (`renewal.py`).
    bits : array
        By k: where the class of P_k begins in a mask that starts with P_0; one more
        entry than preloads.
    first : array
        By i: how many preloads belong to operators before i; one more entry than
        operators.
    """

    preload_bytes: IntArray
    preload_cycles: IntArray
    link_cycles: IntArray
    least_own: IntArray
    surplus: IntArray
    relief: IntArray
    marked: npt.NDArray[np.bool_]
    bits: IntArray
    first: IntArray

    @property
    def preloads(self) -> int:
        """How many operators stream."""
        return len(self.preload_bytes)

    @property
    def most_classes(self) -> int:
        """How many classes the operator with most of them has."""
        return int(self.preload_bytes.shape[1])


def tables(problem: ScheduleProblem, classes: Classes) -> Tables:
    """Lay out the classes of a problem whose minima are those of all its options."""
    streaming = problem.streaming
    lists = [classes.operators[j] for j in streaming]
    width = max((len(each) for each in lists), default=1)
    minima = minima_of(problem)
    marked = set(marked_operators(problem))
    shape = (len(streaming), width)
    surplus, relief = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for k, j in enumerate(streaming):
        if j not in marked:
            continue
        for c, each in enumerate(lists[k]):
            slower = int(each.fastest_s[-1]) - minima.s[j]
            surplus[k, c] = slower
            relief[k, c] = slower - min(slower, int(each.fastest_t[-1]) - minima.t[j])
    steps = np.arange(len(problem.operators) + 1)
    widths = [(len(each) - 1).bit_length() for each in lists]
    return Tables(
        _padded(lists, width, NEVER, lambda c: c.preload_bytes),
        _padded(lists, width, 0, lambda c: c.preload_cycles),
        _padded(lists, width, 0, lambda c: c.link_cycles),
        _padded(lists, width, NEVER, lambda c: int(c.own_bytes[0])),
        surplus,
        relief,
        np.array([j in marked for j in streaming], dtype=bool),
        np.concatenate(([0], np.cumsum(widths, dtype=np.int64))).astype(np.int64),
        np.searchsorted(np.array(streaming, dtype=np.int64), steps, side="left"),
    )


def _padded(
    lists: list[tuple[PreloadClass, ...]],
    width: int,
    missing: int,
    read: Callable[[PreloadClass], int],
) -> IntArray:
    array = np.full((len(lists), width), missing, dtype=np.int64)
    for k, each in enumerate(lists):
        array[k, : len(each)] = [read(c) for c in each]
    return array
