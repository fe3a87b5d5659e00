"""`elkhound tiles`: how well tile costs are predicted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elkhound.experiments.cli import options
from elkhound.experiments.source import DEFAULT_CHIP

if TYPE_CHECKING:
    from rich.console import Console

    from elkhound.experiments.tile_accuracy import Accuracy
    from elkhound.experiments.tile_report import TileReport


@click.command(
    "tiles",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound tiles",
        "  elkhound tiles --chip toy-64 --tile-cost device:blocks=fractional",
        "  elkhound tiles --tile-cost measured.csv --output runs/tiles --json",
        "  elkhound tiles --links transfers.csv --output runs/tiles",
        "  elkhound compare block.onnx --bind batch=4 --chip runs/tiles/chip.yaml",
    ),
)
@options.chip_flag
@click.option(
    "--tile-cost",
    metavar="device|FILE",
    default="device",
    show_default=True,
    help="What trees are fitted to: formulas of the chip's core, with a variant behind "
    "the name, or a CSV of measured tiles.",
)
@click.option(
    "--links",
    metavar="FILE",
    help="CSV of measured transfers that lines are fitted to.  [default: transfers of "
    "the chip]",
)
@click.option(
    "--tiles",
    "count",
    type=click.IntRange(min=2, max=100_000),
    default=1000,
    show_default=True,
    help="Random tiles of each kind, and transfers over each link, that are predicted.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the tiles that are predicted.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for predictions.csv and figure-12, with --links for chip.yaml too.",
)
@options.json_flag
@click.pass_context
def command(
    context: click.Context,
    /,
    chip: str | None,
    tile_cost: str,
    links: str | None,
    count: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Say how well trees predict tiles, and lines transfers (figure 12 of Elk).

    A regression tree with a linear model in every leaf is fitted to tiles of each kind,
    a line to transfers over each link; tiles that were not fitted to are predicted.
    """
    from elkhound.experiments.tile_costs import is_measured
    from elkhound.experiments.tile_report import tile_report
    from elkhound.model.io import load_chip

    if is_measured(tile_cost) and links is not None:
        options.refuse_given(context, ("count",), "where everything is measured")
    onto = load_chip(DEFAULT_CHIP if chip is None else chip)
    report = tile_report(onto, tile_cost, links, count=count, seed=seed)
    written = [] if output is None else report.write(output)
    if as_json:
        files = [str(path) for path in written]
        click.echo(json.dumps(report.document() | {"files": files}, indent=2))
        return
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    _print(console, report)
    for path in written:
        click.echo(f"wrote {path}")


def _print(console: Console, report: TileReport) -> None:
    from rich import box
    from rich.table import Table

    title = f"{report.tile_cost['name']} on {report.chip.name}"
    grid = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    grid.add_column("kind")
    for heading in ("fitted to", "leaves", "predicted", "R²", "MAPE", "worst"):
        grid.add_column(heading, justify="right")
    grid.add_column("worst tile")
    for accuracy in report.tiles:
        grid.add_row(*_cells(accuracy))
    for accuracy, model in report.links:
        line = f"{model.fixed_cycles:.1f} + {model.cycles_per_byte:.4g} · bytes"
        grid.add_row(*_cells(accuracy)[:-1], line)
    console.print(grid)
    for kind in report.left_out:
        console.print(f"{kind}: too few measured tiles to hold some out", style="bold")


def _cells(accuracy: Accuracy) -> list[str]:
    worst: dict[str, Any] = accuracy.entry(accuracy.worst)
    tile = ", ".join(f"{name} = {worst[name]}" for name in accuracy.dimensions)
    return [
        accuracy.name,
        str(accuracy.fitted),
        str(accuracy.leaves),
        str(len(accuracy.cycles)),
        "–" if accuracy.r2 is None else f"{accuracy.r2:.6f}",
        f"{accuracy.mape:.3%}",
        f"{worst['error']:+.2%}",
        f"{tile}: {worst['cycles']} cycles, predicted {worst['predicted']:.0f}",
    ]
