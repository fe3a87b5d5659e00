"""The common course of `compare`, `allocate` and `place`: run, keep, print."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from elkhound.experiments.source import ModelFlags, Source
from elkhound.model.limits import Limits
from elkhound.model.pin import Pinned


def run_comparison(
    context: click.Context,
    source: Source,
    methods: str | None,
    limits: Limits[Any],
    configuration: dict[str, Any],
    *,
    run_dir: Path | None,
    plots: bool,
    as_json: bool,
    output: Path | None = None,
    prove: bool = False,
    thin_permille: int | None = None,
    pin: str | None = None,
) -> None:
    """Compare, keep everything in a run directory, print, and set the exit status.

    Parameters
    ----------
    methods : str or None
        Comma-separated names; None for the usual ones of the kind.
    configuration : dict
        What is written down beside versions and seed.
    run_dir : Path or None
        None for a new directory below `runs`.
    output : Path or None
        Where the best verified plan goes too.
    prove : bool
        Whether every proof is tried again by another formulation.
    thin_permille : int or None
        How far options are thinned; None for all options.
    pin : str or None
        File of decisions that plans keep.
    """
    from elkhound.experiments.cli.progress import ProgressLine
    from elkhound.experiments.comparison import compare, require_schedule
    from elkhound.experiments.kinds import kind_of
    from elkhound.experiments.methods import split_names, variants
    from elkhound.experiments.run_dir import RunDir, default_path
    from elkhound.experiments.table import Interrupted

    kind = kind_of(source.problem)
    names = kind.default_methods if methods is None else split_names(methods)
    variants(names, kind.registry)  # refused before a directory is made
    if thin_permille is not None:
        require_schedule(source.problem, "--thin")
    kind.require_feasible(source.problem)
    pins = read_pins(pin, source)
    keep = RunDir(run_dir or default_path(source.name))
    resolved = configuration | {
        "methods": list(names),
        "limits": asdict(limits),
        "thin_permille": thin_permille,
        "pin": None if pins is None else pins.said,
        "fused": list(source.fused),
    }
    keep.begin(source.problem, source.chip, resolved)
    interrupted = False
    with ProgressLine(keep) as progress:
        progress.warn(source.warnings)
        for line in (*source.spilled, *source.fused):
            progress.say(line)
        try:
            table = compare(
                source.problem,
                names,
                chip=source.chip,
                graph=source.graph,
                held=source.held,
                limits=limits,
                observer=progress,
                prove=prove,
                thin_permille=thin_permille,
                pins=pins,
                tile_cost=source.tile_cost,
                fused=source.groups,
            )
        except Interrupted as interrupt:
            table, interrupted = interrupt.table, True
        keep.write_rows(table)
        if output is not None and (best := table.best_plan) is not None:
            kind.write_plan(output, source.problem, best, source.chip)
            progress.say(f"wrote {output}")
        if plots and not interrupted:
            progress.started("plots")
            try:
                keep.draw(table)
            except KeyboardInterrupt:
                interrupted = True
    if table.refusal is not None and not interrupted:
        raise table.refusal
    print_result(table, keep.path, as_json)
    if interrupted:
        click.echo("elkhound: interrupted; finished methods are kept", err=True)
        context.exit(130)
    context.exit(table.exit_status)


def read_pins(path: str | None, source: Source) -> Pinned | None:
    """Return what a pin file leaves of a schedule problem."""
    from elkhound.experiments.comparison import require_schedule
    from elkhound.model.io import load_pins

    if path is None:
        return None
    require_schedule(source.problem, "--pin")
    return load_pins(path).on(source.problem)


def print_result(table: Any, run_dir: Path | None, as_json: bool) -> None:
    """Print the table, as JSON or for a person."""
    from elkhound.experiments.output import print_table, table_document

    if as_json:
        click.echo(json.dumps(table_document(table, run_dir), indent=2))
        return
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    print_table(console, table, run_dir)


def configuration_of(model: str, flags: ModelFlags) -> dict[str, Any]:
    """Return what names the problem, for the run directory."""
    return {"model": model, **asdict(flags)}
