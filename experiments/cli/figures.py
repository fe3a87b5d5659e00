"""`elkhound figures`: figures of the papers and studies of ours, redrawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from elkhound.experiments.cli import options
from elkhound.experiments.jobs import default_jobs

if TYPE_CHECKING:
    from elkhound.experiments.figures.figure import Figure
    from elkhound.experiments.figures.making import Made

MOST_JOBS = 512


@click.command(
    "figures",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound figures --list",
        "  elkhound figures elk-17 --quick",
        "  elkhound figures --quick",
        "  elkhound figures elk-17 elk-19 --jobs 8 --output runs/figures --json",
        "",
        "Exit status: 0 all figures are made, 2 bad input or a figure or point failed,",
        "5 contradiction, 130 after Ctrl-C.",
    ),
)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--quick", is_flag=True, help="Reduced grids: all in minutes.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of the figures and of what is measured; what it holds is reused."
    "  [default: runs/figures, with --quick runs/figures-quick]",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1, max=MOST_JOBS),
    help="Points that run at a time.  [default: cores this process may use, at most "
    "one for every 5 GiB of memory, with --quick 1.5]",
)
@click.option(
    "--list", "only_list", is_flag=True, help="Say which figures there are, and end."
)
@options.json_flag
@click.pass_context
def command(
    context: click.Context,
    /,
    names: tuple[str, ...],
    quick: bool,
    output: Path | None,
    jobs: int | None,
    only_list: bool,
    as_json: bool,
) -> None:
    """Measure and draw figures by NAME, or all: plot, CSV, and what was found.

    Every figure gets a directory with its drawing (SVG, PNG), rows.csv, and finding.md:
    what the paper said, what was measured, and why they differ. Finished points are
    kept, so a run that is killed goes on when started again.
    """
    from elkhound.experiments.figures.registry import figures

    chosen = figures(names)
    if only_list:
        options.refuse_given(context, ("quick", "output", "jobs"), "with --list")
        _print_list(chosen, as_json)
        return
    folder = output or Path("runs/figures-quick" if quick else "runs/figures")
    workers = default_jobs(quick=quick) if jobs is None else jobs
    made, interrupted = _make_all(
        chosen, folder, quick=quick, jobs=workers, quiet=as_json
    )
    if as_json:
        document = {"figures": [m.document() for m in made], "run_dir": str(folder)}
        click.echo(json.dumps(document, indent=2))
    else:
        _print_problems(made)
    if interrupted:
        click.echo("elkhound: interrupted; finished points are kept", err=True)
        context.exit(130)
    if any(m.measured is not None and m.measured.contradictions for m in made):
        context.exit(5)
    context.exit(2 if any(m.problems for m in made) else 0)


def _make_all(
    chosen: tuple[Figure, ...], folder: Path, *, quick: bool, jobs: int, quiet: bool
) -> tuple[list[Made], bool]:
    """Make figures one after another; return them, and whether Ctrl-C came."""
    from elkhound.experiments.cli.sweep_progress import SweepProgress
    from elkhound.experiments.figures.figure import Bench
    from elkhound.experiments.figures.making import make
    from elkhound.experiments.sweep_dir import SweepDir

    keep = SweepDir(folder, resume=True)
    pieces = folder / "pieces"
    pieces.mkdir(exist_ok=True)
    made: list[Made] = []
    with keep.store:
        for figure in chosen:
            with SweepProgress() as progress:
                bench = Bench(keep.store, pieces, quick, jobs, progress)
                try:
                    made.append(make(figure, bench, folder / figure.name))
                except KeyboardInterrupt:
                    return made, True
            if not quiet:
                _print_made(made[-1])
    return made, False


def _print_made(made: Made) -> None:
    """Print what was found, and where it is."""
    figure = made.figure
    click.echo(f"{figure.name}: {figure.title}")
    if made.error:
        click.echo(f"  failed: {made.error}\n")
        return
    click.echo(f"  said: {figure.said}")
    click.echo(f"  measured: {made.found}")
    if made.reduced:
        click.echo(f"  reduced: {made.reduced}")
    click.echo(f"  why: {figure.why}")
    drawing = next(path for path in made.files if path.suffix == ".png")
    click.echo(f"  {drawing}, {made.cpu_seconds:.1f} CPU s\n")


def _print_problems(made: list[Made]) -> None:
    """Print everything that went wrong, behind all figures."""
    for one in made:
        for line in one.problems:
            click.echo(f"failed: {one.figure.name}: {line}")
    failed = sum(bool(one.problems) for one in made)
    click.echo(f"{len(made)} figures, {failed} with problems")


def _print_list(chosen: tuple[Figure, ...], as_json: bool) -> None:
    if as_json:
        entries: list[dict[str, Any]] = [
            {
                "name": figure.name,
                "title": figure.title,
                "said": figure.said,
                "quick_cpu_seconds": figure.quick_cpu_seconds,
            }
            for figure in chosen
        ]
        click.echo(json.dumps({"figures": entries}, indent=2))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    grid.add_column("name", no_wrap=True)
    grid.add_column("shows")
    grid.add_column("--quick, CPU s", justify="right")
    for figure in chosen:
        seconds = figure.quick_cpu_seconds
        grid.add_row(
            figure.name, figure.title, "–" if seconds is None else f"{seconds}"
        )
    grid.add_section()
    grid.add_row("all", "", str(sum(f.quick_cpu_seconds or 0 for f in chosen)))
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(grid)
