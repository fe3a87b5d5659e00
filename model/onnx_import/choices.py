"""What the user decides where a file leaves it open: branches, trips, unknowns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.onnx_import.unknown import Unknown

BRANCHES = ("then", "else")


@dataclass(frozen=True, slots=True)
class Choices:
    """Decisions by node name; those that met no node are refused in the end.

    A node inside a loop is ``name@3`` in its fourth iteration, ``name`` in all of them.

    Parameters
    ----------
    branches : mapping of str to str
        ``then`` or ``else`` for an If.
    trips : mapping of str to int
        Iterations of a Loop.
    unknown : Unknown
        What becomes of operators that are not known.
    """

    branches: Mapping[str, str] = field(default_factory=dict)
    trips: Mapping[str, int] = field(default_factory=dict)
    unknown: Unknown = field(default_factory=Unknown)
    _seen: dict[str, set[str]] = field(
        default_factory=lambda: {"--branch": set(), "--trip": set()}
    )

    def __post_init__(self) -> None:
        for name, branch in self.branches.items():
            if branch not in BRANCHES:
                raise BadInputError(
                    f"{name}={branch}: a branch is then or else",
                    code="bad-value",
                    where="--branch",
                )
        for name, trips in self.trips.items():
            if trips < 1:
                raise BadInputError(
                    f"{name}={trips}: a loop runs at least once",
                    code="bad-value",
                    where="--trip",
                )

    def branch(self, name: str) -> str | None:
        """Return the branch chosen for an If, if one was."""
        return self.branches.get(self._spelt("--branch", self.branches, name))

    def trip(self, name: str) -> int | None:
        """Return the iterations chosen for a Loop, if they were."""
        return self.trips.get(self._spelt("--trip", self.trips, name))

    def _spelt(self, flag: str, given: Mapping[str, object], name: str) -> str:
        """Return how a node is spelt: for one iteration, or else for all of them."""
        every = name.partition("@")[0]
        self._seen[flag] |= {name, every}
        return name if name in given else every

    def refuse_unused(self) -> None:
        """Refuse a choice about a node that does not ask for one."""
        for flag, given, what in (
            ("--branch", self.branches, "If"),
            ("--trip", self.trips, "Loop"),
        ):
            asked = self._seen[flag]
            for name in given:
                if name not in asked:
                    raise BadInputError(
                        f"no {what} called {name} leaves this open",
                        code="unknown-node",
                        where=flag,
                        hint=nearest(name, sorted(asked)) if asked else "",
                    )
