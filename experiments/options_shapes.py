"""The shape of the fronts that `options` prints, noun by noun."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class PreloadStateShape:
    """A preload state of an execute plan: an option of the schedule problem."""

    option: int
    preload_shares: dict[str, int]
    preload_bytes: int
    distribute_bytes: int
    distribute_cycles: int | None
    preload_cycles: int
    preload_link_cycles: int
    execute_cycles: int
    execute_link_cycles: int


@dataclass(frozen=True, slots=True)
class ExecutePlanShape:
    """An execute plan on an operator's front."""

    execute_plan: int
    splits: dict[str, int]
    rotations: dict[str, dict[str, int]]
    cores_used: int
    use: float
    padding: float
    padded_macs: int
    steps: int
    syncs: int
    execute_bytes: int
    cycles_after_distribute: int
    compute_cycles: int | None
    exchange_cycles: int | None
    exchange_bytes: int
    preload_states: list[PreloadStateShape]


@dataclass(frozen=True, slots=True)
class FrontsShape:
    """How many plans and options an operator has."""

    name: str
    names: list[str]  # operators of the same fronts
    kind: str
    dims: dict[str, int]
    macs: int
    hbm_bytes: int
    splits: int
    plans: int
    execute_plans: int
    options: int
    four_field_options: int
    thinned_options: int | None
    least_execute_bytes: int
    least_execute_cycles: int
    least_preload_cycles: int


@dataclass(frozen=True, slots=True)
class OptionsShape:
    """What is common to one operator and to all."""

    model: str
    chip: str
    cores: int
    clock_hz: int
    usable_bytes: int
    least_use: float
    most_padding: float
    tile_cost: dict[str, Any]
    epsilon: float | None


@dataclass(frozen=True, slots=True)
class AllOptionsShape(OptionsShape):
    """What `options` prints of all operators."""

    operators: list[FrontsShape]
    run_dir: str | None = None


@dataclass(frozen=True, slots=True)
class OperatorOptionsShape(OptionsShape):
    """What `options --op` prints, and options.json of its run."""

    operator: FrontsShape
    resident_bytes: int
    execute_front: list[ExecutePlanShape]
    four_field_front: list[int]
    thinned: list[int] | None
    run_dir: str | None = None


OptionsOutput: TypeAlias = AllOptionsShape | OperatorOptionsShape
"""What `options` prints."""
