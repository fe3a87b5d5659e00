"""Random mappings of many kinds of einsums, costed in four ways that share no code.

The cost and the referee must agree under every physics; with merge reads, and no
sharing across units, the interpreter that runs the nest counts the same; and the
exported nest must compute what the einsums say.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.einsums import random_inputs, results
from oracles.fusion_trees import (
    accelerators,
    chained_trees,
    single_trees,
    workload_of,
)
from oracles.loop_nest import Interpreter

from elkhound.model.fusion import (
    Accelerator,
    FusionWorkload,
    Loop,
    LoopTree,
    Physics,
    cost_of,
)
from elkhound.model.fusion.numpy_nest import numpy_nest
from elkhound.model.referee import judge_fusion

EVERY = [Physics(*switches) for switches in product((False, True), repeat=3)]
SINGLE = {
    "transposed-weight": workload_of(
        {"m": 3, "n": 4, "k": 5}, "O[m,n] = A[m,k] * B[n,k]"
    ),
    "batched": workload_of(
        {"b": 2, "m": 3, "n": 2, "k": 4}, "O[b,m,n] = A[b,m,k] * B[b,k,n]"
    ),
    "grouped-queries": workload_of(
        {"h": 2, "r": 2, "m": 2, "p": 3, "e": 2}, "O[h,r,m,p] = Q[m,h,r,e] * K[h,p,e]"
    ),
    "outer-product": workload_of({"m": 5, "n": 4}, "O[m,n] = A[m] * B[n]"),
    "dot-product": workload_of({"k": 7}, "O[] = A[k] * B[k]"),
    "elementwise": workload_of({"m": 5, "n": 4}, "O[m,n] = A[m,n] * B[m,n]"),
    "one-operand": workload_of({"m": 5, "n": 4}, "O[n,m] = A[m,n]"),
    "row-sums": workload_of({"m": 4, "n": 6}, "O[m] = A[m,n]"),
    "three-operands": workload_of(
        {"m": 3, "n": 3, "k": 4}, "O[m,n] = A[m,k] * B[k,n] * C[k]"
    ),
    "dilated": workload_of(
        {"p": 4, "r": 3, "c": 2, "k": 2}, "O[p,k] = I[p+2*r,c] * W[r,c,k]"
    ),
    "strided-in-two": workload_of(
        {"p": 3, "q": 2, "r": 2, "s": 3}, "O[p,q] = I[2*p+r,3*q+s] * W[r,s]"
    ),
    "depthwise": workload_of(
        {"p": 4, "q": 2, "r": 3, "c": 2}, "O[p,q,c] = I[p+r,q,c] * W[r,c]"
    ),
    "skipping-rows": workload_of(
        {"p": 4, "c": 3, "k": 2}, "O[p,k] = I[3*p,c] * W[c,k]"
    ),
    "ones": workload_of({"m": 1, "n": 3, "k": 1}, "O[m,n] = A[m,k] * B[k,n]"),
}
CHAINS: dict[str, tuple[FusionWorkload, tuple[Loop, ...]]] = {
    "three-matmuls": (
        workload_of(
            {"m": 4, "a": 2, "b": 3, "c": 2, "d": 2},
            "T1[m,b] = T0[m,a] * W0[a,b]",
            "T2[m,c] = T1[m,b] * W1[b,c]",
            "T3[m,d] = T2[m,c] * W2[c,d]",
        ),
        (Loop("m", 1),),
    ),
    "attention": (
        workload_of(
            {"h": 2, "m": 3, "p": 3, "e": 2, "f": 2},
            "QK[h,m,p] = Q[h,m,e] * K[h,p,e]",
            "S[h,m,p] = QK[h,m,p]",
            "AV[h,m,f] = S[h,m,p] * V[h,p,f]",
        ),
        (Loop("h", 1), Loop("m", 1)),
    ),
    "keys-by-another-name": (
        workload_of(
            {"h": 3, "m": 2, "p": 2, "d": 2, "e": 2},
            "K[m,h,e] = I[m,d] * WK[d,h,e]",
            "QK[h,m,p] = Q[m,h,e] * K[p,h,e]",
        ),
        (Loop("h", 1),),
    ),
    "token-of-keys": (
        workload_of(
            {"m": 3, "p": 3, "d": 2, "e": 2},
            "K[m,e] = I[m,d] * WK[d,e]",
            "S[p] = K[p,e] * Q[e]",
        ),
        (Loop("m", 1, None, (("S", "p"),)), Loop("e", 1)),
    ),
    "two-consumers": (
        workload_of(
            {"m": 4, "k": 2, "n": 3, "l": 2},
            "T[m,n] = A[m,k] * B[k,n]",
            "U[m,l] = T[m,n] * C[n,l]",
            "V[m,n] = T[m,n] * D[m,n]",
        ),
        (Loop("m", 1), Loop("n", 1)),
    ),
    "skip-connection": (
        workload_of(
            {"m": 4, "k": 2, "n": 3},
            "T[m,n] = A[m,k] * B[k,n]",
            "U[m,n] = T[m,n]",
            "V[m,n] = U[m,n] * T[m,n]",
        ),
        (Loop("m", 1), Loop("n", 1)),
    ),
    "expand-and-filter": (
        workload_of(
            {"x": 5, "p": 3, "r": 3, "i": 2, "c": 3},
            "E[x,c] = I[x,i] * WE[i,c]",
            "F[p,c] = E[p+r,c] * WF[r,c]",
        ),
        (Loop("c", 1),),
    ),
    "padded-filter": (
        workload_of(
            {"x": 3, "p": 3, "r": 3, "i": 2, "c": 2},
            "E[x,c] = I[x,i] * WE[i,c]",
            "F[p,c] = E[p+r,c] * WF[r,c]",
            "G[p,c] = F[p,c]",
        ),
        (Loop("c", 1),),
    ),
}


def require_agreement(
    accelerator: Accelerator, workload: FusionWorkload, tree: LoopTree, physics: Physics
) -> None:
    cost = cost_of(accelerator, workload, tree, physics)
    verdict = judge_fusion(accelerator, workload, tree, physics)
    assert verdict.violations == ()
    assert verdict.energy == pytest.approx(cost.energy, rel=1e-12)
    assert verdict.latency == pytest.approx(cost.latency, rel=1e-12)
    held = {memory: bits for memory, bits in verdict.peak_bits.items() if bits}
    assert held == cost.occupancy_bits


def require_counted(
    accelerator: Accelerator, workload: FusionWorkload, tree: LoopTree
) -> None:
    counts: Counter[tuple[str, str | None, str]] = Counter()
    for action in cost_of(accelerator, workload, tree, Physics(True)).actions:
        counts[action.component, action.tensor, action.kind] += action.count
    assert +counts == +Interpreter(accelerator, workload, tree).counts


def require_computed(workload: FusionWorkload, tree: LoopTree) -> None:
    module: dict[str, Any] = {}
    exec(numpy_nest(workload, tree), module)
    inputs = random_inputs(workload)
    expected = results(workload, inputs)
    for tensor, array in module["run"](inputs).items():
        assert np.array_equal(array, expected[tensor])


@pytest.mark.parametrize("name", SINGLE)
@settings(derandomize=True, deadline=None, max_examples=25)
@given(data=st.data())
def test_an_einsum_is_costed_alike(name: str, data: st.DataObject) -> None:
    workload = SINGLE[name]
    ranks = workload.einsums[0].ranks
    tree = data.draw(single_trees(workload, {"Local.Z": ranks, "MAC.X": ranks}))
    physics = data.draw(st.sampled_from(EVERY))
    require_agreement(data.draw(accelerators()), workload, tree, physics)
    require_counted(data.draw(accelerators(shares=False)), workload, tree)
    require_computed(workload, tree)


@pytest.mark.parametrize("name", CHAINS)
@settings(derandomize=True, deadline=None, max_examples=40)
@given(data=st.data())
def test_a_chain_is_costed_alike(name: str, data: st.DataObject) -> None:
    workload, shared = CHAINS[name]
    tree = data.draw(chained_trees(workload, shared))
    physics = data.draw(st.sampled_from(EVERY))
    require_agreement(data.draw(accelerators()), workload, tree, physics)
    require_counted(data.draw(accelerators(shares=False)), workload, tree)
    require_computed(workload, tree)
