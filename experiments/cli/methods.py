"""`elkhound methods`: what can be written after --methods."""

from __future__ import annotations

import json
from typing import Any

import click

from elkhound.experiments.cli import options


@click.command(
    "methods",
    epilog=options.verbatim(
        "Example:",
        "  elkhound methods",
    ),
)
@options.json_flag
def command(as_json: bool) -> None:
    """List the methods of each kind of problem, with their settings."""
    from elkhound.experiments.methods import ALLOCATION, PLACEMENT, SCHEDULE

    kinds = {
        "schedule": SCHEDULE,
        "allocation": ALLOCATION,
        "placement": PLACEMENT,
    }
    if as_json:
        document: dict[str, Any] = {
            kind: {
                name: {
                    "role": str(entry.role),
                    "summary": entry.summary,
                    "settings": {key: list(v) for key, v in entry.settings.items()},
                }
                for name, entry in registry.items()
            }
            for kind, registry in kinds.items()
        }
        click.echo(json.dumps(document, indent=2))
        return
    for kind, registry in kinds.items():
        click.echo(f"{kind}:")
        for name, entry in registry.items():
            click.echo(f"  {name:<16} {entry.role:<10} {entry.summary}")
            for key, values in entry.settings.items():
                click.echo(f"  {'':<16}   {key} = {' | '.join(values)}")
