"""One training step: forward, backward, weight gradients."""

from __future__ import annotations

import math

import pytest

from elkhound.model.graph import Graph, Home, Operator, OperatorKind, Pass
from elkhound.model.workloads import build_workload, workload_names, workload_phases

DENSE = [name for name in workload_names() if "training" in workload_phases(name)]
BIND = {"batch": 2, "seq": 16, "layers": 2}


def step(name: str) -> Graph:
    return build_workload(name, BIND, "training")


def named(graph: Graph, name: str) -> Operator:
    return next(o for o in graph.operators if o.name == name)


def forward(graph: Graph) -> list[Operator]:
    names = [operator.name for operator in graph.operators]
    return list(graph.operators[: names.index("loss.gradient")])


def test_the_eight_language_models_can_be_trained() -> None:
    assert len(DENSE) == 8


@pytest.mark.parametrize("name", DENSE)
def test_backward_multiplies_twice_as_much_as_forward(name: str) -> None:
    graph = step(name)
    assert graph.macs == 3 * sum(operator.einsum.macs for operator in forward(graph))


@pytest.mark.parametrize("name", DENSE)
def test_forward_is_a_prefill_with_the_head_on_every_token(name: str) -> None:
    prefill = build_workload(name, BIND, "prefill")
    kept = [
        operator
        for operator in prefill.operators
        if not operator.name.endswith(("last_token", "kv_append"))
    ]
    graph = step(name)
    assert [o.name for o in forward(graph)] == [o.name for o in kept]
    for after, before in zip(forward(graph), kept, strict=True):
        sees_all = before.name in ("final_norm", "head", "head_cap")
        assert sees_all or after == before
    assert named(graph, "head").einsum.sizes["m"] == 2 * 16


@pytest.mark.parametrize("name", DENSE)
def test_every_parameter_has_one_gradient_of_its_shape(name: str) -> None:
    graph = step(name)
    parameters = [t for t in graph.tensors if t.home is Home.HBM]
    gradients = [graph.tensor[output] for output in graph.outputs]
    assert sorted(t.shape for t in gradients) == sorted(t.shape for t in parameters)
    assert all(gradient.home is Home.SPILLED for gradient in gradients)
    for parameter in parameters:
        assert any(
            f"{parameter.name}.gradient_sum" in o
            or o.endswith(f"gradient_of.{parameter.name}")
            for o in graph.outputs
        )


@pytest.mark.parametrize("name", DENSE)
def test_tensors_are_written_before_they_are_read(name: str) -> None:
    graph = step(name)
    ready = {"tokens", "labels", "rope.cos", "rope.sin"}
    for operator in graph.operators:
        for access in operator.einsum.inputs:
            assert (
                graph.tensor[access.tensor].home is Home.HBM or access.tensor in ready
            )
        assert operator.einsum.output.tensor not in ready
        ready.add(operator.einsum.output.tensor)


@pytest.mark.parametrize("name", DENSE)
def test_gradients_cover_whole_tensors(name: str) -> None:
    graph = step(name)
    tables = ("embedding.weight", "position.weight")
    for operator in graph.operators[len(forward(graph)) :]:
        output = operator.einsum.output
        whole = math.prod(graph.tensor[output.tensor].shape)
        touched = output.elements(operator.einsum.sizes)
        partial = output.tensor.endswith(tables) and operator.kind in (
            OperatorKind.GATHER,
            OperatorKind.REDUCE,
        )
        assert touched < whole if partial else touched == whole


def test_a_weight_gradient_reduces_over_all_tokens() -> None:
    up = named(step("llama-2-7b"), "layer1.up.gradient_of.layer1.up.weight").einsum
    assert up.sizes == {"m": 32, "n": 11_008, "k": 4096}
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
