"""`elkhound sweep`: a grid of points, kept as they finish."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.model.errors import BadInputError

MOST_JOBS = 512


@click.command(
    "sweep",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound sweep examples/sweep.yaml --jobs 2 --output runs/bandwidth",
        "  elkhound sweep examples/sweep.yaml --output runs/bandwidth --resume",
        "  elkhound sweep grid.yaml --cluster tcp://head:8786 --output runs/grid",
        "  elkhound rows runs/bandwidth --where status=optimal --sort objective",
        "",
        "A grid:",
        "  grid:",
        "    model: llama-2-13b",
        "    bind: {batch: [16, 32], seq: 2048, layers: 1}",
        "    set: {hbm.bytes_per_second: [8.0e12, 16.0e12]}",
        '    methods: [static, elk-full, "dp:order=identity"]',
        "",
        "Exit status: 0 every point has an answer, 2 bad input or a point failed,",
        "5 contradiction, 130 after Ctrl-C.",
    ),
)
@click.argument("grid", type=click.Path(path_type=Path))
@click.option(
    "--jobs",
    type=click.IntRange(min=1, max=MOST_JOBS),
    default=1,
    show_default=True,
    help="Points that run at a time on this machine.",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Run points on the workers of a Dask cluster: tcp://host:8786.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Directory of the sweep.  [default: runs/<time>-<grid>]",
)
@click.option("--resume", is_flag=True, help="Reuse the points that have finished.")
@click.option(
    "--retry-failed", is_flag=True, help="With --resume, run failed points again."
)
@options.json_flag
@click.pass_context
def command(
    context: click.Context,
    /,
    grid: Path,
    jobs: int,
    cluster: str | None,
    output: Path | None,
    resume: bool,
    retry_failed: bool,
    as_json: bool,
) -> None:
    """Plan every point of GRID with every method, and keep a row of each.

    Finished points are kept one by one in store.sqlite of the output directory, so that
    a sweep that is killed goes on with --resume.
    """
    from elkhound.experiments.cli.sweep_progress import SweepProgress
    from elkhound.experiments.grid import grid_points
    from elkhound.experiments.run_dir import default_path
    from elkhound.experiments.sweep_dir import SweepDir
    from elkhound.experiments.sweeping import SweepInterrupted, sweep
    from elkhound.model.io import load_grid

    if cluster is not None:
        options.refuse_given(context, ("jobs",), "with --cluster")
    if retry_failed and not resume:
        raise BadInputError(
            "has no effect without --resume", code="no-effect", where="--retry-failed"
        )
    file = load_grid(grid)
    points = grid_points(file)
    keep = SweepDir(output or default_path(grid.stem), resume=resume)
    keep.begin(file.document.value)
    interrupted = False
    with keep.store, SweepProgress() as progress:
        try:
            swept = sweep(
                points,
                keep.store,
                jobs=jobs,
                cluster=cluster,
                retry_failed=retry_failed,
                observer=progress,
            )
        except SweepInterrupted as interrupt:
            swept, interrupted = interrupt.swept, True
    keep.write_rows(swept.rows)
    _print(swept, keep.path, as_json)
    if interrupted:
        click.echo("elkhound: interrupted; finished points are kept", err=True)
        context.exit(130)
    if swept.contradictions:
        context.exit(5)
    context.exit(2 if swept.failed else 0)


def _print(swept: Any, path: Path, as_json: bool) -> None:
    """Print counts and rows, as JSON or for a person."""
    counts = {
        "points": len(swept.records) + swept.missing,
        "reused": swept.reused,
        "computed": swept.computed,
        "failed": len(swept.failed),
        "missing": swept.missing,
    }
    if as_json:
        document = {
            **counts,
            "rows": list(swept.rows.lines),
            "contradictions": list(swept.contradictions),
            "run_dir": str(path),
        }
        click.echo(json.dumps(document, indent=2))
        return
    from elkhound.experiments.cli.rows import print_rows

    print_rows(swept.rows, None)
    for record in swept.failed:
        called = " ".join(str(value) for value in record.coordinates.values())
        click.echo(f"failed: {called} {record.row.method}: {record.row.reason}")
    for line in swept.contradictions:
        click.echo(f"CONTRADICTION {line}")
    click.echo(", ".join(f"{number} {name}" for name, number in counts.items()))
    click.echo(f"rows: {path / 'rows.csv'}")
