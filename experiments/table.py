"""The table that a comparison ends with, and how much of it there is after Ctrl-C."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elkhound.experiments.fused_groups import Fusion
from elkhound.experiments.outcome import Outcome, SourcedBound
from elkhound.experiments.rows import Row
from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError, InfeasibleError
from elkhound.model.pin import Pinned
from elkhound.model.result import Status


@dataclass(frozen=True, slots=True)
class Table:
    """What a comparison found out.

    Parameters
    ----------
    problem : ScheduleProblem, AllocationProblem or PlacementProblem
        What was planned.
    chip : Chip or None
        The chip it was planned for; None for a problem file.
    rows : tuple of Row
        One per finished method, in the order the user gave.
    contradictions : tuple of str
        Answers that cannot all be right; none of the table can be trusted then.
    bounds : tuple of SourcedBound
        Every lower bound, with who proved it.
    outcomes : tuple of Outcome
        Plans, verdicts and scores behind the rows.
    pins : Pinned or None
        What every plan keeps; proofs and bounds of methods are about such plans.
    tile_cost : mapping or None
        What gave the cycles of tiles; None where that is not known.
    fused : tuple of FusedGroup or None
        Groups of operators that were tried as one; None where nobody asked.
    """

    problem: Any
    chip: Chip | None
    rows: tuple[Row, ...]
    contradictions: tuple[str, ...]
    bounds: tuple[SourcedBound, ...]
    outcomes: tuple[Outcome, ...]
    pins: Pinned | None = None
    tile_cost: Mapping[str, Any] | None = None
    fused: Fusion | None = None

    @property
    def exit_status(self) -> int:
        """0 done, 5 contradiction, 2 bad input, 3 infeasible, 4 no plan in time."""
        if self.contradictions:
            return 5
        errors = [o.error for o in self.outcomes if o.error is not None]
        failed = [e for e in errors if not isinstance(e, InfeasibleError)]
        if any(isinstance(error, BadInputError) for error in failed):
            return 2
        if failed:
            return failed[0].exit_status
        if any(row.objective is not None for row in self.rows):
            return 0
        proved = any(row.status is Status.INFEASIBLE for row in self.rows)
        return 3 if proved else 4

    @property
    def refusal(self) -> InfeasibleError | None:
        """Why there can be no plan, if that is all that every method says."""
        errors = [o.error for o in self.outcomes]
        reasons = [e for e in errors if isinstance(e, InfeasibleError)]
        return reasons[0] if reasons and len(reasons) == len(errors) else None

    @property
    def best_plan(self) -> Any:
        """The verified plan with the least objective, the first of equals, or None."""
        good = [o for o in self.outcomes if o.verified and o.plan is not None]
        values = [(o.verified_objective, k) for k, o in enumerate(good)]
        return good[min(values)[1]].plan if good else None

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame; pandas has to be installed."""
        from importlib import import_module

        documents = [row.document() for row in self.rows]
        return import_module("pandas").DataFrame(documents)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a comparison; carries what was finished.

    Parameters
    ----------
    table : Table
        Rows of the methods that had ended.
    """

    def __init__(self, table: Table) -> None:
        super().__init__()
        self.table = table
