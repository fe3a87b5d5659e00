"""`elkhound schema`: JSON schema of the files."""

from __future__ import annotations

import json

import click

from elkhound.experiments.cli import options
from elkhound.model.errors import BadInputError, nearest


@click.command(
    "schema",
    epilog=options.verbatim(
        "Examples:",
        "  elkhound schema",
        "  elkhound schema schedule > schedule.schema.json",
    ),
)
@click.argument("kind", required=False)
@click.option(
    "--json", is_flag=True, expose_value=False, help="Accepted; output is always JSON."
)
def command(kind: str | None) -> None:
    """Print the JSON schema of a KIND of file, or of all."""
    from elkhound.experiments.schemas import file_schemas

    schemas = file_schemas()
    if kind is None:
        click.echo(json.dumps(schemas, indent=2))
        return
    if kind not in schemas:
        raise BadInputError(
            f"no kind of file {kind!r}",
            code="unknown-kind",
            where="KIND",
            hint=nearest(kind, list(schemas)),
        )
    click.echo(json.dumps(schemas[kind], indent=2))
