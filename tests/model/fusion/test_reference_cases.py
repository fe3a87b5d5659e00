"""All entries of the handed reference: set ELKHOUND_CASES to the cases' folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from oracles.fusion_reference import Entry, entry_of

from elkhound.model.fusion import FusionCost, cost_of, mapping_text, parse_mapping
from elkhound.model.referee import judge_fusion

CASES = Path(os.environ.get("ELKHOUND_CASES", "")) / "fusion" / "reference.json"
GOLDEN = Path(__file__).parents[2] / "golden" / "fusion_mappings.json"
RELATIVE = 1e-6  # the reference computes in float32


def entries(file: Path) -> list[Any]:
    """One parameter per entry of a file; none where the file is not there."""
    if not file.is_file():
        return []
    data = json.loads(file.read_text())
    found = [*data["mapper_results"], *data["model_goldens"]]
    return [
        pytest.param(raw, id=raw.get("case", str(i))) for i, raw in enumerate(found)
    ]


def require_equal(
    mine: dict[tuple[str, ...], float], expected: dict[tuple[str, ...], float]
) -> None:
    """Hold every key of either side against the other; what is absent is 0."""
    for key in mine.keys() | expected.keys():
        value = expected.get(key, 0)
        assert mine.get(key, 0) == pytest.approx(value, rel=RELATIVE, abs=0), key


def tables_of(cost: FusionCost) -> dict[str, dict[tuple[str, ...], float]]:
    actions: dict[tuple[str, ...], float] = {}
    for a in cost.actions:
        key = (a.einsum, a.component, str(a.tensor), a.kind)
        actions[key] = actions.get(key, 0) + a.count
    return {
        "energy_by_component_action": dict(cost.energy_by_action.items()),
        "energy_by_component_tensor": {
            (component, str(tensor)): energy
            for (component, tensor), energy in cost.energy_by_tensor.items()
        },
        "energy_by_einsum": {(e,): value for e, value in cost.energy_by_einsum.items()},
        "latency_by_einsum": {(e,): v for e, v in cost.latency_by_einsum.items()},
        "latency_by_component_einsum": dict(cost.latency_by_component.items()),
        "actions_by_einsum_component_tensor": actions,
    }


def require_reproduced(entry: Entry) -> None:
    cost = cost_of(entry.accelerator, entry.workload, entry.tree)
    assert cost.energy == pytest.approx(entry.energy, rel=RELATIVE)
    assert cost.latency == pytest.approx(entry.latency, rel=RELATIVE)
    assert cost.overflows == ()
    mine = tables_of(cost)
    for name, expected in entry.tables.items():
        require_equal(mine[name], expected)
    if entry.usage is not None:
        for memory in entry.accelerator.memories:
            size = memory.size_bits
            used = cost.occupancy_bits.get(memory.name, 0) / size if size else 0.0
            assert used == pytest.approx(entry.usage[memory.name], rel=RELATIVE)
    verdict = judge_fusion(entry.accelerator, entry.workload, entry.tree)
    assert verdict.violations == ()
    assert verdict.energy == pytest.approx(cost.energy, rel=1e-12)
    assert verdict.latency == pytest.approx(cost.latency, rel=1e-12)
    held = {memory: bits for memory, bits in verdict.peak_bits.items() if bits}
    assert held == cost.occupancy_bits
    assert parse_mapping(mapping_text(entry.tree)) == entry.tree


@pytest.mark.skipif(
    "ELKHOUND_CASES" not in os.environ,
    reason="ELKHOUND_CASES does not name the folder with the fusion reference",
)
@pytest.mark.parametrize("raw", entries(CASES))
def test_the_handed_mapping_costs_what_the_reference_says(raw: dict[str, Any]) -> None:
    require_reproduced(entry_of(raw))


@pytest.mark.parametrize("raw", entries(GOLDEN))
def test_the_golden_mapping_costs_what_the_reference_says(raw: dict[str, Any]) -> None:
    require_reproduced(entry_of(raw))


def test_the_golden_file_holds_its_entries() -> None:
    assert len(entries(GOLDEN)) == 20
