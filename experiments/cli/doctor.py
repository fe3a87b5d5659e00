"""`elkhound doctor`: versions, and a solved probe per solver."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from elkhound.experiments.cli import options


@click.command(
    "doctor",
    epilog=options.verbatim(
        "Example:",
        "  elkhound doctor",
    ),
)
@options.json_flag
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Show versions and let every installed solver prove a small optimum.

    Exit status 1 if a solver answers wrongly or not at all.
    """
    from elkhound.experiments.run_dir import versions
    from elkhound.solvers.backends import probe

    found = versions()
    probes = probe()
    if as_json:
        solvers = [
            {**asdict(p.backend), "works": p.works, "message": p.message}
            for p in probes
        ]
        click.echo(json.dumps({"versions": found, "solvers": solvers}, indent=2))
    else:
        for name, release in found.items():
            click.echo(f"{name:<12} {release}")
        for p in probes:
            verdict = "works" if p.works else "FAILS"
            click.echo(
                f"{p.backend.name:<12} {verdict}: {p.message} ({p.backend.version})"
            )
    context.exit(0 if probes and all(p.works for p in probes) else 1)
