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


FUSION = Methods(
    "fusion",
    {
        "pareto-join": Entry(
            Role.HEURISTIC,
            "join Pareto-optimal partial mappings, optimal (FFM)",
            _pareto_join,
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
    },
)

FUSION_DEFAULTS = ("pareto-join",)
