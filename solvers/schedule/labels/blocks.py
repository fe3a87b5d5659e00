"""What whole layers take at least, so that labels see beyond the next renewal.

The renewal bound lets every operator have its best option: what one takes of the SRAM,
the next does not miss, and over many layers that adds up. A pass over a few layers
misses it. Layers are alike, so a few such passes serve a whole model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from elkhound.model.result import OrderClass
from elkhound.model.schedule import ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.schedule.labels.classes import Classes, PreloadClass
from elkhound.solvers.schedule.labels.completion import NEVER, Completion, completion
from elkhound.solvers.schedule.labels.identity import IdentitySearch
from elkhound.solvers.schedule.labels.search import Budget, LowestBounds

IntArray = npt.NDArray[np.int64]

IDENTITY = OrderClass.identity()
LENGTHS = (1, 2, 4, 8, 16, 32)  # of ranges, in blocks
MOST_SHAPES = 8  # of one length; with more of them layers are not alike
LOOK_AHEAD = 2  # ends of blocks that a label looks at
MOST_LABELS = 50_000  # of a pass

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Until:
    """The time from EE_{i−1} to the end of a range, whatever comes behind it.

    Parameters
    ----------
    begin, end : int
        Operators begin ≤ i < end.
    first : int
        Preloads of operators before the range.
    inner : Completion
        Of the range as a problem of its own: without the operators behind it a
        schedule is no slower.
    """

    begin: int
    end: int
    first: int
    inner: Completion

    def rest(
        self, i: int, issued: IntArray, lag: IntArray, surplus: IntArray
    ) -> IntArray:
        """Return the bound; lag and surplus count where nothing behind is issued."""
        inner, step = self.inner, i - self.begin
        last = len(inner.path) - 1
        inside = issued - self.first <= last
        return inner.rest(
            step,
            np.minimum(issued - self.first, last),
            np.where(inside, lag, 0),
            np.where(inside, surplus, 0),
        )


@dataclass(frozen=True, slots=True)
class Ahead:
    """Completion bounds with what later blocks take.

    Parameters
    ----------
    whole : Completion
        The renewal bound.
    untils : tuple of tuple of Until
        By step: ranges that end with the blocks ahead.
    after : array
        By step at which a block begins, and N: a bound on all from there on; else 0.
    """

    whole: Completion
    untils: tuple[tuple[Until, ...], ...]
    after: IntArray

    def rest(
        self, i: int, issued: IntArray, lag: IntArray, surplus: IntArray
    ) -> IntArray:
        """Return the bound of labels about to run E_i, as `Completion.rest` does."""
        rest: IntArray = self.whole.rest(i, issued, lag, surplus)
        rest = np.maximum(rest, self.after[i])
        if i < len(self.untils):
            for until in self.untils[i]:
                later = until.rest(i, issued, lag, surplus) + self.after[until.end]
                rest = np.maximum(rest, later)
        return rest


class Blocks:
    """Least times of ranges of layers, from whatever state they begin in.

    A block is a stretch of operators of one layer, a range some blocks in a row. In
    identity order EE_{b−1} − EE_{a−1} is at least the least makespan of E_a … E_{b−1}
    as a problem of its own in which all preloads issued by EE_{a−1} are done at no
    cost: leaving out other operators only gives room, and HBM was free no sooner.
    Ranges are measured from short to long, each with the bounds of the shorter ones
    inside it, and those of one shape once.

    Parameters
    ----------
    problem : ScheduleProblem
        Without options that never fit or are dominated; options too slow for a known
        plan stay, since what is too slow differs by layer.
    classes : Classes
        Its options in classes rounded down, or exact.
    stopwatch : Stopwatch
        Ends it; what is known by then stays.
    budget : Budget
        Of each pass.
    """

    def __init__(
        self,
        problem: ScheduleProblem,
        classes: Classes,
        stopwatch: Stopwatch,
        budget: Budget,
    ) -> None:
        self.problem = problem
        self.classes = classes
        self.stopwatch = stopwatch
        self.budget = budget
        self.marks = block_marks(problem)
        self.labels = 0
        self._kinds = _kinds(problem, classes)
        self._first = np.searchsorted(problem.streaming, self.marks, side="left")
        self._least: dict[Shape, int] = {}
        self._gain: dict[Shape, int] = {}  # over two halves
        self._inner: dict[Shape, Completion] = {}

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self.marks) - 1

    def measure(self) -> None:
        """Measure all shapes of ranges, up to half of the whole."""
        for length in LENGTHS:
            if 2 * length > self.count:
                return
            shapes: dict[Shape, int] = {}
            for a in range(self.count - length + 1):
                shapes.setdefault(self._shape(a, a + length), a)
            if len(shapes) > MOST_SHAPES:
                return
            for a in shapes.values():
                self._measure(a, a + length)

    def least(self, a: int, b: int) -> int | None:
        """Return the least time of blocks a … b − 1, None where it is not known."""
        return self._least.get(self._shape(a, b))

    def ahead(self, whole: Completion) -> Ahead:
        """Return completion bounds of the whole problem."""
        return self._ahead(0, self.count, whole)

    def _measure(self, a: int, b: int) -> None:
        shape = self._shape(a, b)
        middle = (a + b) // 2
        halves = (self._shape(a, middle), self._shape(middle, b))
        if b - a > 1 and not all(half in self._least for half in halves):
            return
        apart = sum(self._least[half] for half in halves) if b - a > 1 else 0
        below = NEVER
        if b - a > 2:  # what is gained hardly grows from length to length
            below = apart + 2 * max(self._gain[half] for half in halves) + 1
        inside = self._part(a, b)
        begin, end = self.marks[a], self.marks[b]
        operators = self.classes.operators[begin:end]
        search = IdentitySearch(
            inside,
            Classes(inside, operators, self.classes.exact),
            self._ahead(a, b, self._completion(a, b)),
            below,
            LowestBounds(MOST_LABELS),
            self.stopwatch,
            self.budget,
            traced=False,
            anything_first=True,
        )
        found = search.run()
        self.labels += found.labels
        self._least[shape] = max(apart, found.bound)
        self._gain[shape] = self._least[shape] - apart

    def _ahead(self, a: int, b: int, whole: Completion) -> Ahead:
        """Return completion bounds of blocks a … b − 1, as a problem of their own."""
        marks = [mark - self.marks[a] for mark in self.marks[a : b + 1]]
        after = np.zeros(marks[-1] + 1, dtype=np.int64)
        untils: list[tuple[Until, ...]] = []
        for c in reversed(range(a, b)):
            for d in range(c + 1, b + 1):
                least = self.least(c, d) if d - c in LENGTHS else None
                if least is not None:
                    here, there = marks[c - a], marks[d - a]
                    after[here] = max(after[here], least + after[there])
        for c in range(a, b):
            ends = range(c + 1, min(c + LOOK_AHEAD, b) + 1)
            first = int(self._first[c] - self._first[a])
            begin = marks[c - a]
            here_to = tuple(
                Until(begin, marks[d - a], first, self._completion(c, d)) for d in ends
            )
            untils += [here_to] * (marks[c - a + 1] - begin)
        return Ahead(whole, tuple(untils), after)

    def _completion(self, a: int, b: int) -> Completion:
        shape = self._shape(a, b)
        if shape not in self._inner:
            self._inner[shape] = completion(self._part(a, b), IDENTITY)
        return self._inner[shape]

    def _part(self, a: int, b: int) -> ScheduleProblem:
        operators = self.problem.operators[self.marks[a] : self.marks[b]]
        return replace(self.problem, operators=operators)

    def _shape(self, a: int, b: int) -> Shape:
        return self._kinds[self.marks[a] : self.marks[b]]


def block_marks(problem: ScheduleProblem) -> list[int]:
    """Return where the layer changes, with 0 and N."""
    layers = [operator.layer for operator in problem.operators]
    changes = [i for i in range(1, len(layers)) if layers[i] != layers[i - 1]]
    return [0, *changes, len(layers)]


def _kinds(problem: ScheduleProblem, classes: Classes) -> Shape:
    """Return a number per operator; those of one number are alike to a pass."""
    numbers: dict[tuple[object, ...], int] = {}
    contents: dict[int, tuple[object, ...]] = {}
    kinds = []
    for operator, own in zip(problem.operators, classes.operators, strict=True):
        content = contents.setdefault(id(own), _content(own))
        key = (operator.resident_bytes, operator.streams, content)
        kinds.append(numbers.setdefault(key, len(numbers)))
    return tuple(kinds)


def _content(classes: Sequence[PreloadClass]) -> tuple[object, ...]:
    return tuple(
        (
            each.preload_bytes,
            each.preload_cycles,
            each.link_cycles,
            *(
                array.tobytes()
                for array in (each.own_bytes, each.t, each.x, each.fastest_s)
            ),
        )
        for each in classes
    )
