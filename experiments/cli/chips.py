"""`elkhound chips`: the presets."""

from __future__ import annotations

import json

import click

from elkhound.experiments.cli import options
from elkhound.experiments.cli.methods import OURS
from elkhound.model.chip import Links, Mesh2D
from elkhound.model.errors import BadInputError


def _links(links: Links) -> str:
    rate = f"{links.bytes_per_second / 1e9:g} GB/s"
    if isinstance(links, Mesh2D):
        return f"mesh of {links.rows} × {links.columns}, {rate} per link"
    return f"links {rate} per core"


@click.command(
    "chips",
    epilog=options.verbatim(
        "Example:",
        "  elkhound chips --json",
    ),
)
@options.json_flag
def command(as_json: bool) -> None:
    """List the chip presets, and the chips of other installed packages.

    --chip also takes a YAML file of the same form.
    """
    from elkhound.model.io import chip_document, chip_names, installed_chips, load_chip

    origins = dict.fromkeys(chip_names(), OURS) | installed_chips()
    chips, faults = {}, {}
    for name in origins:
        try:
            chips[name] = load_chip(name)
        except BadInputError as error:
            faults[name] = str(error)
    if as_json:
        document = {
            "chips": [chip_document(chip) for chip in chips.values()],
            "origins": origins,
            "broken": faults,
        }
        click.echo(json.dumps(document, indent=2))
        return
    for name, chip in chips.items():
        came = "" if origins[name] == OURS else f"  [{origins[name]}]"
        click.echo(
            f"{name:<18} {chip.chips} × {chip.cores_per_chip} cores, "
            f"{chip.core.usable_bytes} B usable per core, "
            f"HBM {chip.hbm.bytes_per_second / 1e9:g} GB/s, "
            f"{_links(chip.links)}, "
            f"{chip.clock_hz / 1e9:g} GHz{came}"
        )
    for name, fault in faults.items():
        click.echo(f"{name:<18} broken: {fault}")
