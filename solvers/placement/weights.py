"""Which of the lowest buffers is branched on: weights drawn anew for every run."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from random import Random

from elkhound.solvers.placement.cliques import Cliques


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the key of buffer j over its range of cliques; the largest wins.

    cliques · log(number of cliques) + size · log(size) + peak · log(liveness peak)
    + duration · log(steps) + noise
    − slack · log(1 + least room) + failures · log(1 + most failures)
    + load · log(1 + most units still to come)

    The ranges were chosen on the MiniMalloc files (docs/placement.md).
    """

    cliques: float = 0.5
    size: float = 0.3
    peak: float = 1.5
    duration: float = 0.0
    slack: float = 1000.0
    failures: float = 1.0
    load: float = 0.5
    noise: float = 0.0

    def static_keys(self, cliques: Cliques, random: Random) -> list[float]:
        """Return the part of each buffer's key that does not change in a run."""
        sums = [sum(cliques.size[j] for j in members) for members in cliques.members]
        return [
            self.cliques * log(last - first)
            + self.size * log(size)
            + self.peak * log(max(sums[first:last]))
            + self.duration * log(duration)
            + random.uniform(0, self.noise)
            for first, last, size, duration in zip(
                cliques.first,
                cliques.last,
                cliques.size,
                cliques.duration,
                strict=True,
            )
        ]


def drawn(random: Random) -> Weights:
    """Draw weights for a run after the first, which takes the defaults."""
    return Weights(
        cliques=random.uniform(0, 1),
        size=0.0 if random.random() < 0.4 else random.uniform(-0.5, 1),
        peak=random.uniform(0, 2),
        duration=0.0 if random.random() < 0.5 else random.uniform(0, 0.7),
        slack=1000.0 if random.random() < 0.5 else random.uniform(0, 3),
        failures=random.uniform(0.3, 1.5),
        load=random.uniform(0, 1),
        noise=0.0 if random.random() < 0.5 else random.uniform(0, 0.2),
    )


def luby(k: int) -> int:
    """Return the k-th term of Luby's sequence 1, 1, 2, 1, 1, 2, 4, …, from k = 1.

    Examples
    --------
    >>> [luby(k) for k in range(1, 16)]
    [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
    """
    while True:
        bits = k.bit_length()
        if k == (1 << bits) - 1:
            return 1 << (bits - 1)
        k -= (1 << (bits - 1)) - 1
