"""Random LoopTrees of three matmuls with nested splits; most break some rule."""

from __future__ import annotations

import random
from dataclasses import replace

from elkhound.model.fusion import (
    ComputeNode,
    FusionWorkload,
    Loop,
    LoopTree,
    Node,
    Split,
    Store,
)
from oracles.fusion_trees import workload_of

_CHAIN = workload_of(
    {"m": 4, "a": 3, "b": 4, "c": 2, "d": 3},
    "T1[m,b] = T0[m,a] * W0[a,b]",
    "T2[m,c] = T1[m,b] * W1[b,c]",
    "T3[m,d] = T2[m,c] * W2[c,d]",
)
_MEMORIES = ("Main", "Buffer")


def random_mapping(seed: int) -> tuple[FusionWorkload, LoopTree]:
    """Return a workload, some weights of it persistent, and a tree over it."""
    draw = random.Random(seed)
    persistent = tuple(t for t in ("W0", "W2") if draw.random() < 0.5)
    workload = replace(_CHAIN, persistent=persistent)
    left = {e.name: {r: workload.size[r] for r in e.ranks} for e in workload.einsums}
    nodes = _nodes(draw, [e.name for e in workload.einsums], left, {})
    return workload, LoopTree(nodes)


def _nodes(
    draw: random.Random,
    names: list[str],
    left: dict[str, dict[str, int]],
    level: dict[str, int],
) -> tuple[Node, ...]:
    """Return some loops and storage, then a split or the rest of one einsum."""
    left = {name: dict(left[name]) for name in names}
    level = dict(level)
    nodes: list[Node] = []
    einsums = [_CHAIN.einsum(name) for name in names]
    tensors = list(dict.fromkeys(t for e in einsums for t in e.tensors))
    shared = sorted(set.intersection(*(set(e.ranks) for e in einsums)))
    for _ in range(draw.randrange(5)):
        tensor = draw.choice(tensors)
        if draw.random() < 0.5:
            rank = draw.choice(shared)
            tile = draw.randint(1, left[names[0]][rank])
            nodes.append(Loop(rank, tile))
            for name in names:
                left[name][rank] = tile
        elif level.get(tensor, -1) < 1:
            level[tensor] = draw.choice((0, 1)) if tensor not in level else 1
            nodes.append(Store(_MEMORIES[level[tensor]], tensor))
    if len(names) > 1:
        at = draw.randint(1, len(names) - 1)
        parts = [names[:at], names[at:]]
        return (*nodes, Split(tuple(_nodes(draw, p, left, level) for p in parts)))
    (einsum,) = einsums
    nodes += [Store("Main", t) for t in einsum.tensors if t not in level]
    nodes += [Loop(rank, 1) for rank, n in left[einsum.name].items() if n > 1]
    return (*nodes, ComputeNode(einsum.name, "MAC"))
