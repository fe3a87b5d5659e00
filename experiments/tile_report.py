"""What `elkhound tiles` finds out: accuracies, lines of links, and their files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elkhound.experiments.tile_accuracy import (
    Accuracy,
    link_accuracy,
    predictions_csv,
    tile_accuracy,
)
from elkhound.experiments.tile_costs import FLAG, tile_cost_document, tile_cost_of
from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError
from elkhound.model.io import chip_document
from elkhound.model.io.text import as_text, write_text
from elkhound.model.tile_cost import Device, MeasuredCost
from elkhound.model.tile_cost.links import (
    Link,
    LinkModel,
    calibrated,
    links_of,
    read_transfers,
)

FIGURE, PREDICTIONS, CALIBRATED = "figure-12", "predictions.csv", "chip.yaml"


@dataclass(frozen=True, slots=True)
class TileReport:
    """How well trees and lines predict the tiles and transfers of a chip.

    Parameters
    ----------
    chip : Chip
        The chip, with the rates of measured transfers where there are any.
    tile_cost : dict
        What trees are fitted to.
    tiles : tuple of Accuracy
        One per kind.
    links : tuple of (Accuracy, LinkModel)
        One per link.
    left_out : tuple of str
        Kinds with too few measured tiles.
    is_calibrated : bool
        Whether the chip has the rates of measured transfers.
    """

    chip: Chip
    tile_cost: dict[str, Any]
    tiles: tuple[Accuracy, ...]
    links: tuple[tuple[Accuracy, LinkModel], ...]
    left_out: tuple[str, ...]
    is_calibrated: bool

    def document(self) -> dict[str, Any]:
        """Return what JSON says of it."""
        return {
            "chip": self.chip.name,
            "tile_cost": self.tile_cost,
            "tiles": [accuracy.document() for accuracy in self.tiles],
            "links": [
                accuracy.document()
                | {
                    "fixed_cycles": model.fixed_cycles,
                    "cycles_per_byte": model.cycles_per_byte,
                }
                for accuracy, model in self.links
            ],
            "left_out": list(self.left_out),
        }

    def write(self, folder: Path) -> list[Path]:
        """Write the predictions and figure 12, and the chip if transfers made it."""
        from elkhound.experiments.plots import plot_tile_accuracy

        _make(folder)
        accuracies = [*self.tiles, *(accuracy for accuracy, _ in self.links)]
        written = [folder / PREDICTIONS]
        write_text(folder / PREDICTIONS, predictions_csv(accuracies))
        written += plot_tile_accuracy(folder / FIGURE, accuracies)
        if self.is_calibrated:
            written.append(folder / CALIBRATED)
            write_text(folder / CALIBRATED, as_text(chip_document(self.chip)))
        return written


def tile_report(
    chip: Chip, named: str, links: str | None, *, count: int = 1000, seed: int = 0
) -> TileReport:
    """Fit trees to tiles and lines to transfers, and see how well they predict.

    Parameters
    ----------
    named : str
        ``device`` or a CSV of measured tiles, as for ``--tile-cost``.
    links : str or None
        CSV of measured transfers; None for those of the chip.
    count : int
        Random tiles of each kind, and transfers over each link.
    """
    cost = tile_cost_of(named, chip)
    if not isinstance(cost, Device | MeasuredCost):
        raise BadInputError(
            f"is {named}, and a tree is what is fitted here: name what it is fitted to",
            code="no-effect",
            where=FLAG,
            hint="legal: device, a .csv file",
        )
    tiles = tile_accuracy(cost, chip, count=count, seed=seed)
    known = {accuracy.name for accuracy in tiles}
    kinds = sorted(cost.tiles) if isinstance(cost, MeasuredCost) else []
    measured = None
    if links is not None:
        measured = read_transfers(links)
        _require_links(chip, links, list(measured))
    lines = link_accuracy(chip, measured, count=count, seed=seed)
    if measured is not None:
        chip = calibrated(chip, {Link(a.name): model for a, model in lines})
    return TileReport(
        chip=chip,
        tile_cost=tile_cost_document(named, cost),
        tiles=tiles,
        links=lines,
        left_out=tuple(str(kind) for kind in kinds if kind not in known),
        is_calibrated=measured is not None,
    )


def _require_links(chip: Chip, path: str, measured: list[Link]) -> None:
    """Refuse transfers over a link that the chip does not tell apart."""
    for link in measured:
        if link not in links_of(chip):
            raise BadInputError(
                f"link {link} has no effect on chip {chip.name}",
                code="no-effect",
                where=path,
                hint="its links: " + ", ".join(links_of(chip)),
            )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInputError(
            f"cannot be made: {error.strerror}", code="unwritable", where=str(folder)
        ) from error
