"""Random mappings: simulated counts and times against rules, and oracles."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.fusion_trees import (
    CONVOLUTION,
    MATMUL,
    SECOND,
    accelerators,
    fused_trees,
    single_trees,
    workload_of,
)
from oracles.loop_nest import Interpreter

from elkhound.model.fusion import Accelerator, FusionWorkload, LoopTree, cost_of
from elkhound.simpy_chip.fused import FusedScore, simulate_mapping

TWO_MATMULS = workload_of({"m": 4, "n": 3, "k": 5, "l": 2}, MATMUL, SECOND)
LONG_MATMULS = workload_of({"m": 13, "n": 9, "k": 17, "l": 12}, MATMUL, SECOND)
LONG_MATMUL = workload_of({"m": 23, "n": 9, "k": 17}, MATMUL)
ONE_MATMUL = workload_of({"m": 4, "n": 3, "k": 5}, MATMUL)
ONE_CONVOLUTION = workload_of({"x": 5, "n": 2, "r": 3, "c": 2}, CONVOLUTION)
ANYWHERE = {"Local.Z": ("m", "n", "k"), "MAC.X": ("m", "n", "k")}


def counted(score: FusedScore) -> Counter[tuple[str, str, str | None, str]]:
    return Counter(
        {(t.einsum, t.component, t.tensor, t.kind): t.count for t in score.transfers}
    )


def require_rules_counts(
    accelerator: Accelerator, workload: FusionWorkload, tree: LoopTree
) -> FusedScore:
    cost = cost_of(accelerator, workload, tree)
    score = simulate_mapping(accelerator, workload, tree)
    rules = Counter(
        {(a.einsum, a.component, a.tensor, a.kind): a.count for a in cost.actions}
    )
    assert counted(score) == +rules
    return score


@settings(derandomize=True, deadline=None, max_examples=150)
@given(data=st.data())
def test_a_matmul_moves_what_the_rules_say_and_takes_no_less(
    data: st.DataObject,
) -> None:
    accelerator = data.draw(accelerators())
    tree = data.draw(single_trees(ONE_MATMUL, ANYWHERE))
    score = require_rules_counts(accelerator, ONE_MATMUL, tree)
    cost = cost_of(accelerator, ONE_MATMUL, tree)
    assert score.latency >= cost.latency * (1 - 1e-12)
    (einsum,) = score.einsums
    assert einsum.cycles == pytest.approx(score.cycles)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(data=st.data())
def test_a_convolution_moves_what_the_rules_say(data: st.DataObject) -> None:
    accelerator = data.draw(accelerators())
    spatial = {"Local.Z": ("n", "c"), "MAC.X": ("n", "c", "x")}
    tree = data.draw(single_trees(ONE_CONVOLUTION, spatial))
    score = require_rules_counts(accelerator, ONE_CONVOLUTION, tree)
    cost = cost_of(accelerator, ONE_CONVOLUTION, tree)
    assert score.latency >= cost.latency * (1 - 1e-12)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(data=st.data())
def test_two_matmuls_move_what_the_rules_say(data: st.DataObject) -> None:
    accelerator = data.draw(accelerators())
    tree = data.draw(fused_trees(TWO_MATMULS))
    require_rules_counts(accelerator, TWO_MATMULS, tree)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(data=st.data())
def test_counts_are_those_of_an_interpreter_that_sees_elements(
    data: st.DataObject,
) -> None:
    accelerator = data.draw(accelerators())
    spatial = {"Local.Z": ("m", "n"), "MAC.X": ("m", "n")}
    tree = data.draw(single_trees(ONE_MATMUL, spatial))
    score = simulate_mapping(accelerator, ONE_MATMUL, tree)
    seen = Interpreter(accelerator, ONE_MATMUL, tree).counts
    assert Counter({key[1:]: n for key, n in counted(score).items()}) == +seen


@settings(derandomize=True, deadline=None, max_examples=80)
@given(data=st.data())
def test_skipping_changes_nothing(data: st.DataObject) -> None:
    accelerator = data.draw(accelerators())
    if data.draw(st.booleans()):
        workload = LONG_MATMUL
        tree = data.draw(single_trees(workload, ANYWHERE))
    else:
        workload = LONG_MATMULS
        tree = data.draw(fused_trees(workload))
    skipped = simulate_mapping(accelerator, workload, tree)
    whole = simulate_mapping(accelerator, workload, tree, skip=False)
    assert skipped.steps <= whole.steps
    assert replace(skipped, steps=0, served={}) == replace(whole, steps=0, served={})


@settings(derandomize=True, deadline=None, max_examples=80)
@given(data=st.data())
def test_no_group_is_faster_than_its_busiest_part(data: st.DataObject) -> None:
    accelerator = data.draw(accelerators())
    tree = data.draw(fused_trees(TWO_MATMULS))
    score = simulate_mapping(accelerator, TWO_MATMULS, tree)
    cost = cost_of(accelerator, TWO_MATMULS, tree)
    busy: Counter[str] = Counter()
    for (_, part), latency in cost.latency_by_component.items():
        busy[part] += latency  # type: ignore[assignment]
    assert score.latency >= max(busy.values()) * (1 - 1e-12)
    assert sum(e.cycles for e in score.einsums) == pytest.approx(score.cycles)
