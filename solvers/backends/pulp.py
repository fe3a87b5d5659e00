"""Runs MILPs through PuLP: HiGHS by default, CBC where it is present.

PuLP's differences are known to this file, `milp_model`, `highs` and `cbc` only.
PuLP calls a run that its time limit stopped `Optimal`. Here a status comes from the
solver itself, and a bound from its branch and bound.
"""

from __future__ import annotations

from importlib.util import find_spec

from elkhound.model.errors import BadInputError
from elkhound.model.limits import Limits, Plan, Progress
from elkhound.solvers.backends import cbc, highs
from elkhound.solvers.backends.milp_model import (
    MilpAnswer,
    MilpError,
    Model,
    Terms,
    Variable,
)

__all__ = [
    "DEFAULT",
    "MilpAnswer",
    "MilpError",
    "Model",
    "Terms",
    "Variable",
    "require",
    "run",
    "versions",
]

DEFAULT = "highs"


def versions() -> dict[str, str]:
    """Return the MILP solvers found here, by name, with their versions."""
    found: dict[str, str] = {}
    if find_spec("highspy") is not None:
        found["highs"] = highs.version()
    program = cbc.path()
    if program is not None:
        found["cbc"] = cbc.version(program)
    return found


def require(backend: str) -> None:
    """Refuse a backend that is not installed, listing those that are."""
    present = versions()
    if backend not in present:
        raise BadInputError(
            f"MILP backend {backend} is not installed",
            code="backend",
            hint="present: " + (", ".join(present) or "none"),
        )


def run(
    model: Model,
    limits: Limits[Plan],
    backend: str = DEFAULT,
    *,
    seconds: float | None = None,
    absolute_gap: float = 0,
    progress: Progress | None = None,
) -> MilpAnswer:
    """Minimise a model.

    Parameters
    ----------
    model : Model
        With an objective.
    limits : Limits
        Seconds, seed, workers and relative gap are used; deterministic work counts
        nodes of the search tree.
    backend : str
        `highs` or `cbc`.
    seconds : float or None
        What is left of `limits.seconds`; None for all of it.
    absolute_gap : float
        Stop when objective − bound is at most this: below 1 for integral objectives.
    progress : Progress or None
        Told of better objectives and bounds by HiGHS; CBC's are in its log only.

    Raises
    ------
    BadInputError
        If the backend is not installed.
    """
    require(backend)
    left = max(limits.seconds if seconds is None else seconds, 0.01)
    if backend == "highs":
        return highs.run(model, limits, left, absolute_gap, progress)
    return cbc.run(model, limits, left, absolute_gap)
