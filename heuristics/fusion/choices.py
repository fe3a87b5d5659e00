"""Compatible choices of one partial mapping per einsum, drawn, changed and crossed.

Interfaces are states, and a class that fits an interface is an arc to the next one; a
mapping is a path. Arcs from which no path leads to the end are left out, so that every
walk arrives. What does not fit into the memories is found when a choice is priced.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

import numpy as np

from elkhound.model.fusion.compatibility import Compatibility, Interface
from elkhound.model.fusion.pmappings import Pick, Pmappings, PmappingTable, network
from elkhound.model.stopwatch import Stopwatch

Placement = tuple[str, ...]
"""Backing memories of the tensors that an einsum shares."""


@dataclass(eq=False, slots=True)
class State:
    """An interface that some choices for the einsums before lead to.

    Parameters
    ----------
    interface : Interface
        What the next einsum must fit.
    arcs : list of Arc
        What fits and can be completed.
    weights : list of int
        Partial mappings behind the arcs so far, one sum per arc.
    placed : dict of Placement to list of Arc
        The arcs by where the shared tensors lie.
    by_class : dict of int to Arc
        The arcs by class.
    """

    interface: Interface
    arcs: list[Arc] = field(default_factory=list)
    weights: list[int] = field(default_factory=list)
    placed: dict[Placement, list[Arc]] = field(default_factory=dict)
    by_class: dict[int, Arc] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Arc:
    """A class of an einsum's partial mappings, after a state.

    Parameters
    ----------
    group : int
        The class.
    own : Compatibility
        What others see of it.
    rows : tuple of int
        Its partial mappings, by rising cost.
    before, following : State
        Interfaces on its two sides.
    """

    group: int
    own: Compatibility
    rows: tuple[int, ...]
    before: State
    following: State

    @property
    def placement(self) -> Placement:
        """Where the shared tensors lie."""
        return tuple(exchange.memory for exchange in self.own.exchanges)


@dataclass(frozen=True, slots=True)
class Choice:
    """One partial mapping per einsum that fit together.

    Parameters
    ----------
    arcs : tuple of Arc
        A path.
    places : tuple of int
        Which of the arc's rows.
    """

    arcs: tuple[Arc, ...]
    places: tuple[int, ...]

    @property
    def picks(self) -> tuple[Pick, ...]:
        """Return it as `rebuild` takes it."""
        return tuple(
            Pick(arc.rows[place], arc.group)
            for arc, place in zip(self.arcs, self.places, strict=True)
        )

    def differences(self, other: Choice) -> int:
        """Return for how many einsums the partial mapping is another."""
        return sum(
            (mine.group, mine.rows[p]) != (its.group, its.rows[q])
            for mine, p, its, q in zip(
                self.arcs, self.places, other.arcs, other.places, strict=True
            )
        )


class Choices:
    """All compatible choices of a workload.

    Parameters
    ----------
    clock : Stopwatch
        Stops the construction with `OutOfTime`.
    """

    def __init__(self, pmappings: Pmappings, clock: Stopwatch) -> None:
        self.pmappings = pmappings
        self.start = _built(pmappings, clock)

    @property
    def is_empty(self) -> bool:
        """Whether no partial mappings fit together."""
        return not self.start.arcs

    def drawn(self, random: Random) -> Choice:
        """Draw einsum by einsum, evenly among the partial mappings that fit."""
        arcs, places = [], []
        state = self.start
        for _ in self.pmappings.tables:
            (arc,) = random.choices(state.arcs, cum_weights=state.weights)
            arcs.append(arc)
            places.append(random.randrange(len(arc.rows)))
            state = arc.following
        return Choice(tuple(arcs), tuple(places))

    def moved(self, choice: Choice, random: Random) -> Choice:
        """Change one einsum at random, and what follows as far as it must.

        The change is one of storage placement (of tensors that einsums share), of the
        fused loops (order, tiles, depths) or of the rest (tiles and private storage),
        each as likely as another if there is one.
        """
        index = random.randrange(len(choice.arcs))
        arc, place = choice.arcs[index], choice.places[index]
        kinds = [_other_placement, _other_loops, _other_row]
        random.shuffle(kinds)
        for kind in kinds:
            found = kind(arc, place, random)
            if found is not None:
                return self._led_on(choice, index, *found, random)
        return choice

    def crossed(
        self, first: Choice, second: Choice, cut: int, random: Random
    ) -> Choice:
        """Take the einsums before a cut from one choice, and the others from another.

        What does not fit at the cut is replaced by what is like it.
        """
        if cut == 0:
            return second
        wish = Choice(
            (*first.arcs[:cut], *second.arcs[cut:]),
            (*first.places[:cut], *second.places[cut:]),
        )
        arc, place = first.arcs[cut - 1], first.places[cut - 1]
        return self._led_on(wish, cut - 1, arc, place, random)

    def _led_on(
        self, wish: Choice, index: int, arc: Arc, place: int, random: Random
    ) -> Choice:
        """Take an arc for an einsum, and for those after it what is wished or like it.

        A wished class is kept where it fits. Else one that leads back to the wished
        interface is preferred, then one that has its tensors in the wished memories;
        of its rows the one that stands where the wished one stood in its class.
        """
        arcs, places = list(wish.arcs), list(wish.places)
        arcs[index], places[index] = arc, place
        for later in range(index + 1, len(arcs)):
            state, wished = arcs[later - 1].following, arcs[later]
            if wished.before is state:
                break
            if wished.group in state.by_class:
                arcs[later] = state.by_class[wished.group]
                continue
            arcs[later] = _like(wished, state, random)
            places[later] = _same_place(wished, places[later], arcs[later])
        return Choice(tuple(arcs), tuple(places))


def _other_placement(arc: Arc, place: int, random: Random) -> tuple[Arc, int] | None:
    placements = [p for p in arc.before.placed if p != arc.placement]
    if not placements:
        return None
    other = random.choice(arc.before.placed[random.choice(placements)])
    return other, random.randrange(len(other.rows))


def _other_loops(arc: Arc, place: int, random: Random) -> tuple[Arc, int] | None:
    others = arc.before.placed[arc.placement]
    if len(others) == 1:
        return None
    other = arc
    while other is arc:
        other = random.choice(others)
    return other, random.randrange(len(other.rows))


def _other_row(arc: Arc, place: int, random: Random) -> tuple[Arc, int] | None:
    if len(arc.rows) == 1:
        return None
    other = random.randrange(len(arc.rows) - 1)
    return arc, other + (other >= place)


def _like(wished: Arc, state: State, random: Random) -> Arc:
    near = state.placed.get(wished.placement, [])
    leading_back = [arc for arc in near if arc.following is wished.following]
    leading_back = leading_back or [
        arc for arc in state.arcs if arc.following is wished.following
    ]
    return random.choice(leading_back or near or state.arcs)


def _same_place(old: Arc, place: int, new: Arc) -> int:
    return round(place / max(1, len(old.rows) - 1) * (len(new.rows) - 1))


def _built(pmappings: Pmappings, clock: Stopwatch) -> State:
    """Return the empty interface, from which every arc leads on to the end."""
    start = State(Interface())
    layer = [start]
    for table, stage in zip(pmappings.tables, network(pmappings, clock), strict=True):
        rows = _sorted_rows(table, pmappings.criteria)
        following = [State(interface) for interface in stage.after]
        for step in stage.steps:
            before, after = layer[step.tail], following[step.head]
            before.arcs.append(
                Arc(step.group, step.own, rows[step.group], before, after)
            )
        for state in layer:
            _index(state)
        layer = following
    return start


def _index(state: State) -> None:
    """Sum the weights of its arcs, and find them by class and placement."""
    state.weights = list(accumulate(len(arc.rows) for arc in state.arcs))
    state.by_class = {arc.group: arc for arc in state.arcs}
    placed: dict[Placement, list[Arc]] = defaultdict(list)
    for arc in state.arcs:
        placed[arc.placement].append(arc)
    state.placed = dict(placed)


def _sorted_rows(
    table: PmappingTable, criteria: tuple[str, ...]
) -> list[tuple[int, ...]]:
    """Return the rows of every class by rising cost: by energy where it counts."""
    costs = table.latency if criteria == ("latency",) else table.energy
    return [
        tuple(int(row) for row in own[np.argsort(costs[own], kind="stable")])
        for own in table.members
    ]
