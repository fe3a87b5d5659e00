"""Methods of the fusion problem, by name."""

from __future__ import annotations

from typing import Any

from elkhound.experiments.methods import Entry, Methods, Role, Settings


def _pareto_join(settings: Settings) -> Any:
    from elkhound.heuristics.fusion.pareto_join import ParetoJoin

    return ParetoJoin()


def _set(settings: Settings) -> Any:
    from elkhound.heuristics.fusion.annealing import Set

    return Set()


def _tileflow(settings: Settings) -> Any:
    from elkhound.heuristics.fusion.genetic import TileFlow

    return TileFlow()


def _timeloop(settings: Settings) -> Any:
    from elkhound.heuristics.fusion.random_search import Timeloop

    return Timeloop()


def _transfusion(settings: Settings) -> Any:
    from elkhound.heuristics.fusion.transfusion import TransFusion

    return TransFusion()


def _cp_sat(settings: Settings) -> Any:
    from elkhound.solvers.fusion.cp_sat import CpSat

    return CpSat()


def _milp(settings: Settings) -> Any:
    from elkhound.solvers.fusion.milp import Milp

    return Milp(settings["backend"])


def _brute_force(settings: Settings) -> Any:
    from elkhound.solvers.fusion.brute_force import BruteForce

    return BruteForce()


FUSION = Methods(
    "fusion",
    {
        "pareto-join": Entry(
            Role.HEURISTIC,
            "join Pareto-optimal partial mappings, optimal (FFM)",
            _pareto_join,
            is_complete=True,
        ),
        "set": Entry(Role.HEURISTIC, "simulated annealing over mappings (SET)", _set),
        "tileflow": Entry(
            Role.HEURISTIC, "a genetic algorithm over mappings (TileFlow)", _tileflow
        ),
        "timeloop": Entry(
            Role.HEURISTIC, "mappings drawn at random (Timeloop)", _timeloop
        ),
        "transfusion": Entry(
            Role.HEURISTIC,
            "everything fused but K and V, tile by tile (TransFusion)",
            _transfusion,
        ),
        "cp-sat": Entry(
            Role.EXACT,
            "choice of partial mappings as paths on OR-Tools CP-SAT",
            _cp_sat,
        ),
        "milp": Entry(
            Role.EXACT,
            "paths of partial mappings through PuLP",
            _milp,
            {"backend": ("highs", "cbc")},
        ),
        "brute-force": Entry(
            Role.EXACT,
            "every choice of unpruned partial mappings, of at most three einsums",
            _brute_force,
        ),
    },
)

FUSION_DEFAULTS = ("pareto-join",)
