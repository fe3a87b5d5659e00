"""TileFlow's mapper as the FFM paper ran it: a genetic algorithm over mappings."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from elkhound.heuristics.fusion.anytime import AnytimeSearch, Judge
from elkhound.heuristics.fusion.choices import Choice, Choices


@dataclass(frozen=True, slots=True)
class _Member:
    """A mapping of a population, with its value; infinite if it does not fit."""

    choice: Choice
    value: float


@dataclass(frozen=True, slots=True)
class TileFlow(AnytimeSearch):
    """A genetic algorithm with one population (paper §7.2).

    Each generation has as many children: two tournaments of two choose parents; the
    einsums before a random cut come from one, the others from the other (crossover), or
    all from one; some children are changed in one einsum (mutation). The best mapping
    takes the place of the worst child.

    Parameters
    ----------
    population : int
        Mappings at a time, first drawn at random; the paper has one such population
        per thread.
    crossover, mutation : float
        Rates, of children.
    """

    name: str = "tileflow"
    population: int = 10
    crossover: float = 0.7
    mutation: float = 0.2

    def walk(self, choices: Choices, judge: Judge, random: Random) -> None:
        """Breed from mappings drawn at random."""
        members: list[_Member] = []
        while len(members) < self.population and not judge.is_over:
            choice = choices.drawn(random)
            members.append(_Member(choice, judge.price(choice)))
        while not judge.is_over:
            best = min(members, key=lambda member: member.value)
            children: list[_Member] = []
            while len(children) < self.population and not judge.is_over:
                children.append(self._child(members, choices, judge, random))
            children.sort(key=lambda member: member.value)
            members = [best, *children[: self.population - 1]]

    def _child(
        self, members: list[_Member], choices: Choices, judge: Judge, random: Random
    ) -> _Member:
        mother, father = _fitter(members, random), _fitter(members, random)
        child, priced = mother.choice, mother.choice
        if random.random() < self.crossover:
            cut = random.randrange(len(child.arcs) + 1)
            child = choices.crossed(mother.choice, father.choice, cut, random)
            priced = _spliced(mother.choice, father.choice, cut)
        if random.random() < self.mutation:
            child = choices.moved(child, random)
        return _Member(child, judge.price(child, priced))


def _fitter(members: list[_Member], random: Random) -> _Member:
    one, other = random.choice(members), random.choice(members)
    return one if one.value <= other.value else other


def _spliced(first: Choice, second: Choice, cut: int) -> Choice:
    """Return what the parents of a crossing bring along, fitting or not."""
    return Choice(
        (*first.arcs[:cut], *second.arcs[cut:]),
        (*first.places[:cut], *second.places[cut:]),
    )
