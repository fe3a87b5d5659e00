"""Which solver libraries are installed, and whether they answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from elkhound.model.errors import ElkhoundError


@dataclass(frozen=True, slots=True)
class Backend:
    """A solver that can be used here.

    Parameters
    ----------
    name : str
        `cp-sat`, `highs` or `cbc`.
    version : str
        Of the library or the program.
    """

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Probe:
    """What a backend made of a problem with a known answer.

    Parameters
    ----------
    backend : Backend
        Who was asked.
    works : bool
        Whether the answer was right.
    message : str
        The answer, or what went wrong.
    """

    backend: Backend
    works: bool
    message: str


def available() -> tuple[Backend, ...]:
    """Return the backends installed here, CP-SAT first, then HiGHS and CBC."""
    found: list[Backend] = []
    with suppress(PackageNotFoundError):
        found.append(Backend("cp-sat", version("ortools")))
    try:
        from elkhound.solvers.backends import pulp
    except ModuleNotFoundError:
        return tuple(found)
    found += [Backend(name, release) for name, release in pulp.versions().items()]
    return tuple(found)


def probe() -> tuple[Probe, ...]:
    """Let every installed backend minimise x + 2y + 3z over x + y + z ≥ 4, all ≤ 2.

    The answer is x = y = 2, z = 0, value 6.
    """
    return tuple(_probe(backend) for backend in available())


def _probe(backend: Backend) -> Probe:
    ask: Callable[[], float | None]
    ask = _ask_cp_sat if backend.name == "cp-sat" else lambda: _ask_pulp(backend.name)
    try:
        value = ask()
    except (ElkhoundError, ImportError, OSError) as failure:
        return Probe(backend, False, str(failure))
    if value is None or abs(value - 6) > 1e-6:
        return Probe(backend, False, f"answered {value}, expected 6")
    return Probe(backend, True, "proved the optimum of a 3-variable model")


def _ask_cp_sat() -> float | None:
    from ortools.sat.python import cp_model

    from elkhound.model.limits import Limits
    from elkhound.model.result import Status
    from elkhound.solvers.backends import cp_sat

    model = cp_model.CpModel()
    x, y, z = (model.new_int_var(0, 2, name) for name in "xyz")
    model.add(x + y + z >= 4)
    model.minimize(x + 2 * y + 3 * z)
    limits: Limits[None] = Limits(seconds=10, workers=1)
    answer = cp_sat.run(model, limits)
    return answer.objective if answer.status is Status.OPTIMAL else None


def _ask_pulp(name: str) -> float | None:
    from elkhound.model.limits import Limits
    from elkhound.model.result import Status
    from elkhound.solvers.backends import pulp

    model = pulp.Model("probe")
    x, y, z = (model.integer(name, 0, 2) for name in "xyz")
    model.at_least([(1, x), (1, y), (1, z)], 4)
    model.minimise([(1, x), (2, y), (3, z)])
    limits: Limits[None] = Limits(seconds=10, workers=1)
    answer = pulp.run(model, limits, name)
    return answer.objective if answer.status is Status.OPTIMAL else None
