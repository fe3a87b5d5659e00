"""`elkhound chips`: the presets."""

from __future__ import annotations

import json

import click

from elkhound.experiments.cli import options
from elkhound.model.chip import Links, Mesh2D


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
    """List the chip presets; --chip also takes a YAML file of the same form."""
    from elkhound.model.io import chip_document, chip_names, load_chip

    chips = [load_chip(name) for name in chip_names()]
    if as_json:
        documents = [chip_document(chip) for chip in chips]
        click.echo(json.dumps({"chips": documents}, indent=2))
        return
    for chip in chips:
        click.echo(
            f"{chip.name:<18} {chip.chips} × {chip.cores_per_chip} cores, "
            f"{chip.core.usable_bytes} B usable per core, "
            f"HBM {chip.hbm.bytes_per_second / 1e9:g} GB/s, "
            f"{_links(chip.links)}, "
            f"{chip.clock_hz / 1e9:g} GHz"
        )
