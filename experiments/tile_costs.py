"""Tile costs by name: ``device``, ``tree``, or a CSV file of measured tiles.

A variant of the device is written behind the name: ``tree:matmul_swap=off_when_small``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NoReturn

from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError, nearest
from elkhound.model.tile_cost import (
    DIMENSIONS,
    Blocks,
    Device,
    FittedCost,
    MatmulSwap,
    MeasuredCost,
    TileCost,
    fitted_to,
    measured_cost,
    read_tiles,
)

DEVICE, TREE, FILE_SUFFIX = "device", "tree", ".csv"
FLAG = "--tile-cost"
SETTINGS: Mapping[str, type[StrEnum]] = {"matmul_swap": MatmulSwap, "blocks": Blocks}


def is_measured(text: str) -> bool:
    """Whether a user names a file of measured tiles."""
    return text.lower().endswith(FILE_SUFFIX)


def tile_cost_of(text: str, chip: Chip) -> TileCost:
    """Return the tile cost that a user named, for the cores of a chip.

    Raises
    ------
    BadInputError
        For a name, setting or value that does not exist, or a file that is no CSV of
        measured tiles.
    """
    if is_measured(text):
        return measured_cost(text, read_tiles(text))
    name, _, tail = text.partition(":")
    if name not in (DEVICE, TREE):
        _refuse(
            f"{text!r} is neither device nor tree, nor a {FILE_SUFFIX} file",
            nearest(name, [DEVICE, TREE]),
        )
    settings = _settings(tail) if ":" in text else {}
    device = Device.of(
        chip.core,
        MatmulSwap(settings.get("matmul_swap", MatmulSwap.ALWAYS)),
        Blocks(settings.get("blocks", Blocks.WHOLE)),
    )
    return device if name == DEVICE else fitted_to(device, chip.core.usable_bytes)


def tile_cost_document(text: str, cost: TileCost) -> dict[str, Any]:
    """Return what JSON says of a tile cost.

    Parameters
    ----------
    text : str
        What the user named it.
    """
    about: dict[str, Any] = {"name": text}
    if isinstance(cost, Device):
        about |= {"matmul_swap": str(cost.matmul_swap), "blocks": str(cost.blocks)}
    if isinstance(cost, FittedCost | MeasuredCost):
        about["digest"] = cost.digest
        about["leaves"] = {str(kind): t.leaves for kind, t in cost.trees.items()}
    if isinstance(cost, MeasuredCost):
        about["measured"] = {
            str(kind): {
                "tiles": len(tiles),
                "range": {
                    name: [int(column.min()), int(column.max())]
                    for name, column in zip(
                        DIMENSIONS[kind], tiles.dimensions, strict=True
                    )
                },
            }
            for kind, tiles in cost.tiles.items()
        }
    return about


def _settings(tail: str) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for piece in tail.split(","):
        key, _, value = piece.partition("=")
        if key not in SETTINGS:
            _refuse(f"unknown setting {key!r}", nearest(key, list(SETTINGS)))
        legal = [str(word) for word in SETTINGS[key]]
        if value not in legal:
            _refuse(f"{key} is {value!r}", nearest(value, legal))
        if chosen.setdefault(key, value) != value:
            _refuse(f"{key} is {chosen[key]} and {value}", "")
    return chosen


def _refuse(message: str, hint: str) -> NoReturn:
    raise BadInputError(message, code="bad-tile-cost", where=FLAG, hint=hint)
