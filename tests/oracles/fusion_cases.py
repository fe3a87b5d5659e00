"""Small fusion problems: what is shared by whom, how often, and where it persists."""

from __future__ import annotations

import re
from dataclasses import replace

from hypothesis import strategies as st

from elkhound.model.fusion.accelerator import Accelerator, Compute, FanOut, Memory
from elkhound.model.fusion.mapspace import Mapspace, Objective, Tiles
from elkhound.model.fusion.problem import FusionProblem
from oracles.fusion_trees import workload_of

PAIR = ("T1[m,n] = T0[m,k] * W0[k,n]", "T2[m,l] = T1[m,n] * W1[n,l]")
SHAPES = {
    "pair": PAIR,
    "chain": (*PAIR, "T3[m,o] = T2[m,l] * W2[l,o]"),
    "two-consumers": (*PAIR, "T3[m,o] = T1[m,n] * W2[n,o]"),
    "skip": (*PAIR, "T3[m,n] = T2[m,l] * T1[m,n]"),
    "same-weight": ("T1[m,n] = T0[m,k] * W[k,n]", "T2[p,n] = T1[m,n] * U[p,m]",
                    "T3[q,n] = S[q,k] * W[k,n]"),
    "late-weight": ("T1[m,n] = T0[m,k] * U[k,n]", "T2[p,n] = T1[m,n] * W[p,m]",
                    "T3[p,q] = S[q,m] * W[p,m]"),
    "copy": ("I[m,k] = copy I0[m,k]", "T1[m,n] = I[m,k] * W0[k,n]"),
}  # fmt: skip


@st.composite
def fusion_problems(
    draw: st.DrawFn, objective: Objective, *, persistent: bool = False
) -> FusionProblem:
    """Draw a problem with two memories, or three; the buffers are often too small."""
    is_deep = draw(st.sampled_from([False, False, False, True]))
    names = ["pair", "copy"] if is_deep else sorted(SHAPES)
    equations = SHAPES[draw(st.sampled_from(names))]
    indices = {index for e in equations for index in re.findall(r"\[(.*?)\]", e)}
    ranks = sorted({rank for index in indices for rank in index.split(",")})
    extents = [1, 2] if is_deep else [1, 2, 2, 3, 4]
    sizes = {rank: draw(st.sampled_from(extents)) for rank in ranks}
    workload = workload_of(sizes, *equations)
    if persistent:
        weights = tuple(t for t in ("W", "W0") if t in dict(workload.bits))
        workload = replace(workload, persistent=weights)
    return FusionProblem(
        workload,
        draw(_accelerators(is_deep=is_deep, persistent=persistent)),
        objective,
        Mapspace(
            max_fused_loops_per_rank=draw(st.sampled_from([1, 1, 2])),
            ordered_loops=draw(st.booleans()),
            tiles=draw(st.sampled_from([Tiles.DIVISORS, Tiles.DIVISORS, Tiles.ANY])),
        ),
    )


@st.composite
def _accelerators(draw: st.DrawFn, *, is_deep: bool, persistent: bool) -> Accelerator:
    price = st.sampled_from([5.0, 7.3, 20.0])
    keep = "nothing" if persistent else "not-intermediates"  # weights may live below
    main = Memory(
        "Main", None, draw(price), draw(price), keep=(keep,), may_keep=("all",),
        bits_per_cycle=draw(st.sampled_from([None, 4.0])),
    )  # fmt: skip
    middle = Memory(
        "Middle", draw(st.sampled_from([60, 120, 250])), 1.0, 2.1,
        bits_per_cycle=draw(st.sampled_from([None, 3.0])), keep=("not-above",),
    )  # fmt: skip
    inner = Memory(
        "Inner", draw(st.sampled_from([24, 48, 96])), 0.3, 0.1, keep=("all",),
        backing=draw(st.booleans()),
    )  # fmt: skip
    memories = (main, middle, inner) if is_deep else (main, middle)
    fans: tuple[FanOut, ...] = ()
    if draw(st.booleans()):
        fans = (FanOut("MAC", "X", 2, multicast=draw(st.booleans())),)
    unit = Compute("MAC", 0.5, draw(st.sampled_from([1.0, 4.0])), fan_outs=fans)
    return Accelerator("small", memories, (unit,))
