from __future__ import annotations

import math

import pytest

from elkhound.model.fusion import cost_of, parse_mapping
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.io import load_accelerator
from elkhound.model.referee import judge_fusion


def test_the_edge_accelerator_has_the_paper_s_size() -> None:
    edge = load_accelerator("edge")
    elements = 1
    for fan_out, _ in edge.fan_outs:
        elements *= fan_out.size
    assert elements == 128 * 128
    assert edge.clock_hz is not None
    # a multiply and an add each: about 33 TOPS
    assert 2 * elements * edge.clock_hz == pytest.approx(33e12, rel=0.01)
    assert edge.memory("GlobalBuffer").size_bits == 5_000_000 * 8
    assert edge.unit("VectorUnit").ops_per_cycle == 256


def test_the_edge_buffer_lies_between_those_of_the_tpu() -> None:
    small, large, buffer = (
        load_accelerator(name).memory(memory)
        for name, memory in (
            ("tpu-v4i", "LocalBuffer"),
            ("tpu-v4i", "GlobalBuffer"),
            ("edge", "GlobalBuffer"),
        )
    )
    assert small.size_bits is not None
    assert large.size_bits is not None
    assert buffer.size_bits is not None
    share = buffer.size_bits / small.size_bits
    for energy in ("read_energy", "write_energy"):
        low, high = getattr(small, energy), getattr(large, energy)
        # E = a · size^b through both: 32 times the size, high / low times the energy
        expected = low * (high / low) ** (math.log2(share) / 5)
        assert getattr(buffer, energy) == pytest.approx(expected, rel=2e-3)


def test_a_softmax_runs_on_the_vector_unit_of_the_edge() -> None:
    edge = load_accelerator("edge")
    workload = fusion_workload("gpt-3-6.7b", {"batch": 1, "new_tokens": 256, "bits": 8})
    softmax = workload.einsum("QK_softmax")
    names = [einsum.name for einsum in workload.einsums]
    branches = "".join(
        "  Nested\n"
        + "".join(f"    for {rank} tile=1\n" for rank in workload.einsum(name).ranks)
        + f"    compute {name} on {'VectorUnit' if name == softmax.name else 'MAC'}\n"
        for name in names
    ).replace("compute I on MAC", "compute I on VectorUnit")
    stored = ", ".join(workload.tensors)
    tree = parse_mapping(f"[MainMemory] stores {stored}\nSequential\n{branches}")
    cost = cost_of(edge, workload, tree)
    # 256 · 256 scores of 32 heads, 256 per cycle, at 1 GHz: 8,192 cycles
    assert cost.latency_by_component["QK_softmax", "VectorUnit"] == pytest.approx(
        8192e-9
    )
    assert judge_fusion(edge, workload, tree).energy == pytest.approx(cost.energy)
