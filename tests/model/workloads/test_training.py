"""One training step: forward, backward, weight gradients."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from elkhound.model.graph import Graph, Home, Operator, OperatorKind, Pass
from elkhound.model.workloads import build_workload, workload_names, workload_phases

TRAINED = [name for name in workload_names() if "training" in workload_phases(name)]
LANGUAGE = [name for name in TRAINED if "prefill" in workload_phases(name)]
INPUTS = {"tokens", "labels", "rope.cos", "rope.sin"}
INPUTS |= {"patches", "timestep_features", "target"}


def step(name: str) -> Graph:
    layers = 4 if name == "deepseek-v3" else 2  # three of its layers have no experts
    return build_workload(name, {"batch": 2, "seq": 16, "layers": layers}, "training")


def named(graph: Graph, name: str) -> Operator:
    return next(o for o in graph.operators if o.name == name)


def forward(graph: Graph) -> list[Operator]:
    names = [operator.name for operator in graph.operators]
    return list(graph.operators[: names.index("loss.gradient")])


def test_all_ten_models_can_be_trained() -> None:
    assert len(TRAINED) == len(workload_names()) == 10


@pytest.mark.parametrize("name", TRAINED)
def test_backward_multiplies_twice_as_much_as_forward(name: str) -> None:
    graph = step(name)
    # Patches and the features of the timestep are inputs: they have no gradient.
    spared = 2 * 16 * 16 * 1152 + 2 * 256 * 1152 if name == "dit-xl-2" else 0
    made = sum(operator.einsum.macs for operator in forward(graph))
    assert graph.macs == 3 * made - spared


@pytest.mark.parametrize("name", LANGUAGE)
def test_forward_is_a_prefill_with_the_head_on_every_token(name: str) -> None:
    graph = step(name)
    layers = 4 if name == "deepseek-v3" else 2
    bind = {"batch": 2, "seq": 16, "layers": layers}
    kept = [
        operator
        for operator in build_workload(name, bind, "prefill").operators
        if not operator.name.endswith(("last_token", "kv_append"))
    ]
    assert [o.name for o in forward(graph)] == [o.name for o in kept]
    for after, before in zip(forward(graph), kept, strict=True):
        sees_all = before.name in ("final_norm", "head", "head_cap")
        assert sees_all or after == before
    assert named(graph, "head").einsum.sizes["m"] == 2 * 16


def test_forward_is_a_denoising_step() -> None:
    bind = {"batch": 2, "seq": 16, "layers": 2}
    assert forward(step("dit-xl-2")) == list(
        build_workload("dit-xl-2", bind, "denoise").operators
    )


@pytest.mark.parametrize("name", TRAINED)
def test_every_parameter_has_one_gradient_of_its_shape(name: str) -> None:
    graph = step(name)
    parameters = [
        t
        for t in graph.tensors
        if t.home is Home.HBM and not t.name.endswith("router.bias")
    ]
    gradients = [graph.tensor[output] for output in graph.outputs]
    assert sorted(t.shape for t in gradients) == sorted(t.shape for t in parameters)
    assert all(gradient.home is Home.SPILLED for gradient in gradients)
    for parameter in parameters:
        assert any(
            f"{parameter.name}.gradient" in o
            or o.endswith(f"gradient_of.{parameter.name}")
            for o in graph.outputs
        )


@pytest.mark.parametrize("name", TRAINED)
def test_tensors_are_written_before_they_are_read(name: str) -> None:
    graph = step(name)
    ready = set(INPUTS)
    for operator in graph.operators:
        for access in operator.einsum.inputs:
            assert (
                graph.tensor[access.tensor].home is Home.HBM or access.tensor in ready
            )
        assert operator.einsum.output.tensor not in INPUTS
        ready.add(operator.einsum.output.tensor)


@pytest.mark.parametrize("name", TRAINED)
def test_gradients_cover_whole_tensors(name: str) -> None:
    """Of tables only rows that were looked up; parts add up to the whole."""
    graph = step(name)
    covered: Counter[str] = Counter()
    looked_up = set()
    for operator in graph.operators[len(forward(graph)) :]:
        output = operator.einsum.output
        covered[output.tensor] += output.elements(operator.einsum.sizes)
        if operator.kind is OperatorKind.GATHER or output.tensor.endswith(
            "gradient_of.position.weight"
        ):
            looked_up.add(output.tensor)
    for tensor, touched in covered.items():
        whole = math.prod(graph.tensor[tensor].shape)
        assert tensor in looked_up or touched == whole
        assert touched <= whole or ".dispatch." in tensor


@pytest.mark.parametrize("name", TRAINED)
def test_every_dimension_indexes_something(name: str) -> None:
    for operator in step(name).operators:
        einsum = operator.einsum
        used = einsum.output.dimensions.union(*(a.dimensions for a in einsum.inputs))
        assert used == set(einsum.sizes)


def test_groups_of_experts_write_parts_of_one_gradient() -> None:
    bind = {"batch": 2, "seq": 16, "layers": 4, "experts_at_once": 128}
    graph = build_workload("deepseek-v3", bind, "training")
    parts = [
        o.einsum
        for o in graph.operators
        if o.einsum.output.tensor == "layer3.expert_up.weight.gradient"
    ]
    # 32 tokens with 8 experts each reach all 256, one token each: k is 7168, n 2048.
    assert [e.sizes for e in parts] == [{"e": 128, "n": 2048, "k": 7168, "m": 1}] * 2
    assert "layer3.expert_up.weight.gradient" in graph.outputs


def test_modulation_collects_the_gradients_of_its_six_parts() -> None:
    graph = step("dit-xl-2")
    tensor = "layer0.modulation.gradient"
    copies = [o for o in graph.operators if o.einsum.output.tensor == tensor]
    assert [o.name.split(".")[2] for o in copies] == [
        *("shift", "scale", "gate", "ffn_shift", "ffn_scale", "ffn_gate")
    ]
    readers = [
        o.name
        for o in graph.operators
        if any(a.tensor == tensor for a in o.einsum.inputs)
    ]
    assert readers == [
        "layer0.modulation.gradient_of.condition",
        "layer0.modulation.gradient_of.layer0.modulation.weight",
        "layer0.modulation.gradient_of.layer0.modulation.bias",
    ]


def test_a_weight_gradient_reduces_over_all_tokens() -> None:
    up = named(step("llama-2-7b"), "layer1.up.gradient_of.layer1.up.weight").einsum
    assert up.sizes == {"n": 11_008, "k": 4096, "m": 32}
    assert up.reduced == ("m",)
    assert [a.tensor for a in up.inputs] == [
        "layer1.activation.gradient_of.layer1.up",
        "layer1.ffn_norm",
    ]


def test_query_heads_of_a_group_add_up_in_the_gradient_of_k() -> None:
    graph = step("llama-2-70b")
    grad = named(graph, "layer0.scores.gradient_of.layer0.rope_k").einsum
    assert set(grad.reduced) == {"m", "s"}  # heads of the group, queries
    grad = named(graph, "layer0.scores.gradient_of.layer0.rope_q").einsum
    assert grad.reduced == ("n",)


def test_the_residual_stream_adds_two_gradients_at_each_norm() -> None:
    graph = step("llama-2-7b")
    sums = [o.name for o in graph.operators if "gradient_sum" in o.name]
    # In a layer: q, k, v meet (two sums), gate and up (one), and both norms' inputs.
    assert len(sums) == 2 * 5
    assert named(graph, "layer0.attention_add.gradient_sum0").einsum.passes == (
        Pass.ELEMENTWISE,
    )


def test_a_tied_embedding_adds_the_gradients_of_head_and_lookup() -> None:
    graph = step("opt-30b")
    total = named(graph, "embedding.weight.gradient_sum0").einsum
    assert [a.tensor for a in total.inputs] == [
        "head.gradient_of.embedding.weight",
        "embedding.gradient_of.embedding.weight",
    ]
    assert total.output.tensor in graph.outputs


def test_layers_go_on_counting_backwards() -> None:
    graph = step("llama-2-7b")
    layers = [o.layer for o in graph.operators if o.layer is not None]
    assert layers == sorted(layers)
    assert set(layers) == {0, 1, 2, 3}
