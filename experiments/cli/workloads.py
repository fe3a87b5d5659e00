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
    """List the built-in workloads that can stand for MODEL, and their phases.

    The first phase is the default of --phase.
    """
    from elkhound.model.workloads import workload_names, workload_phases

    phases = {name: list(workload_phases(name)) for name in workload_names()}
    if as_json:
        click.echo(json.dumps({"workloads": list(phases), "phases": phases}, indent=2))
        return
    width = max(map(len, phases))
    for name, of_it in phases.items():
        click.echo(f"{name:{width}}  {', '.join(of_it)}")
