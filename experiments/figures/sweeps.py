"""Grids that several figures of Elk's design-space exploration share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from elkhound.experiments.figures.designs import ALL_TO_ALL, DESIGNS, LLMS, MESH

HBM, LINKS = "set.hbm.bytes_per_second", "set.links.bytes_per_second"
TERA = 10**12

# rates of the presets: a link, and what its protocol leaves of it for exchanges
LINK_RATES = {
    ALL_TO_ALL: (5_500_000_000, 4_732_142_857),
    MESH: (22_000_000_000, 18_928_571_428),
}


def over_hbm(quick: bool, rates: Sequence[int]) -> list[dict[str, Any]]:
    """Return all LLMs on both topologies over HBM rates; quick: two layers."""
    bind: dict[str, Any] = {"batch": 32, "seq": 2048}
    if quick:
        bind["layers"] = 2
    return [
        {
            "model": list(LLMS),
            "bind": bind,
            "chip": [ALL_TO_ALL, MESH],
            "set": {"hbm.bytes_per_second": list(rates)},
            "methods": list(DESIGNS),
        }
    ]


def scaled_links(chip: str, factor: float) -> dict[str, int]:
    """Return the chip fields of links that are so many times as fast."""
    whole, exchange = LINK_RATES[chip]
    return {
        "links.bytes_per_second": round(whole * factor),
        "links.exchange_bytes_per_second": round(exchange * factor),
    }


def link_factor(chip: str, bytes_per_second: int) -> float:
    """Return how many times as fast as the preset's a link is."""
    return round(bytes_per_second / LINK_RATES[chip][0], 3)
