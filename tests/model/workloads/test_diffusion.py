"""DiT-XL/2: one denoising step."""

from __future__ import annotations

import math

import pytest

from elkhound.model.graph import Graph, Home, Operator, OperatorKind
from elkhound.model.workloads import build_workload, workload_phases


def step(batch: int, seq: int, layers: int = 28) -> Graph:
    return build_workload("dit-xl-2", {"batch": batch, "seq": seq, "layers": layers})


def named(graph: Graph, name: str) -> Operator:
    return next(o for o in graph.operators if o.name == name)


def test_it_denoises_and_learns_to() -> None:
    assert workload_phases("dit-xl-2") == ("denoise", "training")


def test_weights_add_up_to_the_published_parameters() -> None:
    graph = step(1, 256)
    weights = [math.prod(t.shape) for t in graph.tensors if t.home is Home.HBM]
    assert sum(weights) == 675_129_632


def test_every_product_counts_its_macs_once() -> None:
    graph = step(3, 64, layers=1)
    block = 4 * 1152**2 + 2 * 1152 * 4608 + 2 * 64 * 1152  # for each patch
    ends = 16 * 1152 + 1152 * 32
    image = 256 * 1152 + 1152**2 + 8 * 1152**2  # timestep, 6 and 2 modulations
    assert graph.macs == 3 * (64 * (block + ends) + image)


def test_a_block_is_modulated_by_six_vectors_of_its_image() -> None:
    graph = step(2, 256, layers=1)
    assert named(graph, "layer0.modulation").einsum.sizes == {
        "m": 2,
        "n": 6912,
        "k": 1152,
    }
    copies = [o for o in graph.operators if o.kind is OperatorKind.COPY]
    assert len(copies) == 6 + 2
    for copy in copies:
        assert copy.einsum.inputs[0].elements(copy.einsum.sizes) == 2 * 1152
    norm = named(graph, "layer0.ffn_norm").einsum
    assert [a.tensor.rpartition(".")[2] for a in norm.inputs[1:]] == [
        "ffn_scale",
        "ffn_shift",
    ]


def test_every_patch_attends_to_all_patches_of_its_image() -> None:
    graph = step(2, 256, layers=1)
    sizes = {"b": 2, "h": 16, "s": 256, "n": 256, "k": 72}
    assert named(graph, "layer0.scores").einsum.sizes == sizes


@pytest.mark.parametrize("layers", [1, 2])
def test_a_block_has_23_operators(layers: int) -> None:
    graph = step(2, 16, layers)
    assert sum(o.layer is not None for o in graph.operators) == 23 * layers
    written = {"patches", "timestep_features", "labels"}
    for operator in graph.operators:
        for access in operator.einsum.inputs:
            home = graph.tensor[access.tensor].home
            assert home is Home.HBM or access.tensor in written
        written.add(operator.einsum.output.tensor)
