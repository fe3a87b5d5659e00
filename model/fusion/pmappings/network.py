"""Choices of partial mappings as paths: interfaces are nodes, classes are arcs.

A mapping of the workload is a path from the empty interface through one class per
einsum, with a row of each class. Whether classes fit together is then a matter of flow:
no pair of einsums needs a constraint of its own. Whether the memories hold them is not
told; `Held` is what they must.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elkhound.model.fusion.compatibility import (
    Compatibility,
    Exchange,
    Interface,
    Live,
    advanced,
)
from elkhound.model.fusion.pmappings.generate import Pmappings
from elkhound.model.fusion.pmappings.rebuild import used_later
from elkhound.model.stopwatch import Stopwatch


@dataclass(frozen=True, slots=True)
class Step:
    """An einsum in one class, between two interfaces.

    Parameters
    ----------
    group : int
        The class.
    own : Compatibility
        What others see of it.
    tail, head : int
        Which of the stage's interfaces before and after the einsum.
    """

    group: int
    own: Compatibility
    tail: int
    head: int


@dataclass(frozen=True, slots=True)
class Stage:
    """One einsum.

    Parameters
    ----------
    einsum : str
        Its name.
    steps : tuple of Step
        Those on a path through all einsums, by interface before and class.
    before, after : tuple of Interface
        What the einsums up to it leave open; some may lie on no path.
    """

    einsum: str
    steps: tuple[Step, ...]
    before: tuple[Interface, ...]
    after: tuple[Interface, ...]


def network(pmappings: Pmappings, clock: Stopwatch | None = None) -> tuple[Stage, ...]:
    """Return a stage per einsum; without a path, stages without steps.

    Raises
    ------
    OutOfTime
        When the clock has run out.
    """
    fronts: list[tuple[Interface, ...]] = [(Interface(),)]
    found: list[list[Step]] = []
    workload = pmappings.workload
    for index, table in enumerate(pmappings.tables):
        later = used_later(workload, index)
        produced = workload.einsums[index].output.tensor
        after: dict[Interface, int] = {}
        steps = []
        fitting = _Fitting(table.classes)
        for tail, interface in enumerate(fronts[-1]):
            if clock is not None:
                clock.check()
            for group in fitting.of(interface):
                own = table.classes[group]
                following = advanced(interface, own, produced, later)
                if following is not None:
                    head = after.setdefault(following, len(after))
                    steps.append(Step(group, own, tail, head))
        fronts.append(tuple(after))
        found.append(steps)
    return tuple(
        Stage(table.einsum, tuple(steps), before, after)
        for table, steps, before, after in zip(
            pmappings.tables,
            _reaching_the_end(found),
            fronts[:-1],
            fronts[1:],
            strict=True,
        )
    )


def _reaching_the_end(found: list[list[Step]]) -> list[list[Step]]:
    """Drop steps after which some later einsum has no class that fits."""
    kept: list[list[Step]] = []
    useful: set[int] | None = None
    for steps in reversed(found):
        own = [step for step in steps if useful is None or step.head in useful]
        useful = {step.tail for step in own}
        kept.append(own)
    return kept[::-1]


class _Fitting:
    """Classes by where they have the shared tensors that an interface knows."""

    def __init__(self, classes: Sequence[Compatibility]) -> None:
        self.classes = classes
        self.tensors = {e.tensor for c in classes[:1] for e in c.exchanges}
        self.known: dict[frozenset[str], dict[object, list[int]]] = {}

    def of(self, interface: Interface) -> Iterable[int]:
        """Return those that may fit, in their order."""
        live = [t for t in interface.live if t.tensor in self.tensors]
        used = frozenset(t.tensor for t in live)
        if used not in self.known:
            index: dict[object, list[int]] = defaultdict(list)
            for group, own in enumerate(self.classes):
                met = [e for e in own.exchanges if e.tensor in used]
                index[_place(met)].append(group)
            self.known[used] = index
        return self.known[used].get(_place(live), [])


def _place(held: Iterable[Exchange | Live]) -> object:
    return frozenset((each.tensor, each.memory, each.depth) for each in held)
