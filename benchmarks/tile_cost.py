"""CPU seconds of the partition search by tile cost: formulas, trees, measured tiles.

One process, one run: all distinct operators of a workload are searched with each tile
cost in turn, twice, without a cache. The measured tiles are random ones of the device.
The second table says by how much a prediction falls where one extent grows by one.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np

from elkhound.model.chip import Chip
from elkhound.model.graph import Graph
from elkhound.model.io.chip_file import load_chip
from elkhound.model.options import distinct_operators, operator_options
from elkhound.model.options.search import forget_tables
from elkhound.model.tile_cost import (
    DIMENSIONS,
    Device,
    TileCost,
    TileKind,
    fitted_to,
    measured_cost,
)
from elkhound.model.tile_cost.fitted import device_tiles
from elkhound.model.workloads import build_workload

MEASURED = 3000
GROWN = 20_000


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("workload", nargs="?", default="llama-2-70b")
    parser.add_argument("chip", nargs="?", default="ipu-pod4-hbm")
    given = parser.parse_args()
    os.environ["ELKHOUND_CACHE"] = "off"
    graph = build_workload(given.workload, {"batch": 32, "seq": 2048, "layers": 1})
    chip = load_chip(given.chip)
    device, room = Device.of(chip.core), chip.core.usable_bytes
    started = time.process_time()
    tree = fitted_to(device, room)
    print(f"trees of all kinds fitted in {time.process_time() - started:.2f} CPU s")
    tiles = {k: device_tiles(device, k, room, MEASURED, seed=7) for k in TileKind}
    costs: dict[str, TileCost] = {
        "device": device,
        "tree": tree,
        "measured": measured_cost("benchmark", tiles),
    }
    print_seconds(graph, chip, costs)
    for kind in TileKind:
        print_falls(kind, tree, device, room)


def print_seconds(graph: Graph, chip: Chip, costs: dict[str, TileCost]) -> None:
    """Search all distinct operators by every cost, twice; print the least seconds."""
    first = [group[0] for group in distinct_operators(graph)]
    seconds = dict.fromkeys(costs, float("inf"))
    for _ in range(2):
        for name, cost in costs.items():
            forget_tables()
            started = time.process_time()
            for operator in first:
                operator_options(graph, operator, chip, tile_cost=cost)
            seconds[name] = min(seconds[name], time.process_time() - started)
    for name, spent in seconds.items():
        ratio = spent / seconds["device"]
        print(
            f"{graph.name}, {len(first)} operators, {name}: {spent:.2f} CPU s", end=""
        )
        print(f", {ratio:.2f} times device")


def print_falls(kind: TileKind, tree: TileCost, device: Device, room: int) -> None:
    """Print how often and how far predictions fall where one extent grows by one."""
    tiles = device_tiles(device, kind, room, GROWN, seed=11)
    before = tree.tile_cycles(kind, tiles.dimensions)
    for place, name in enumerate(DIMENSIONS[kind]):
        grown = list(tiles.dimensions)
        grown[place] = grown[place] + 1
        change = tree.tile_cycles(kind, tuple(grown)) / before - 1
        print(
            f"{kind} one more in {name}: falls for {np.mean(change < 0):.2%} of tiles, "
            f"by {-change.min(initial=0):.2%} at most"
        )


if __name__ == "__main__":
    main()
