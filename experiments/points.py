"""A point of a sweep: one problem, one method, and what names them for good."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from elkhound.experiments.kinds import KINDS, kind_of
from elkhound.experiments.methods import variant
from elkhound.experiments.source import (
    DEFAULT_CHIP,
    ModelFlags,
    is_problem_file,
    read_source,
    require_file,
)
from elkhound.model.chip import Chip
from elkhound.model.limits import Limits
from elkhound.model.result import own_version

_HANDED_IN = ("warm_start", "progress")  # fields of limits that ask for nothing


@dataclass(frozen=True, slots=True)
class PointLimits:
    """What one point may use in all: import, options, planning, referee, simulation.

    Parameters
    ----------
    seconds : float or None
        Wall-clock time after which its process is ended; None for no limit.
    memory_bytes : int or None
        Memory its process may take; None for no limit.
    """

    seconds: float | None = None
    memory_bytes: int | None = None

    @property
    def memory_remark(self) -> str:
        """What to say behind an error that the limit may have caused."""
        if self.memory_bytes is None:
            return ""
        return f" (the point may take {self.memory_bytes} B of memory)"


@dataclass(frozen=True, slots=True)
class Subject:
    """What points plan; equal and hashed by its key alone.

    Parameters
    ----------
    key : str
        sha256 of everything below, contents of files included.
    graph_key : str
        sha256 of what its graph depends on: a chip of another rate has the same.
    model : str
        ONNX file, workload or problem file; the problem's name for one given as such.
    model_hash : str or None
        sha256 of the file, or of the problem; None for a workload.
    flags : ModelFlags
        How the model is read.
    chip : Chip or None
        None for problems.
    problem : ScheduleProblem, AllocationProblem, PlacementProblem or None
        A problem that is in no file.
    kind : str
        Kind of problem.
    """

    key: str
    graph_key: str = field(compare=False)
    model: str = field(compare=False)
    model_hash: str | None = field(compare=False)
    flags: ModelFlags = field(compare=False)
    chip: Chip | None = field(compare=False)
    problem: Any = field(compare=False)
    kind: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Point:
    """One method on one subject, within limits.

    Parameters
    ----------
    key : str
        sha256 of subject, resolved method, limits and version: two points with the
        same key have the same row.
    subject : Subject
        What is planned.
    method : str
        Name, with its variant.
    limits : Limits
        Of the method.
    point_limits : PointLimits
        Of the whole point.
    thin_permille : int or None
        How far options are thinned; None for all options.
    coordinates : mapping of str to object
        What the user calls the point by: model, bind.batch, chip,
        set.hbm.bytes_per_second and the like, flat.
    """

    key: str
    subject: Subject
    method: str
    limits: Limits[Any]
    point_limits: PointLimits
    thin_permille: int | None
    coordinates: Mapping[str, Any]


def subject(
    model: Any,
    *,
    flags: ModelFlags | None = None,
    chip: Chip | None = None,
) -> Subject:
    """Return what is to be planned.

    Parameters
    ----------
    model : str or a problem
        ONNX file, workload, problem file, or a problem itself.
    flags : ModelFlags or None
        How it is read; `flags.chip` names the chip unless `chip` is given.
    chip : Chip or None
        The chip itself.

    Raises
    ------
    BadInputError
        There is no such file, or a flag has no effect on it.
    """
    from elkhound.model.io import chip_document, load_chip, problem_document

    flags = flags or ModelFlags()
    problem, digest, kind = None, None, "schedule"
    name = str(model)
    if not isinstance(model, str | Path):
        problem, name, kind = model, str(model.name), kind_of(model).name
        digest = _digest(problem_document(model))
    elif is_problem_file(name) or Path(name).suffix.lower() == ".onnx":
        digest = _file_digest(name)
        if is_problem_file(name):
            kind = kind_of(read_source(name, flags).problem).name
    if problem is None and not is_problem_file(name) and chip is None:
        chip = load_chip(DEFAULT_CHIP if flags.chip is None else flags.chip)
    graph_parts = _graph_parts(name, digest, flags)
    parts = {
        "graph": graph_parts,
        "spill": flags.spill,
        "tile_cost": _tile_cost(flags.tile_cost),
        "chip": None if chip is None else chip_document(chip),
        "contention": flags.contention,
        "max_outstanding": flags.max_outstanding,
    }
    if flags.fuse not in (None, "none"):
        parts["fuse"] = flags.fuse
    return Subject(
        _digest(parts),
        _digest(graph_parts),
        name,
        digest,
        flags,
        chip,
        problem,
        kind,
    )


def point(
    about: Subject,
    method: str,
    *,
    limits: Limits[Any] | None = None,
    point_limits: PointLimits | None = None,
    thin_permille: int | None = None,
    coordinates: Mapping[str, Any] | None = None,
) -> Point:
    """Return a point; a method or setting that does not exist is refused.

    Parameters
    ----------
    limits, point_limits
        None for the defaults, one worker: its answers are repeatable.
    thin_permille : int or None
        How far options are thinned, as by ``--thin``; None for all options.
    coordinates : mapping or None
        How to call it in rows, flat; None for the model, its bindings and its chip.
    """
    limits = limits or Limits(workers=1)
    point_limits = point_limits or PointLimits()
    chosen = variant(method, KINDS[about.kind].registry)
    parts = {
        "subject": about.key,
        "method": [method.partition(":")[0], dict(chosen.settings)],
        "limits": _limits_document(limits),
        "point_limits": asdict(point_limits),
        "thin_permille": thin_permille,
        "version": [own_version(), chosen.origin],
    }
    if coordinates is None:
        coordinates = default_coordinates(about)
    return Point(
        _digest(parts),
        about,
        chosen.text,
        limits,
        point_limits,
        thin_permille,
        dict(coordinates),
    )


def default_coordinates(about: Subject) -> dict[str, Any]:
    """Return model, bindings, phase and chip of a subject."""
    named: dict[str, Any] = {"model": about.model}
    if about.flags.phase is not None:
        named["phase"] = about.flags.phase
    named |= {f"bind.{symbol}": n for symbol, n in about.flags.bind.items()}
    if about.chip is not None:
        named["chip"] = about.chip.name
    return named


def _graph_parts(name: str, digest: str | None, flags: ModelFlags) -> dict[str, Any]:
    """Return what a graph depends on, files by their content."""
    planning = ("chip", "contention", "max_outstanding", "spill", "fuse", "tile_cost")
    given = {
        f.name: getattr(flags, f.name)
        for f in fields(ModelFlags)
        if f.name not in planning
    }
    unknown = flags.unknown
    if unknown is not None and unknown not in ("error", "zero"):
        given["unknown"] = _file_digest(unknown)
    called = name if digest is None else Path(name).name
    return {"model": called, "hash": digest, **given}


def _tile_cost(text: str | None) -> str | None:
    """Return a name, or what a file of measured tiles holds."""
    from elkhound.experiments.tile_costs import is_measured

    return _file_digest(text) if text is not None and is_measured(text) else text


def _limits_document(limits: Limits[Any]) -> dict[str, Any]:
    asked = (f.name for f in fields(Limits) if f.name not in _HANDED_IN)
    document = {name: getattr(limits, name) for name in asked}
    return document | {"seconds": float(limits.seconds)}


def _file_digest(path: str) -> str:
    require_file(Path(path))
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(value: object) -> str:
    """Return the sha256 of canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
