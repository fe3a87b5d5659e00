"""`elkhound place`: addresses for the buffers of a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.comparing import run_comparison
from elkhound.experiments.cli.writable import require_writable
from elkhound.model.errors import BadInputError


@click.command(
    "place",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound place A.1048576.csv --capacity 1048576 --json",
        "  elkhound place buffers.csv --capacity 65536 --output placed.csv",
        "  elkhound place buffers.csv --minimise --methods best-fit:order=area",
        "",
        "Exit status: 0 placed, 2 bad input, 3 proved not to fit, 4 no method found",
        "a placement, 5 contradiction.",
    ),
)
@click.argument("file")
@click.option(
    "--capacity",
    "capacity_bytes",
    type=click.IntRange(min=0),
    help="C in bytes.  [default: the problem file's; with --minimise, no limit]",
)
@click.option(
    "--minimise",
    is_flag=True,
    help="Ask for the least height, not for any placement within the capacity.",
)
@click.option(
    "--methods",
    metavar="A,B,…",
    help="Methods, with variants (see `elkhound methods`).  "
    "[default: best-fit,first-fit,search]",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where the lowest placement goes, as CSV with offsets.",
)
@options.limit_flags
@options.run_flags
@options.json_flag
@click.pass_context
def command(
    context: click.Context,
    /,
    file: str,
    capacity_bytes: int | None,
    minimise: bool,
    methods: str | None,
    output: Path | None,
    **values: Any,
) -> None:
    """Give every buffer an address, with several methods.

    FILE holds buffers: MiniMalloc's CSV (id,lower,upper,size) or a placement problem
    file (.json, .yaml).
    """
    source = _source(file, capacity_bytes, minimise)
    if output is not None:
        require_writable(output)
    run_comparison(
        context,
        source,
        methods,
        options.limits_of(values),
        {"file": file, "capacity": capacity_bytes, "minimise": minimise},
        run_dir=values["run_dir"],
        plots=not values["no_plots"],
        as_json=values["as_json"],
        output=output,
    )


def _source(file: str, capacity_bytes: int | None, minimise: bool) -> Any:
    """Return the problem of a file, with what the flags say of it."""
    from elkhound.experiments.source import (
        ModelFlags,
        Source,
        is_problem_file,
        read_source,
    )
    from elkhound.model.placement import PlacementProblem

    if is_problem_file(file):
        problem = read_source(file, ModelFlags()).problem
        if not isinstance(problem, PlacementProblem):
            raise BadInputError(
                "holds another kind of problem, place takes a placement problem",
                code="wrong-kind",
                where=file,
                hint=f"elkhound compare {file}",
            )
        if capacity_bytes is not None:
            problem = replace(problem, capacity_bytes=capacity_bytes)
        if minimise:
            problem = replace(problem, minimise=True)
        return Source(Path(file).stem, problem, None)
    if Path(file).suffix.lower() != ".csv":
        raise BadInputError(
            "is no file of buffers",
            code="not-a-problem",
            where=file,
            hint=".csv, .json, .yaml",
        )
    from elkhound.model.io import read_placement_csv

    buffers = read_placement_csv(file).buffers
    if capacity_bytes is None:
        if not minimise:
            raise BadInputError(
                "a CSV file holds no capacity",
                code="usage",
                where="--capacity",
                hint="give --capacity BYTES or --minimise",
            )
        capacity_bytes = sum(buffer.size_bytes for buffer in buffers)
    name = Path(file).stem
    return Source(name, PlacementProblem(capacity_bytes, buffers, minimise, name), None)
