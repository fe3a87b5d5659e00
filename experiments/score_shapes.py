"""The shape of scores and evaluations, noun by noun."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class SplitShape:
    """Where the cycles of the makespan go."""

    preload_only: int
    execute_only: int
    overlapped: int
    contention: int
    idle: int


@dataclass(frozen=True, slots=True)
class OperatorScoreShape:
    """When an operator was preloaded and executed, on its slowest core."""

    name: str
    preload_issue_cycle: int | None
    preload_start_cycle: int | None
    preload_end_cycle: int | None
    execute_issue_cycle: int
    execute_start_cycle: int
    execute_end_cycle: int
    contention_cycles: int
    stall_cycles: int
    bound_by: Literal["hbm", "links", "compute", "sram-port"]
    wait_cycles: int
    execute_cycles: int
    distribute_cycles: int
    exchange_cycles: int
    compute_cycles: int
    phases: list[tuple[Literal["distribute", "exchange", "compute"], int, int]]


@dataclass(frozen=True, slots=True)
class CoreScoreShape:
    """A core, or a class of alike ones."""

    name: str
    multiplicity: int
    delivered_bytes: int
    link_work_cycles: float
    sent_work_cycles: float
    link_peak_load: float
    compute_cycles: int


@dataclass(frozen=True, slots=True)
class LinkScoreShape:
    """A link, or a class of alike ones."""

    name: str
    multiplicity: int
    carried_bytes: int | None
    work_cycles: float
    peak_load: float


@dataclass(frozen=True, slots=True)
class ScoreShape:
    """What `simulate PLAN` prints, and scores/ of a run."""

    makespan_cycles: int
    sram_bytes: int
    peak_bytes: int
    hbm_busy_cycles: int
    hbm_bytes: int | None
    hbm_utilisation: float | None
    link_utilisation: float | None
    compute_utilisation: float | None
    fidelity: Literal["core", "class"]
    contention: bool
    latency: bool
    efficiency: bool
    events: int
    occupancy: list[
        tuple[int, int, int, int]
    ]  # cycle, and bytes executing, preloaded and resident from then on
    split: SplitShape
    operators: list[OperatorScoreShape]
    cores: list[CoreScoreShape]
    links: list[LinkScoreShape]


@dataclass(frozen=True, slots=True)
class LatencyUnitShape:
    """In what latencies are."""

    latency: str


@dataclass(frozen=True, slots=True)
class EinsumScoreShape:
    """What an einsum takes."""

    einsum: str
    cycles: float
    fill_cycles: float
    drain_cycles: float
    analytical_cycles: float


@dataclass(frozen=True, slots=True)
class TransferShape:
    """Values that moved for an einsum."""

    einsum: str
    component: str
    tensor: str | None
    kind: str
    count: float


@dataclass(frozen=True, slots=True)
class MappingScoreShape:
    """What `simulate MAPPING` prints."""

    units: LatencyUnitShape
    latency: float
    model_error: float | None
    simulated_latency: float
    simulated_cycles: float
    capacity: str
    peak_bits: dict[str, float]
    steps_simulated: int
    einsums: list[EinsumScoreShape]
    busy_cycles: dict[str, float]
    transfers: list[TransferShape]


SimulateOutput: TypeAlias = ScoreShape | MappingScoreShape
"""What `simulate` prints."""


@dataclass(frozen=True, slots=True)
class PlanEvaluationShape:
    """What the referee says of a plan."""

    kind: Literal["schedule", "allocation", "placement"]
    problem: str
    contention: str | None
    objective: int | float | None
    order: str | None
    verified: bool
    violations: list[str]
    bytes_used: int | None = None
    height_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class EinsumCostShape:
    """What an einsum costs."""

    einsum: str
    energy: float
    latency: float
    latency_by_component: dict[str, float]


@dataclass(frozen=True, slots=True)
class ActionEnergyShape:
    """Energy of a kind of action of a component."""

    component: str
    action: str
    energy: float


@dataclass(frozen=True, slots=True)
class ActionShape:
    """How often a component acts for an einsum and a tensor."""

    einsum: str
    component: str
    tensor: str | None
    action: str
    count: float


@dataclass(frozen=True, slots=True)
class MappingEvaluationShape:
    """What a mapping costs."""

    kind: Literal["fusion"]
    accelerator: str
    workload: str
    mapping: str
    physics: list[str]
    energy: float
    latency: float
    edp: float
    energy_unit: str | None
    latency_unit: str
    verified: bool
    violations: list[str]
    occupancy_bits: dict[str, float]
    einsums: list[EinsumCostShape]
    energy_by_component: list[ActionEnergyShape]
    actions: list[ActionShape]


EvaluateOutput: TypeAlias = PlanEvaluationShape | MappingEvaluationShape
"""What `evaluate` prints."""
