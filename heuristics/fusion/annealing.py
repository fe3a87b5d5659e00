"""SET's mapper as the FFM paper ran it: simulated annealing over mappings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from elkhound.heuristics.fusion.anytime import AnytimeSearch, Judge, first_that_fits
from elkhound.heuristics.fusion.choices import Choices

_LAST_PART = 0.1  # of the search, which starts from the best mapping


@dataclass(frozen=True, slots=True)
class Set(AnytimeSearch):
    """Simulated annealing (paper §7.2).

    A move changes storage placement, fused loops, or tiles of one einsum, and others
    into compatible ones (`Choices.moved`). A worse mapping is taken with probability
    exp(−(relative increase) / T). As in SET's implementation, T falls with the part x
    of the search that is done, T(x) = T₀ · (1 − x) / (1 + 8x) from T₀ = 0.07; what
    does not fit is dropped, and the last tenth goes on from the best mapping.

    Parameters
    ----------
    first_temperature : float
        T₀, relative to the objective.
    """

    name: str = "set"
    first_temperature: float = 0.07

    def walk(self, choices: Choices, judge: Judge, random: Random) -> None:
        """Anneal from a mapping drawn at random."""
        now = first_that_fits(choices, judge, random)
        if now is None:
            return
        value, is_last_part = judge.value, False
        while not judge.is_over:
            if judge.progress >= 1 - _LAST_PART and not is_last_part:
                is_last_part = True
                now, value = judge.best or now, judge.value
            new = choices.moved(now, random)
            new_value = judge.price(new, now)
            if self._accepts(value, new_value, judge.progress, random):
                now, value = new, new_value

    def _accepts(self, old: float, new: float, done: float, random: Random) -> bool:
        if new <= old:
            return True
        temperature = self.temperature(done)
        if math.isinf(new) or temperature == 0 or old == 0:
            return False
        return random.random() < math.exp(-(new - old) / old / temperature)

    def temperature(self, done: float) -> float:
        """Return T after a part of the search, from 0 to 1."""
        return self.first_temperature * (1 - done) / (1 + 8 * done)
