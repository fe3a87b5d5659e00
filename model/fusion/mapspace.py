"""Which mappings a mapper looks at, and what it minimises."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Objective(StrEnum):
    """What is minimised."""

    ENERGY = "energy"
    LATENCY = "latency"
    EDP = "edp"  # energy · latency
    FRONT = "front"  # every trade of energy against latency

    @property
    def criteria(self) -> tuple[str, ...]:
        """Columns in which one partial mapping may beat another."""
        if self in (Objective.ENERGY, Objective.LATENCY):
            return (self.value,)
        return ("energy", "latency")


class Tiles(StrEnum):
    """Which tiles a loop may cut what is left of a rank into."""

    DIVISORS = "divisors"  # all of one size (the paper's space)
    EVEN = "even"  # for every number of steps the smallest; the last may be smaller
    ANY = "any"  # every size; the last may be smaller


@dataclass(frozen=True, slots=True)
class Mapspace:
    """Limits of the space of mappings.

    Parameters
    ----------
    fuse : bool
        Whether intermediates may stay out of main memory.
    max_fused_loops : int or None
        Most loops with iterations above the backing stores of one einsum's shared
        tensors; None: any number.
    max_fused_loops_per_rank : int
        Most of them over one rank variable.
    ordered_loops : bool
        Whether fused loops in a row may stand in every order under which no node sinks.
        Without, none of them indexes a non-backing node right above (the paper's
        space), which leaves out mappings where the first of them does not.
    tiles : Tiles
        Sizes of the tiles.
    """

    fuse: bool = True
    max_fused_loops: int | None = None
    max_fused_loops_per_rank: int = 1
    ordered_loops: bool = False
    tiles: Tiles = Tiles.DIVISORS

    def __post_init__(self) -> None:
        if self.max_fused_loops is not None and self.max_fused_loops < 0:
            raise ValueError(
                f"max_fused_loops is {self.max_fused_loops}, must not be negative"
            )
        if self.max_fused_loops_per_rank < 0:
            raise ValueError(
                f"max_fused_loops_per_rank is {self.max_fused_loops_per_rank}, must "
                "not be negative"
            )


WHOLE_SPACE = Mapspace()
