"""Methods of the fusion problem, by name."""

from __future__ import annotations

from typing import Any

from elkhound.experiments.methods import Entry, Methods, Role, Settings


def _pareto_join(settings: Settings) -> Any:
    from elkhound.heuristics.fusion.pareto_join import ParetoJoin

    return ParetoJoin()


FUSION = Methods(
    "fusion",
    {
        "pareto-join": Entry(
            Role.HEURISTIC,
            "join Pareto-optimal partial mappings, optimal (FFM)",
            _pareto_join,
        ),
    },
)

FUSION_DEFAULTS = ("pareto-join",)
