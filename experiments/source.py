"""What MODEL on the command line stands for: ONNX file, workload or problem file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from elkhound.experiments.fused_groups import Fusion
from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError, nearest
from elkhound.model.graph import Graph
from elkhound.model.placement import Buffer
from elkhound.model.schedule import Contention, ScheduleProblem

PROBLEM_SUFFIXES = (".json", ".yaml", ".yml")
DEFAULT_CHIP = "ipu-pod4-hbm"
DEFAULT_TILE_COST = "device"
LISTED = 10


@dataclass(frozen=True, slots=True)
class ModelFlags:
    """How a model is read; every flag the user did not give is None or empty.

    Parameters
    ----------
    bind : mapping of str to int
        Values of the model's symbols.
    phase : str or None
        Phase of a built-in workload.
    weights, activations : tuple of str
        Graph inputs to stream / to keep resident, against the rule.
    patterns : bool
        Whether composite operators are recognised in an ONNX file.
    branches : mapping of str to str
        ``then`` or ``else`` by name of an If.
    trips : mapping of str to int
        Iterations by name of a Loop.
    unknown : str or None
        ``error``, ``zero`` or a file; None for ``error``.
    strict : bool
        Whether a warning of the import refuses the file.
    spill : str or None
        ``auto``: activations move to HBM until all operators fit the chip; None for
        ``none``.
    fuse : str or None
        ``pareto-join`` or ``exact``: how operators that run as one are joined; None
        for ``none``.
    chip : str or None
        Preset or file; None for `DEFAULT_CHIP` where a chip is needed.
    tile_cost : str or None
        ``device``, ``tree`` or a CSV of measured tiles; None for ``device``.
    contention : str or None
        Rule; None for the problem file's, or stretch.
    max_outstanding : int or None
        K; None for the problem file's, or no limit.
    """

    bind: Mapping[str, int] = field(default_factory=dict)
    phase: str | None = None
    weights: tuple[str, ...] = ()
    activations: tuple[str, ...] = ()
    patterns: bool = True
    branches: Mapping[str, str] = field(default_factory=dict)
    trips: Mapping[str, int] = field(default_factory=dict)
    unknown: str | None = None
    strict: bool = False
    spill: str | None = None
    fuse: str | None = None
    chip: str | None = None
    tile_cost: str | None = None
    contention: str | None = None
    max_outstanding: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A problem, and where it came from.

    Parameters
    ----------
    name : str
        Short name, for the run directory.
    problem : ScheduleProblem or AllocationProblem
        What to plan.
    chip : Chip or None
        The chip; None for a problem file.
    warnings : tuple of str
        What the import had to say.
    spilled : tuple of str
        What moved out to HBM, in words.
    fused : tuple of str
        What was fused, and what it gains alone, in words.
    groups : tuple of FusedGroup or None
        The same for programs; None where fusion was not asked for.
    held : tuple of Buffer or None
        The activations behind resident bytes; None where the graph tells.
    graph : Graph or None
        What the problem was made of; None for a problem file.
    tile_cost : dict or None
        What gave the cycles of tiles, as JSON says it; None for a problem file.
    """

    name: str
    problem: Any
    chip: Chip | None
    warnings: tuple[str, ...] = ()
    spilled: tuple[str, ...] = ()
    fused: tuple[str, ...] = ()
    groups: Fusion | None = None
    held: tuple[Buffer, ...] | None = None
    graph: Graph | None = None
    tile_cost: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ReadGraph:
    """A graph, and what its import reported.

    Parameters
    ----------
    graph : Graph
        The operators.
    report : ImportReport or None
        Of an ONNX file; None for a workload.
    spilled : tuple of Spilled
        Activations moved out to HBM.
    """

    graph: Graph
    report: Any = None
    spilled: tuple[Any, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the import had to say."""
        return () if self.report is None else tuple(self.report.warnings)


def is_problem_file(model: str) -> bool:
    """Whether MODEL is meant as a problem file."""
    return Path(model).suffix.lower() in PROBLEM_SUFFIXES


def read_source(model: str, flags: ModelFlags) -> Source:
    """Return the problem that MODEL and its flags stand for.

    Raises
    ------
    BadInputError
        If there is no such file or workload, or a flag has no effect on it.
    InfeasibleError
        If an operator has no option that fits the chip.
    """
    if is_problem_file(model):
        return _read_problem_file(model, flags)
    from elkhound.model.io import load_chip

    chip = load_chip(DEFAULT_CHIP if flags.chip is None else flags.chip)
    return source_on_chip(model, read_graph(model, flags), flags, chip)


def source_on_chip(
    model: str, read: ReadGraph, flags: ModelFlags, chip: Chip
) -> Source:
    """Return the schedule problem of a graph on a chip, whatever `flags.chip` says."""
    from elkhound.experiments.tile_costs import tile_cost_document, tile_cost_of
    from elkhound.model.options import schedule_problem

    named = _named_tile_cost(flags)
    tile_cost = tile_cost_of(named, chip)
    name = model if read.report is None else Path(model).stem
    if flags.fuse not in (None, "none"):
        from elkhound.experiments.fusing import fused_source

        about = tile_cost_document(named, tile_cost)
        return fused_source(name, read, flags, chip, tile_cost, about)
    read = spill(read, flags, chip)
    problem = schedule_problem(
        read.graph,
        chip,
        contention=Contention(flags.contention or Contention.STRETCH),
        max_outstanding=flags.max_outstanding,
        tile_cost=tile_cost,
    )
    return Source(
        name,
        problem,
        chip,
        read.warnings,
        spilled=spill_lines(read),
        graph=read.graph,
        tile_cost=tile_cost_document(named, tile_cost),
    )


def spill(read: ReadGraph, flags: ModelFlags, chip: Chip) -> ReadGraph:
    """Return a graph that fits the chip, as far as ``--spill`` makes it fit."""
    if flags.spill != "auto":
        return read
    from elkhound.experiments.tile_costs import tile_cost_of
    from elkhound.model.options import spill_to_fit

    tile_cost = tile_cost_of(_named_tile_cost(flags), chip)
    graph, moved = spill_to_fit(read.graph, chip, tile_cost=tile_cost)
    return replace(read, graph=graph, spilled=moved)


def require_fit(read: ReadGraph, flags: ModelFlags, chip: Chip) -> None:
    """Refuse a graph of which an operator fits the chip with none of its options.

    Raises
    ------
    InfeasibleError
        Names the operator that needs most, its need, and what there is.
    """
    from elkhound.experiments.tile_costs import tile_cost_of
    from elkhound.model.options import schedule_problem

    tile_cost = tile_cost_of(_named_tile_cost(flags), chip)
    schedule_problem(read.graph, chip, tile_cost=tile_cost)


def _named_tile_cost(flags: ModelFlags) -> str:
    return DEFAULT_TILE_COST if flags.tile_cost is None else flags.tile_cost


def spill_lines(read: ReadGraph) -> tuple[str, ...]:
    """Return what moved out to HBM and what it costs: the largest, then all."""
    if not read.spilled:
        return ()
    largest = sorted(read.spilled, key=lambda moved: -moved.size_bytes)[:LISTED]
    lines = [
        f"spilled {moved.tensor}: {moved.size_bytes} B, {moved.write_cycles} cycles "
        f"to write, {moved.read_cycles} to read"
        for moved in largest
    ]
    size = sum(moved.size_bytes for moved in read.spilled)
    cycles = sum(moved.write_cycles + moved.read_cycles for moved in read.spilled)
    total = f"spilled in all: {len(read.spilled)} tensors, {size} B, {cycles} cycles"
    return (*lines, total)


def read_graph(model: str, flags: ModelFlags) -> ReadGraph:
    """Return the graph of an ONNX file or a built-in workload."""
    path = Path(model)
    if path.suffix.lower() == ".onnx":
        return _import_onnx(path, flags)
    if model and path.exists():
        raise BadInputError(
            "is neither an ONNX file (.onnx) nor a problem file (.json, .yaml)",
            code="unknown-file-type",
            where=model,
        )
    return _build_workload(model, flags)


def _import_onnx(path: Path, flags: ModelFlags) -> ReadGraph:
    _refuse("an ONNX file", {"--phase": flags.phase is not None})
    require_file(path)
    from elkhound.model.onnx_import import import_onnx

    report = import_onnx(
        path,
        bind=flags.bind,
        weights=flags.weights,
        activations=flags.activations,
        patterns=flags.patterns,
        branches=flags.branches,
        trips=flags.trips,
        unknown="error" if flags.unknown is None else flags.unknown,
        strict=flags.strict,
    )
    return ReadGraph(report.graph, report)


def _build_workload(model: str, flags: ModelFlags) -> ReadGraph:
    from elkhound.model.workloads import build_workload, workload_names

    names = list(workload_names())
    if model not in names:
        raise BadInputError(
            f"no such file, and no built-in workload {model!r}",
            code="no-such-model",
            where="MODEL",
            hint=nearest(model, names),
        )
    refuse_import_flags("a built-in workload", flags)
    return ReadGraph(build_workload(model, flags.bind, flags.phase))


def _read_problem_file(model: str, flags: ModelFlags) -> Source:
    path = Path(model)
    require_file(path)
    _refuse(
        "a problem file",
        {
            "--chip": flags.chip is not None,
            "--tile-cost": flags.tile_cost is not None,
            "--bind": bool(flags.bind),
            "--phase": flags.phase is not None,
            "--spill": flags.spill is not None,
            "--fuse": flags.fuse is not None,
            **_given_import_flags(flags),
        },
    )
    from elkhound.experiments.kinds import called
    from elkhound.model.io import read_problem

    problem: Any = read_problem(path)
    if isinstance(problem, ScheduleProblem):
        if flags.contention is not None:
            problem = replace(problem, contention=Contention(flags.contention))
        if flags.max_outstanding is not None:
            problem = replace(problem, max_outstanding=flags.max_outstanding)
    else:
        _refuse(
            called(problem),
            {
                "--contention": flags.contention is not None,
                "--max-outstanding": flags.max_outstanding is not None,
            },
        )
    return Source(path.stem, problem, None)


def _given_import_flags(flags: ModelFlags) -> dict[str, bool]:
    """Return which flags about reading an ONNX file were given."""
    return {
        "--weight": bool(flags.weights),
        "--activation": bool(flags.activations),
        "--no-patterns": not flags.patterns,
        "--branch": bool(flags.branches),
        "--trip": bool(flags.trips),
        "--unknown": flags.unknown is not None,
        "--strict": flags.strict,
    }


def refuse_import_flags(what: str, flags: ModelFlags) -> None:
    """Refuse flags about reading an ONNX file on something else."""
    _refuse(what, _given_import_flags(flags))


def require_file(path: Path) -> None:
    """Refuse a path that is no file."""
    if path.is_dir():
        raise BadInputError("is a directory", code="not-a-file", where=str(path))
    if not path.exists():
        raise BadInputError("no such file", code="no-such-file", where=str(path))


def _refuse(what: str, given: Mapping[str, bool]) -> None:
    """Refuse flags that would have no effect."""
    for flag, is_given in given.items():
        if is_given:
            raise BadInputError(
                f"has no effect on {what}", code="no-effect", where=flag
            )
