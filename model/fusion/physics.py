"""What the reference rules leave out of physics; every switch is off by default."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from elkhound.model.errors import BadInputError, nearest

SWITCHES = {
    "merge-reads": "units that sum over a rank apart read each other's partial sums",
    "double-buffer": "a tile that loops above replace is held twice",
    "overlap": "einsums that share a loop run at the same time",
}
"""Names of the switches, and what each does."""


@dataclass(frozen=True, slots=True)
class Physics:
    """Switches on top of the reference rules.

    Parameters
    ----------
    merge_reads : bool
        The first touch of an output is not read by the first unit only; the rules skip
        it once in each unit that sums over a rank apart, without `reduction`.
    double_buffer : bool
        One tile is in work, the next on its way: a storage node under a loop takes the
        room of two tiles.
    overlap : bool
        Einsums under a shared loop work on different tiles at the same time: together
        they take as long as the part that is busiest with all of them; fill and drain
        are left out. The rules run einsums one after the other, fused or not.
    """

    merge_reads: bool = False
    double_buffer: bool = False
    overlap: bool = False

    @classmethod
    def of(cls, names: Iterable[str]) -> Physics:
        """Return the switches of these names turned on.

        Raises
        ------
        BadInputError
            No switch has that name.
        """
        given = set(names)
        for name in given:
            if name not in SWITCHES:
                raise BadInputError(
                    f"no physics is called {name!r}",
                    code="unknown-physics",
                    hint=nearest(name, list(SWITCHES)),
                )
        return cls(**{name.replace("-", "_"): name in given for name in SWITCHES})

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the switches that are on."""
        return tuple(name for name in SWITCHES if getattr(self, name.replace("-", "_")))


REFERENCE = Physics()
"""The reference rules alone."""
