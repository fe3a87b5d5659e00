"""`elkhound rows`: rows of runs and sweeps, filtered, sorted and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.writable import require_writable
from elkhound.model.errors import BadInputError

if TYPE_CHECKING:
    from elkhound.experiments.row_table import RowTable

_ASKED = ("contention", "seed")  # columns of rows that a grid may vary
_ALWAYS = ("method", "status")
_MEASURES = ("objective", "lower_bound", "gap", "simulated", "wall_seconds")


@click.command(
    "rows",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound rows runs/bandwidth",
        "  elkhound rows runs/bandwidth --where method=elk-full,status!=unknown \\",
        "    --columns bind.batch,objective,gap --sort=-gap",
        "  elkhound rows runs/bandwidth/store.sqlite --output rows.parquet",
    ),
)
@click.argument("run", metavar="RUN|STORE", type=click.Path(path_type=Path))
@click.option(
    "--where",
    multiple=True,
    metavar="A=x,B!=y",
    help="Rows that meet every condition; nothing behind = means not known.",
)
@click.option("--columns", metavar="A,B,…", help="Columns to show or write.")
@click.option("--sort", metavar="A,-B,…", help="Columns to sort by; - descends.")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Write the rows to a .csv or .parquet file instead of showing them.",
)
@click.option(
    "--all", "all_grids", is_flag=True, help="Rows of earlier grids in the store too."
)
@options.json_flag
def command(
    run: Path,
    where: tuple[str, ...],
    columns: str | None,
    sort: str | None,
    output: Path | None,
    all_grids: bool,
    as_json: bool,
) -> None:
    """Show or write the rows of a sweep or a comparison.

    RUN is a run directory. Gaps count every bound that the rows know of a problem.
    """
    from elkhound.experiments.row_table import conditions, read_rows

    if output is not None:
        require_writable(output)
    table = read_rows(run, all_grids=all_grids)
    chosen = None if columns is None else _names(columns, "--columns")
    table.require(chosen or ())
    asked = [c for text in where for c in conditions(text, table.columns)]
    table = table.where(asked)
    if sort is not None:
        table = table.sorted_by(_names(sort, "--sort")) if table.lines else table
    if output is not None:
        table.write(output, chosen)
        count = len(table.lines)
        if as_json:
            click.echo(json.dumps({"output": str(output), "count": count}))
        else:
            click.echo(f"wrote {count} rows to {output}", err=True)
    elif as_json:
        names = table.columns if chosen is None else chosen
        lines = [{n: line[n] for n in names if n in line} for line in table.lines]
        click.echo(json.dumps({"rows": lines}, indent=2))
    else:
        print_rows(table, chosen)


def _names(text: str, flag: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if "" in names:
        raise BadInputError(f"{text!r} has an empty name", code="usage", where=flag)
    return names


def print_rows(table: RowTable, columns: list[str] | None) -> None:
    """Print rows for a person.

    Parameters
    ----------
    columns : list of str or None
        None for coordinates that vary, and what every row measures.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    names = _usual(table) if columns is None else columns
    for name in names:
        grid.add_column(Text(name), overflow="fold", justify=_side(table, name))
    for line in table.lines:
        grid.add_row(*(Text(_cell(name, line.get(name))) for name in names))
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(grid)


def _usual(table: RowTable) -> list[str]:
    from elkhound.experiments.rows import ALL_COLUMNS

    asked = (*_ASKED, *(name for name in table.columns if name not in ALL_COLUMNS))
    varied = [name for name in table.varied if name in asked]
    return [*varied, *(n for n in (*_ALWAYS, *_MEASURES) if n in table.columns)]


def _side(table: RowTable, name: str) -> Any:
    texts = any(isinstance(line.get(name), str) for line in table.lines)
    return "left" if texts else "right"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if name in ("gap", "model_error"):
        return f"{100 * value:.2f} %"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
