"""`elkhound report`: one page about a run."""

from __future__ import annotations

import json
from pathlib import Path

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.writable import require_writable
from elkhound.model.errors import BadInputError


@click.command(
    "report",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound report runs/demo",
        "  elkhound report runs/bandwidth --output bandwidth.html --json",
    ),
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the page.  [default: RUN/report.html]",
)
@options.json_flag
def command(run: Path, output: Path | None, as_json: bool) -> None:
    """Write one page about RUN: rows, charts, timelines, provenance.

    RUN is a directory that compare, fuse or sweep wrote. The page holds everything it
    shows and opens without a network.
    """
    if not run.is_dir():
        raise BadInputError("is no directory", code="no-run", where=str(run))
    from elkhound.experiments.report import read_run, report_html
    from elkhound.model.io.text import write_text

    path = output or run / "report.html"
    require_writable(path)
    write_text(path, report_html(read_run(run)))
    click.echo(json.dumps({"report": str(path)}) if as_json else f"wrote {path}")
