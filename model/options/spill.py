"""Activations moved out to HBM, so that every operator fits beside what is held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from elkhound.model.chip import Chip
from elkhound.model.graph import Graph, Home, Tensor
from elkhound.model.lifetimes import held_tensors
from elkhound.model.options.search import least_bytes
from elkhound.model.options.spill_cost import transfer_cycles
from elkhound.model.placement import Buffer
from elkhound.model.tile_cost import TileCost


@dataclass(frozen=True, slots=True)
class Spilled:
    """A tensor moved out, and what its way costs.

    Parameters
    ----------
    tensor : str
        Its name.
    size_bytes : int
        All of it.
    write_cycles, read_cycles : int
        Added to the executes that write it, and to all those that read it.
    """

    tensor: str
    size_bytes: int
    write_cycles: int
    read_cycles: int


def spill_to_fit(
    graph: Graph,
    chip: Chip,
    *,
    use: float = 0.9,
    padding: float = 1.1,
    tile_cost: TileCost | None = None,
) -> tuple[Graph, tuple[Spilled, ...]]:
    """Return the graph with activations moved out to HBM, and which they are.

    The operator that exceeds the SRAM most loses the largest tensor held past it, the
    first written of equals, until every operator's smallest option fits beside what
    is held. Then what turns out not to be needed comes back, the smallest first. An
    operator that exceeds the SRAM with nothing held past it stays as it is:
    `schedule_problem` refuses it. Only what an operator of the graph writes moves.

    Parameters
    ----------
    use, padding, tile_cost
        Passed to the partition search.
    """
    needed = [
        least_bytes(
            graph, operator, chip, use=use, padding=padding, tile_cost=tile_cost
        )
        for operator in graph.operators
    ]
    return spill_beside(graph, chip, needed, held_tensors(graph, chip.cores))


def spill_beside(
    graph: Graph, chip: Chip, needed: Sequence[int], held: Sequence[Buffer]
) -> tuple[Graph, tuple[Spilled, ...]]:
    """Return the graph with activations moved out, from what its steps need.

    Parameters
    ----------
    needed : sequence of int
        Bytes of the smallest option of every step.
    held : sequence of Buffer
        What is held at which steps, as `held_tensors` gives it.
    """
    moved = _chosen(graph, needed, held, chip)
    homes = dict.fromkeys(moved, Home.SPILLED)
    spilled = replace(
        graph,
        tensors=tuple(
            replace(tensor, home=homes.get(tensor.name, tensor.home))
            for tensor in graph.tensors
        ),
    )
    return spilled, _costs(spilled, moved, chip)


@dataclass(frozen=True, slots=True)
class _Held:
    """A tensor held past the steps from `first` to `last`, `share` bytes a core."""

    tensor: Tensor
    first: int
    last: int
    share: int


def _chosen(
    graph: Graph, needed: Sequence[int], buffers: Sequence[Buffer], chip: Chip
) -> list[str]:
    """Return the tensors to move out, by name."""
    room = chip.core.usable_bytes
    held = _movable(graph, buffers)
    used = list(needed)
    for buffer in buffers:
        for step in range(buffer.start_step, buffer.end_step):
            used[step] += buffer.size_bytes
    moved: list[_Held] = []
    hopeless: set[int] = set()
    while True:
        over = [(b, -i) for i, b in enumerate(used) if b > room and i not in hopeless]
        if not over:
            break
        step = -max(over)[1]
        crossing = [h for h in held if h.first <= step <= h.last and h.share]
        if not crossing:
            hopeless.add(step)
            continue
        largest = max(crossing, key=lambda h: (h.share, -h.first))
        held.remove(largest)
        moved.append(largest)
        _add(used, largest, -largest.share)
    for tensor in sorted(moved, key=lambda h: h.share):
        steps = range(tensor.first, tensor.last + 1)
        if all(used[step] + tensor.share <= room for step in steps):
            moved.remove(tensor)
            _add(used, tensor, tensor.share)
    return [h.tensor.name for h in moved]


def _add(used: list[int], held: _Held, share: int) -> None:
    for step in range(held.first, held.last + 1):
        used[step] += share


def _movable(graph: Graph, buffers: Sequence[Buffer]) -> list[_Held]:
    """Return what is held that operators write, by the step that writes it."""
    written = dict.fromkeys(o.einsum.output.tensor for o in graph.operators)
    order = {name: place for place, name in enumerate(written)}
    tensors = graph.tensor
    held = [
        _Held(tensors[name], b.start_step, b.end_step - 1, b.size_bytes)
        for b in buffers
        if (name := b.name.removeprefix("R.")) in order
    ]
    return sorted(held, key=lambda h: order[h.tensor.name])


def _costs(graph: Graph, moved: list[str], chip: Chip) -> tuple[Spilled, ...]:
    """Return the cost of every tensor that moved, in the graph's order."""
    spilled = {t.name: t for t in graph.tensors if t.name in moved}
    writes = dict.fromkeys(spilled, 0)
    reads = dict.fromkeys(spilled, 0)
    for operator in graph.operators:
        read, written = graph.spilled_bytes(operator)
        _charge(reads, read, chip)
        _charge(writes, written, chip)
    return tuple(
        Spilled(name, tensor.size_bytes, writes[name], reads[name])
        for name, tensor in spilled.items()
    )


def _charge(cycles: dict[str, int], sizes: Mapping[str, int], chip: Chip) -> None:
    for name in cycles.keys() & sizes.keys():
        cycles[name] += transfer_cycles(chip, sizes[name])
