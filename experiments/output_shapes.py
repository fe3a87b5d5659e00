"""The shape of what verbs print with ``--json``, noun by noun.

Rows have a noun of their own, and scores and evaluations a file of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from elkhound.experiments.fused_groups import FusedGroup
from elkhound.model.io.chip_file import ChipModel

Path = str | None


@dataclass(frozen=True, slots=True)
class ImportedOperatorShape:
    """An operator of a graph."""

    name: str
    kind: str
    dims: dict[str, int]
    macs: int
    weight_bytes: int  # whole tensors in HBM other than caches
    streamed_bytes: int  # what HBM delivers, caches included


@dataclass(frozen=True, slots=True)
class SpilledShape:
    """An activation that `--spill auto` moved out to HBM."""

    tensor: str
    bytes: int
    write_cycles: int
    read_cycles: int


@dataclass(frozen=True, slots=True)
class ImportOutput:
    """What `import` prints."""

    operators: list[ImportedOperatorShape]
    macs: int
    weight_bytes: int
    free_symbols: list[str]
    unsupported: list[str]
    warnings: list[str]
    spilled: list[SpilledShape]


@dataclass(frozen=True, slots=True)
class ExportedModelShape:
    """A model that was written."""

    format: Literal["lp", "mps", "cp-sat"]
    output: str
    method: str
    cycles_per_unit: int
    rounding_error: int
    fused: list[FusedGroup] | None


@dataclass(frozen=True, slots=True)
class ExportedProgramShape:
    """A device program."""

    format: Literal["program", "program-json"]
    addresses: bool
    reason: str
    output: Path
    program: str


@dataclass(frozen=True, slots=True)
class ExportedTextShape:
    """A mapping as a nest, or a workload as a file."""

    format: Literal["numpy", "fusion-workload"]
    output: Path
    text: str


ExportOutput: TypeAlias = ExportedModelShape | ExportedProgramShape | ExportedTextShape
"""What `export` prints."""


@dataclass(frozen=True, slots=True)
class GenerateOutput:
    """What `generate --output` prints; without it, the problem itself is printed."""

    path: str
    kind: Literal["schedule", "allocation", "placement", "fusion"]
    hash: str | None = None
    capacity_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class MadeFigureShape:
    """A figure that was made, or why it was not."""

    name: str
    title: str
    said: str
    measured: str
    reduced: str
    why: str
    rows: int
    reused: int
    computed: int
    files: list[str]
    problems: list[str]
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class MadeFiguresShape:
    """Figures that were made."""

    figures: list[MadeFigureShape]
    run_dir: str


@dataclass(frozen=True, slots=True)
class ListedFigureShape:
    """A figure that there is."""

    name: str
    title: str
    said: str
    quick_cpu_seconds: int | None


@dataclass(frozen=True, slots=True)
class ListedFiguresShape:
    """What `figures --list` prints."""

    figures: list[ListedFigureShape]


FiguresOutput: TypeAlias = MadeFiguresShape | ListedFiguresShape
"""What `figures` prints."""


@dataclass(frozen=True, slots=True)
class ReportOutput:
    """What `report` prints."""

    report: str


@dataclass(frozen=True, slots=True)
class ChipsOutput:
    """What `chips` prints."""

    chips: list[ChipModel]
    origins: dict[str, str]
    broken: dict[str, str]


@dataclass(frozen=True, slots=True)
class ListedWorkloadsShape:
    """The built-in workloads."""

    workloads: list[str]
    phases: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class ExportedWorkloadShape:
    """What `workloads export` prints."""

    path: str
    operators: int


WorkloadsOutput: TypeAlias = ListedWorkloadsShape | ExportedWorkloadShape
"""What `workloads` prints."""


@dataclass(frozen=True, slots=True)
class MethodShape:
    """A method that works."""

    role: str
    summary: str
    settings: dict[str, list[str]]
    origin: str


@dataclass(frozen=True, slots=True)
class BrokenMethodShape:
    """A method of another package that does not."""

    origin: str
    broken: str


MethodsOutput: TypeAlias = dict[str, dict[str, MethodShape | BrokenMethodShape]]
"""What `methods` prints: methods by kind of problem."""


@dataclass(frozen=True, slots=True)
class SolverShape:
    """A solver, and whether it proved a small optimum."""

    name: str
    version: str
    works: bool
    message: str


@dataclass(frozen=True, slots=True)
class DoctorOutput:
    """What `doctor` prints."""

    versions: dict[str, str]
    solvers: list[SolverShape]


@dataclass(frozen=True, slots=True)
class AccuracyShape:
    """How well a tree predicts the tiles of a kind."""

    name: str
    fitted: int
    leaves: int
    predicted: int
    r2: float | None
    mape: float
    worst: dict[str, int | float]


@dataclass(frozen=True, slots=True)
class LinkAccuracyShape(AccuracyShape):
    """How well a line predicts the transfers over a link."""

    fixed_cycles: float
    cycles_per_byte: float


@dataclass(frozen=True, slots=True)
class TilesOutput:
    """What `tiles` prints."""

    chip: str
    tile_cost: dict[str, Any]
    tiles: list[AccuracyShape]
    links: list[LinkAccuracyShape]
    left_out: list[str]
    files: list[str]


@dataclass(frozen=True, slots=True)
class RefusalShape:
    """Why a command ended before its work."""

    code: str
    message: str
    where: str
    hint: str


@dataclass(frozen=True, slots=True)
class ErrorOutput:
    """What any verb prints in place of its own object when it is refused."""

    error: RefusalShape
