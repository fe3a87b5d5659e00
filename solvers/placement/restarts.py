"""Runs with weights of their own, cut off by Luby's sequence, at one capacity."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from random import Random

from elkhound.solvers.placement.branching import OutOfNodes, Run
from elkhound.solvers.placement.cliques import Cliques
from elkhound.solvers.placement.memo import Memo
from elkhound.solvers.placement.state import State
from elkhound.solvers.placement.weights import Weights, drawn, luby

_NODES = 2000  # of a run, times its term of Luby's sequence


class Answer(StrEnum):
    """What a search at one capacity knows."""

    FITS = "fits"
    FOUND_NONE = "found none"
    CANNOT_FIT = "proved not to fit"


class Restarts:
    """The search at one capacity, which can be taken up again.

    Parameters
    ----------
    cliques : Cliques
        The buffers.
    capacity : int
        In units.
    seed : int
        Of weights and noise.
    out_of_time : callable
        Whether to stop.
    """

    def __init__(
        self,
        cliques: Cliques,
        capacity: int,
        seed: int,
        out_of_time: Callable[[], bool],
    ) -> None:
        self._cliques = cliques
        self._capacity = capacity
        self._random = Random(f"{seed} {capacity}")
        self._out_of_time = out_of_time
        self._failures = [0] * len(cliques.members)  # kept over the runs, like
        self._memo = Memo()
        self.runs = 0
        self.nodes = 0
        self.offsets: tuple[int, ...] = ()

    def search(self, nodes: float) -> Answer:
        """Spend nodes, or end with an answer; the last run may go beyond them."""
        enough = self.nodes + nodes
        while self.nodes < enough and not self._out_of_time():
            self.runs += 1
            state = State(self._cliques, self._capacity, self._failures)
            run = Run(
                state,
                self._memo,
                Weights() if self.runs == 1 else drawn(self._random),
                self._random,
                min(_NODES * luby(self.runs), enough - self.nodes),
                self._out_of_time,
            )
            try:
                with deep_recursion(3 * len(self._cliques.size)):
                    fits = run.fits()
            except OutOfNodes:
                continue
            finally:
                self.nodes += run.nodes
            if fits:
                self.offsets = tuple(state.offset)
                return Answer.FITS
            return Answer.CANNOT_FIT
        return Answer.FOUND_NONE


@contextmanager
def deep_recursion(frames: int) -> Iterator[None]:
    """Allow that many more Python frames."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
