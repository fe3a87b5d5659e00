"""Hypothesis strategies: small accelerators, workloads and LoopTrees, also ragged."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from elkhound.model.fusion.accelerator import Accelerator, Compute, FanOut, Memory
from elkhound.model.fusion.equation import parse_equation
from elkhound.model.fusion.mapping import (
    ComputeNode,
    Loop,
    LoopTree,
    Node,
    Split,
    Store,
)
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload

MATMUL = "T1[m,n] = T0[m,k] * W0[k,n]"
SECOND = "T2[m,l] = T1[m,n] * W1[n,l]"
CONVOLUTION = "O[x,n] = I[2*x+r,c] * W[r,c,n]"


def workload_of(sizes: dict[str, int], *equations: str) -> FusionWorkload:
    """Return einsums over sizes, with 3, 5, 7, … bits per value of their tensors."""
    einsums = tuple(parse_equation(equation) for equation in equations)
    tensors = dict.fromkeys(tensor for einsum in einsums for tensor in einsum.tensors)
    bits = tuple((tensor, 3 + 2 * i) for i, tensor in enumerate(tensors))
    return FusionWorkload("small", tuple(sizes.items()), einsums, bits)


@st.composite
def accelerators(draw: st.DrawFn, *, shares: bool = True) -> Accelerator:
    """Main memory, a buffer, a local store in several units, and MACs in several."""
    flag = st.booleans() if shares else st.just(False)

    def fan_out(component: str, dimension: str) -> FanOut:
        return FanOut(component, dimension, 64, draw(flag), draw(flag))

    def memory(name: str, energy: float, *fan_outs: FanOut) -> Memory:
        rates = draw(
            st.sampled_from([(None, None, None), (3.0, None, None), (None, 5.0, 2.0)])
        )
        leak = draw(st.sampled_from([0.0, 0.5]))
        return Memory(name, None, energy, 2 * energy, *rates, leak, fan_outs)

    return Accelerator(
        "small",
        (
            memory("Main", 64.0),
            memory("Buffer", 8.0),
            memory("Local", 1.0, fan_out("Local", "Z")),
        ),
        (Compute("MAC", 0.5, 2.0, fan_outs=(fan_out("MAC", "X"),)),),
    )


@st.composite
def tails(
    draw: st.DrawFn,
    einsum: FusionEinsum,
    left: dict[str, int],
    held: dict[str, int],
    spatial: Mapping[str, tuple[str, ...]],
) -> tuple[Node, ...]:
    """Nodes down to an einsum's compute, from the extents and levels already reached.

    Parameters
    ----------
    left : dict of str to int
        Extents that the loops above leave.
    held : dict of str to int
        Level of the deepest store above, by tensor: 0 main, 1 buffer.
    spatial : mapping of str to tuple of str
        Ranks that may run over ``Local.Z`` and ``MAC.X``.
    """
    left = dict(left)
    nodes: list[Node] = []
    for level, memory in ((1, "Buffer"), (2, "Local")):
        if level == 2 and draw(st.booleans()):
            nodes += draw(_loops(spatial["Local.Z"], left, "Local.Z"))
        for tensor in draw(st.permutations(einsum.tensors)):
            if held[tensor] < level and draw(st.booleans()):
                nodes.append(Store(memory, tensor))
                nodes += draw(_loops(einsum.ranks, left, None))
    if draw(st.booleans()):
        nodes += draw(_loops(spatial["MAC.X"], left, "MAC.X"))
    for rank in draw(st.permutations(einsum.ranks)):
        if left[rank] > 1:
            nodes.append(Loop(rank, 1))
    return (*nodes, ComputeNode(einsum.name, "MAC"))


@st.composite
def _loops(
    draw: st.DrawFn, ranks: tuple[str, ...], left: dict[str, int], over: str | None
) -> list[Node]:
    """Up to two loops; `left` is what they leave. Tiles need not divide."""
    nodes: list[Node] = []
    for rank in draw(st.lists(st.sampled_from(ranks), max_size=2)) if ranks else []:
        tile = draw(st.integers(1, left[rank]))
        nodes.append(Loop(rank, tile, over))
        left[rank] = tile
    return nodes


@st.composite
def single_trees(
    draw: st.DrawFn, workload: FusionWorkload, spatial: Mapping[str, tuple[str, ...]]
) -> LoopTree:
    """A mapping of a workload of one einsum, everything backed by main memory."""
    (einsum,) = workload.einsums
    stores = tuple(Store("Main", tensor) for tensor in einsum.tensors)
    held = dict.fromkeys(einsum.tensors, 0)
    tail = draw(tails(einsum, workload.size, held, spatial))
    return LoopTree((*stores, *tail))


@st.composite
def fused_trees(draw: st.DrawFn, workload: FusionWorkload) -> LoopTree:
    """A mapping of two matmuls that hand over T1 in main memory or in the buffer.

    Shared loops stand above T1's backing store, or above a copy of it in the buffer.
    """
    left = {rank: workload.size[rank] for rank in workload.size}
    outer = [Store("Main", t) for t in ("T0", "W0", "W1", "T2")]
    backing = draw(st.sampled_from([0, 1]))
    nodes: list[Node] = [*draw(st.permutations(outer))]
    held = dict.fromkeys(workload.tensors, 0)
    if backing == 0:
        nodes.append(Store("Main", "T1"))
    for tensor in draw(
        st.lists(st.sampled_from(["T0", "W0", "W1", "T2"]), unique=True)
    ):
        nodes.append(Store("Buffer", tensor))
        held[tensor] = 1
        nodes += draw(_loops(("m", "n"), left, None))
    if backing == 1 or draw(st.booleans()):
        nodes.append(Store("Buffer", "T1"))
        held["T1"] = 1
    branches = tuple(
        draw(
            tails(einsum, left, held, {"Local.Z": einsum.ranks, "MAC.X": einsum.ranks})
        )
        for einsum in workload.einsums
    )
    return LoopTree((*nodes, Split(branches)))


@st.composite
def chained_trees(
    draw: st.DrawFn, workload: FusionWorkload, shared: tuple[Loop, ...]
) -> LoopTree:
    """A mapping of several einsums that hand over what they do not keep for themselves.

    Parameters
    ----------
    shared : tuple of Loop
        Loops that may stand above all intermediates, with tiles to be drawn: each
        indexes every intermediate, in every user.
    """
    handed_over = sorted(workload.intermediates)
    outer = [t for t in workload.tensors if t not in handed_over]
    nodes: list[Node] = [Store("Main", t) for t in draw(st.permutations(outer))]
    held = dict.fromkeys(outer, 0)
    left = {e.name: {r: workload.size[r] for r in e.ranks} for e in workload.einsums}
    for loop in draw(st.lists(st.sampled_from(shared), max_size=2)) if shared else []:
        for tensor in draw(st.lists(st.sampled_from(outer), max_size=1)):
            if held[tensor] == 0 and draw(st.booleans()):
                nodes.append(Store("Buffer", tensor))
                held[tensor] = 1
        extents = {left[name][loop.rank_of(name)] for name in left}
        tile = draw(st.integers(1, min(extents)))
        nodes.append(Loop(loop.rank, tile, None, loop.renamed))
        for name in left:
            left[name][loop.rank_of(name)] = tile
    for tensor in draw(st.permutations(handed_over)):
        held[tensor] = draw(st.sampled_from([0, 1]))
        nodes.append(Store(("Main", "Buffer")[held[tensor]], tensor))
    branches = []
    for einsum in workload.einsums:
        spatial = {"Local.Z": einsum.ranks, "MAC.X": einsum.ranks}
        branches.append(draw(tails(einsum, left[einsum.name], held, spatial)))
    return LoopTree((*nodes, Split(tuple(branches))))
