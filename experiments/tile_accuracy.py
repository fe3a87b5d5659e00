"""How well trees and lines predict what they are fitted to: figure 12 of Elk."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elkhound.model.chip import Chip
from elkhound.model.tile_cost import DIMENSIONS, Device, MeasuredCost, TileKind
from elkhound.model.tile_cost.fitted import (
    FITTED_TILES,
    OTHER_TILES,
    Tiles,
    device_tiles,
    fitted_to,
    fitted_tree,
    least_tiles,
    predicted_cycles,
)
from elkhound.model.tile_cost.least_squares import Floats
from elkhound.model.tile_cost.links import (
    Link,
    LinkModel,
    Transfers,
    chip_transfers,
    fit_link,
    links_of,
)
from elkhound.model.tile_cost.tile import Integers

HELD_OUT_PART = 5  # one measurement in so many is predicted, not fitted to
LARGEST_TRANSFER_BYTES = 2**20  # per core


@dataclass(frozen=True, slots=True, eq=False)
class Accuracy:
    """Predictions of one kind of tile, or of one link, that were not fitted to.

    Parameters
    ----------
    name : str
        Kind or link.
    dimensions : mapping of str to array
        What was predicted from.
    cycles, predicted : array
        What is true, and what was predicted.
    fitted : int
        Tiles or transfers that the model was fitted to.
    leaves : int
        Linear models it consists of.
    """

    name: str
    dimensions: Mapping[str, Integers]
    cycles: Integers
    predicted: Floats
    fitted: int
    leaves: int = 1

    @property
    def errors(self) -> Floats:
        """Relative errors, predicted / cycles − 1."""
        errors: Floats = self.predicted / self.cycles - 1
        return errors

    @property
    def mape(self) -> float:
        """Mean of the absolute relative errors."""
        return float(np.abs(self.errors).mean())

    @property
    def r2(self) -> float | None:
        """1 − Σ (cycles − predicted)² / Σ (cycles − mean)²; None if all are equal."""
        spread = float(((self.cycles - self.cycles.mean()) ** 2).sum())
        missed = float(((self.cycles - self.predicted) ** 2).sum())
        return 1 - missed / spread if spread else None

    @property
    def worst(self) -> int:
        """The entry with the largest absolute relative error."""
        return int(np.abs(self.errors).argmax())

    def entry(self, row: int) -> dict[str, Any]:
        """Return one prediction: its dimensions, what is true, what is predicted."""
        return {
            **{name: int(column[row]) for name, column in self.dimensions.items()},
            "cycles": int(self.cycles[row]),
            "predicted": round(float(self.predicted[row]), 3),
            "error": round(float(self.errors[row]), 6),
        }

    def document(self) -> dict[str, Any]:
        """Return what JSON says of it."""
        return {
            "name": self.name,
            "fitted": self.fitted,
            "leaves": self.leaves,
            "predicted": len(self.cycles),
            "r2": self.r2,
            "mape": self.mape,
            "worst": self.entry(self.worst),
        }


def tile_accuracy(
    cost: Device | MeasuredCost, chip: Chip, *, count: int = 1000, seed: int = 0
) -> tuple[Accuracy, ...]:
    """Return how well a tree predicts each kind of tile.

    Parameters
    ----------
    cost : Device or MeasuredCost
        What is predicted. Of a device, random tiles are drawn anew; of measured tiles,
        one in `HELD_OUT_PART` is held out of the fit. Kinds with too few are left out.
    chip : Chip
        Its usable SRAM bounds random tiles.
    count : int
        Tiles of each kind of a device.
    seed : int
        Of what is drawn or held out.
    """
    if isinstance(cost, Device):
        return tuple(_of_device(cost, chip, count, seed))
    held_out = (_held_out(tiles, seed) for tiles in cost.tiles.values())
    return tuple(accuracy for accuracy in held_out if accuracy is not None)


def link_accuracy(
    chip: Chip,
    measured: Mapping[Link, Transfers] | None = None,
    *,
    count: int = 1000,
    seed: int = 0,
) -> tuple[tuple[Accuracy, LinkModel], ...]:
    """Return how well a line predicts the transfers over each link, and the line.

    Parameters
    ----------
    measured : mapping or None
        Transfers that lines are fitted to and that they predict; None for random ones
        of the chip, fitted to one half and predicting the other.
    """
    if measured is not None:
        return tuple(_line(known, known) for known in measured.values())
    rng = np.random.default_rng(seed)
    lines = []
    for link in links_of(chip):
        largest = LARGEST_TRANSFER_BYTES * (chip.cores if link is Link.HBM else 1)
        logarithms = rng.uniform(0, np.log(largest), (2, count))
        fitted, asked = np.exp(logarithms).astype(np.int64)
        lines.append(
            _line(chip_transfers(chip, link, fitted), chip_transfers(chip, link, asked))
        )
    return tuple(lines)


def _of_device(device: Device, chip: Chip, count: int, seed: int) -> Iterator[Accuracy]:
    room = chip.core.usable_bytes
    trees = fitted_to(device, room)
    for kind in TileKind:
        tiles = device_tiles(device, kind, room, count, seed)
        yield Accuracy(
            str(kind),
            _named(tiles),
            tiles.cycles,
            trees.tile_cycles(kind, tiles.dimensions).astype(np.float64),
            FITTED_TILES.get(kind, OTHER_TILES),
            trees.trees[kind].leaves,
        )


def _held_out(tiles: Tiles, seed: int) -> Accuracy | None:
    """Return how well the other tiles of a kind predict some, None if they are few."""
    order = np.random.default_rng(seed).permutation(len(tiles))
    asked, fitted = np.split(order, [len(tiles) // HELD_OUT_PART])
    if not len(asked) or len(fitted) < least_tiles(tiles.kind):
        return None
    tree = fitted_tree(tiles.take(np.sort(fitted)))
    test = tiles.take(np.sort(asked))
    predicted = predicted_cycles(tree, test.kind, test.dimensions)
    return Accuracy(
        str(tiles.kind),
        _named(test),
        test.cycles,
        predicted.astype(np.float64),
        len(fitted),
        tree.leaves,
    )


def _line(fitted: Transfers, asked: Transfers) -> tuple[Accuracy, LinkModel]:
    model = fit_link(fitted)
    accuracy = Accuracy(
        str(asked.link),
        {"bytes": asked.size_bytes},
        asked.cycles,
        model.cycles(asked.size_bytes),
        len(fitted.cycles),
    )
    return accuracy, model


def _named(tiles: Tiles) -> dict[str, Integers]:
    return dict(zip(DIMENSIONS[tiles.kind], tiles.dimensions, strict=True))


def predictions_csv(accuracies: Sequence[Accuracy]) -> str:
    """Return every prediction as CSV: name, dimensions, cycles, predicted, error."""
    names = dict.fromkeys(name for a in accuracies for name in a.dimensions)
    text = io.StringIO()
    columns = ["name", *names, "cycles", "predicted", "error"]
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for accuracy in accuracies:
        for row in range(len(accuracy.cycles)):
            writer.writerow({"name": accuracy.name, **accuracy.entry(row)})
    return text.getvalue()
