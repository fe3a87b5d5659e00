"""What makes a LoopTree a mapping of a workload: the referee's list of rules."""

from __future__ import annotations

from collections.abc import Iterator

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.mapping import (
    ComputeNode,
    Loop,
    LoopTree,
    Node,
    Split,
    Store,
    computed,
)
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload

_Path = tuple[Node, ...]


def broken_rules(
    accelerator: Accelerator, workload: FusionWorkload, tree: LoopTree
) -> tuple[str, ...]:
    """Return one line per broken rule; later rules are judged if earlier ones hold."""
    lines = tuple(_names(accelerator, workload, tree))
    if not lines:
        lines = tuple(_order(workload, tree))
    if not lines:
        lines = tuple(_lockstep(workload, tree.nodes, {}))
    for path in () if lines else tree.paths:
        lines += tuple(_path_rules(accelerator, workload, path))
    for tensor in () if lines else sorted(workload.intermediates):
        lines += tuple(_exchange(workload, tree, tensor))
    return lines


def _walk(nodes: _Path) -> Iterator[Node]:
    for node in nodes:
        yield node
        for branch in node.branches if isinstance(node, Split) else ():
            yield from _walk(branch)


def _names(
    accelerator: Accelerator, workload: FusionWorkload, tree: LoopTree
) -> Iterator[str]:
    memories = {memory.name for memory in accelerator.memories}
    units = {unit.name for unit in accelerator.compute}
    fan_outs = {fan_out.label for fan_out, _ in accelerator.fan_outs}
    einsums = {einsum.name for einsum in workload.einsums}
    for node in _walk(tree.nodes):
        if isinstance(node, Store) and node.memory not in memories:
            yield f"no memory is called {node.memory}"
        if isinstance(node, Store) and node.tensor not in workload.tensors:
            yield f"no tensor is called {node.tensor}"
        if (
            isinstance(node, Loop)
            and node.over is not None
            and node.over not in fan_outs
        ):
            yield f"no fan-out is called {node.over}"
        if isinstance(node, ComputeNode) and node.einsum not in einsums:
            yield f"no einsum is called {node.einsum}"
        if isinstance(node, ComputeNode) and node.unit not in units:
            yield f"no compute unit is called {node.unit}"


def _order(workload: FusionWorkload, tree: LoopTree) -> Iterator[str]:
    running = computed(tree.nodes)
    written: set[str] = set()
    for name in running:
        for access in workload.einsum(name).inputs:
            if access.tensor in workload.intermediates - written:
                yield f"einsum {name}: {access.tensor} is not written yet"
        written.add(workload.einsum(name).output.tensor)
    for einsum in workload.einsums:
        if running.count(einsum.name) != 1:
            yield f"einsum {einsum.name}: runs {running.count(einsum.name)} times"


def _lockstep(
    workload: FusionWorkload, nodes: _Path, above: dict[tuple[str, str], int]
) -> Iterator[str]:
    """Loops cut every einsum under them alike; tiles shrink; storage has users."""
    names = computed(nodes)
    left = dict(above)
    for name in names:
        for rank in workload.einsum(name).ranks:
            left.setdefault((name, rank), workload.size[rank])
    for node in nodes:
        if isinstance(node, Store) and not set(names) & set(
            workload.users(node.tensor)
        ):
            yield f"[{node.memory}] stores {node.tensor}, which nothing under it uses"
        if isinstance(node, Loop):
            keys = [(name, node.rank_of(name)) for name in names]
            for name, rank in keys:
                if (name, rank) not in left:
                    yield f"einsum {name}: is under a loop over {rank}, not its own"
                    return
            extents = {left[key] for key in keys}
            if len(extents) > 1:
                yield f"loop over {node.rank}: cuts extents {sorted(extents)}"
            if node.tile_size > min(extents):
                yield f"loop over {node.rank}: tile {node.tile_size} > {min(extents)}"
            left.update(dict.fromkeys(keys, node.tile_size))
        if isinstance(node, Split):
            for branch in node.branches:
                yield from _lockstep(workload, branch, left)
        if isinstance(node, ComputeNode) and not workload.einsum(node.einsum).copy:
            for rank in workload.einsum(node.einsum).ranks:
                if left[node.einsum, rank] > 1:
                    yield f"einsum {node.einsum}: tile of {rank} is not 1 at last"


def _path_rules(
    accelerator: Accelerator, workload: FusionWorkload, path: _Path
) -> Iterator[str]:
    last = path[-1]
    if not isinstance(last, ComputeNode):
        raise TypeError("a path ends in compute")
    einsum, unit = workload.einsum(last.einsum), accelerator.unit(last.unit)
    if unit.tensors is not None and unit.tensors != len(einsum.tensors):
        yield f"einsum {einsum.name}: {unit.name} takes {unit.tensors} tensors"
    yield from _holders(accelerator, einsum, unit.name, path)
    yield from _units(accelerator, workload, einsum, unit.name, path)


def _holders(
    accelerator: Accelerator, einsum: FusionEinsum, unit: str, path: _Path
) -> Iterator[str]:
    stores = [node for node in path if isinstance(node, Store)]
    for tensor in einsum.tensors:
        memories = [s.memory for s in stores if s.tensor == tensor]
        levels = [accelerator.level(memory) for memory in memories]
        if not levels:
            yield f"einsum {einsum.name}: {tensor} is stored nowhere"
        elif not accelerator.memory(memories[0]).backing:
            yield f"einsum {einsum.name}: {memories[0]} may not back {tensor}"
        elif levels != sorted(set(levels)):
            yield f"einsum {einsum.name}: {tensor} goes {' → '.join(memories)}"
        elif levels[-1] > accelerator.level_above(unit):
            yield f"einsum {einsum.name}: {unit} does not reach {memories[-1]}"


def _units(
    accelerator: Accelerator,
    workload: FusionWorkload,
    einsum: FusionEinsum,
    unit: str,
    path: _Path,
) -> Iterator[str]:
    """Spatial loops use units that are there, below the storage that feeds them."""
    level_of = {fan_out.label: level for fan_out, level in accelerator.fan_outs}
    own = {fan_out.label for fan_out in accelerator.unit(unit).fan_outs}
    extent = dict(workload.size)
    used: dict[str, int] = {}
    for node in path:
        if isinstance(node, Loop):
            rank = node.rank_of(einsum.name)
            if node.over is not None:
                iterations = -(-extent[rank] // node.tile_size)
                used[node.over] = used.get(node.over, 1) * iterations
            extent[rank] = node.tile_size
        if isinstance(node, Store):
            for label in used:
                if level_of[label] > accelerator.level(node.memory):
                    yield f"[{node.memory}] stores {node.tensor} under units of {label}"
    for label, count in used.items():
        if count > accelerator.fan_out(label).size:
            yield f"einsum {einsum.name}: {count} units of {label}"
        if level_of[label] > accelerator.level_above(unit) and label not in own:
            yield f"einsum {einsum.name}: {unit} is not under {label}"


def _exchange(workload: FusionWorkload, tree: LoopTree, tensor: str) -> Iterator[str]:
    """One store hands an intermediate over, under loops that all index it."""
    users = set(workload.users(tensor))
    nodes, loops = tree.nodes, list[Loop]()
    while not any(isinstance(n, Store) and n.tensor == tensor for n in nodes):
        loops += [node for node in nodes if isinstance(node, Loop)]
        last = nodes[-1]
        branches = last.branches if isinstance(last, Split) else ()
        inside = [branch for branch in branches if users <= set(computed(branch))]
        if not inside:
            yield f"tensor {tensor}: its producer and consumers share no store"
            return
        nodes = inside[0]
    for node in nodes:
        if isinstance(node, Store) and node.tensor == tensor:
            break
        loops += [node] if isinstance(node, Loop) else []
    for name in users:
        for loop in loops:
            axes = workload.einsum(name).access(tensor).axes
            if ((loop.rank_of(name), 1),) not in [axis.terms for axis in axes]:
                yield f"tensor {tensor}: loop over {loop.rank} does not part it"
