"""`elkhound workloads`: the built-in models."""

from __future__ import annotations

import json

import click

from elkhound.experiments.cli import options


@click.command(
    "workloads",
    epilog=options.verbatim(
        "Example:",
        "  elkhound workloads",
    ),
)
@options.json_flag
def command(as_json: bool) -> None:
    """List the built-in workloads that can stand for MODEL."""
    from elkhound.model.workloads import workload_names

    names = list(workload_names())
    if as_json:
        click.echo(json.dumps({"workloads": names}, indent=2))
        return
    click.echo("\n".join(names))
