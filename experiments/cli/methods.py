"""`elkhound methods`: what can be written after --methods."""

from __future__ import annotations

import json
from typing import Any

import click

from elkhound.experiments.cli import options
from elkhound.model.errors import BadInputError

OURS = "elkhound"


@click.command(
    "methods",
    epilog=options.verbatim(
        "Example:",
        "  elkhound methods",
    ),
)
@options.json_flag
def command(as_json: bool) -> None:
    """List the methods of each kind of problem, with their settings.

    Methods of other installed packages follow those of Elkhound, with their origin.
    """
    from elkhound.experiments.kinds import KINDS

    told = {name: _methods(name, kind.registry) for name, kind in KINDS.items()}
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    for kind, methods in told.items():
        click.echo(f"{kind}:")
        for name, about in methods.items():
            if "broken" in about:
                click.echo(f"  {name:<16} broken: {about['broken']}")
                continue
            ours = about["origin"] == OURS
            came = "" if ours else f"  [{about['origin']}]"
            click.echo(f"  {name:<16} {about['role']:<10} {about['summary']}{came}")
            for key, values in about["settings"].items():
                click.echo(f"  {'':<16}   {key} = {' | '.join(values)}")


def _methods(kind: str, registry: Any) -> dict[str, dict[str, Any]]:
    """Return what is to be told of each method of a kind."""
    from elkhound.experiments.installed_methods import (
        installed_method,
        installed_methods,
    )

    told = {name: _about(entry, OURS) for name, entry in registry.items()}
    for name, origin in installed_methods(kind).items():
        if name in registry:
            reason = f"{origin} offers it, but the name is that of a built-in method"
            told[f"{name} ({origin})"] = {"origin": origin, "broken": reason}
            continue
        try:
            entry = installed_method(kind, name)
        except BadInputError as error:
            told[name] = {"origin": origin, "broken": str(error)}
        else:
            told[name] = _about(entry, origin)
    return told


def _about(entry: Any, origin: str) -> dict[str, Any]:
    return {
        "role": str(entry.role),
        "summary": entry.summary,
        "settings": {key: list(values) for key, values in entry.settings.items()},
        "origin": origin,
    }
