"""Which figures there are; a new one is a script of this package and a line here."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from elkhound.experiments.figures.figure import Figure
from elkhound.model.errors import BadInputError, nearest

# name -> script of this package; its FIGURE is imported when it is asked for
SCRIPTS = {
    "elk-5": "elk_05",
    "elk-6": "elk_06",
    "elk-7": "elk_07",
    "elk-8": "elk_08",
    "elk-12": "elk_12",
    "elk-16": "elk_16",
    "elk-17": "elk_17",
    "elk-18": "elk_18",
    "elk-19": "elk_19",
    "elk-20": "elk_20",
    "elk-21": "elk_21",
    "elk-22": "elk_22",
    "elk-23": "elk_23",
    "elk-24": "elk_24",
    "ffm-8": "ffm_08",
    "ffm-9": "ffm_09",
    "ffm-10": "ffm_10",
    "ffm-11": "ffm_11",
    "ffm-12": "ffm_12",
    "ffm-13": "ffm_13",
    "gap-study": "gap_study",
    "ablation": "ablation",
    "model-error": "model_error",
    "solver-scaling": "solver_scaling",
}


def figure(name: str) -> Figure:
    """Return the figure of this name.

    Raises
    ------
    BadInputError
        There is none; the nearest is named.
    """
    if name not in SCRIPTS:
        raise BadInputError(
            f"no figure {name!r}",
            code="unknown-figure",
            where="NAME",
            hint=nearest(name, list(SCRIPTS)),
        )
    module = import_module(f"elkhound.experiments.figures.{SCRIPTS[name]}")
    found: Figure = module.FIGURE
    return found


def figures(names: Sequence[str] = ()) -> tuple[Figure, ...]:
    """Return these figures, each once; none for all."""
    return tuple(figure(name) for name in dict.fromkeys(names or SCRIPTS))
