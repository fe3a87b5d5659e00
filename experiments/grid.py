"""The points of a grid, each checked before anything runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from elkhound.experiments.kinds import KINDS
from elkhound.experiments.methods import variant
from elkhound.experiments.points import Point, PointLimits, Subject, point, subject
from elkhound.experiments.source import (
    DEFAULT_CHIP,
    ModelFlags,
    is_problem_file,
    read_graph,
)
from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError
from elkhound.model.io import GridFile, load_chip
from elkhound.model.limits import Limits

_KEY_OF_FLAG = {
    "--bind": "bind",
    "--phase": "phase",
    "--chip": "chip",
    "--spill": "spill",
    "--fuse": "fuse",
    "--tile-cost": "tile_cost",
    "--contention": "contention",
    "--max-outstanding": "max_outstanding",
    "--no-patterns": "patterns",
    "--weight": "weight",
    "--activation": "activation",
    "--branch": "branch",
    "--trip": "trip",
    "--unknown": "unknown",
    "--strict": "strict",
}
_FIELD_OF_KEY = {
    "weight": "weights",
    "activation": "activations",
    "branch": "branches",
    "trip": "trips",
}
_NO_CHIP: tuple[Chip | None, Mapping[str, Any]] = (None, {})
_IN_ROWS = ("contention", "seed")  # rows have columns of these already


def grid_points(file: GridFile) -> tuple[Point, ...]:
    """Return the points of a grid, the methods of each problem one after another.

    Raises
    ------
    BadInputError
        A model, chip, field, method or symbol that does not exist or has no effect, or
        two points that are the same: with file and line.
    """
    grid = file.grid
    whole = PointLimits(grid.point_seconds, grid.point_memory_bytes)
    points: dict[str, Point] = {}
    for about, coordinates in _subjects(file):
        for (given, varied), thin in itertools.product(_limits(file), grid.thin):
            if thin is not None and about.kind != "schedule":
                error = BadInputError(f"has no effect on {about.kind} problems")
                raise file.refusal(error, "thin")
            for k, method in enumerate(grid.methods):
                with _about(file, "methods", k):
                    _require_method(method, about.kind)
                thinned = {"thin": thin} if grid.thin != (None,) else {}
                made = point(
                    about,
                    method,
                    limits=given,
                    point_limits=whole,
                    thin_permille=None if thin is None else round(1000 * thin),
                    coordinates={**coordinates, **thinned, **varied},
                )
                if made.key in points:
                    _refuse_twice(file, points[made.key], made)
                points[made.key] = made
    return tuple(points.values())


def _require_method(text: str, kind: str) -> None:
    """Refuse a method that does not exist for the kind of problem."""
    variant(text, KINDS[kind].registry)


def _subjects(file: GridFile) -> Iterator[tuple[Subject, dict[str, Any]]]:
    grid = file.grid
    on_chips = _chips(file)
    for k, model in enumerate(grid.models):
        axes = {**dict(grid.reading), **{f"bind.{s}": v for s, v in grid.bind}}
        is_problem = is_problem_file(model)
        if is_problem and (grid.chips or grid.changes):
            key = "chip" if grid.chips else "set"
            error = BadInputError(f"has no effect on {model}", code="no-effect")
            raise file.refusal(error, key)
        chips = [_NO_CHIP] if is_problem else on_chips
        for number, chosen in enumerate(_product(axes)):
            flags = _flags(grid.fixed, chosen)
            if number == 0:
                _try(file, k, model, flags)
            for chip, changed in chips:
                with _about(file, "model", k):
                    about = subject(model, flags=flags, chip=chip)
                named = {"model": model}
                named |= {n: v for n, v in chosen.items() if n not in _IN_ROWS}
                if chip is not None:
                    named["chip"] = chip.name
                named |= {f"set.{key}": value for key, value in changed.items()}
                yield about, named


def _try(file: GridFile, k: int, model: str, flags: ModelFlags) -> None:
    """Read a model once, so that flags without effect are refused at once."""
    with _about(file, "model", k):
        if is_problem_file(model):
            subject(model, flags=flags)
            return
        read = read_graph(model, flags)
    if read.report is None and "patterns" in dict(file.grid.reading):
        error = BadInputError(f"has no effect on workload {model}", code="no-effect")
        raise file.refusal(error, "patterns")


def _chips(file: GridFile) -> list[tuple[Chip | None, Mapping[str, Any]]]:
    """Return every chip with every combination of changed fields."""
    grid = file.grid
    made: list[tuple[Chip | None, Mapping[str, Any]]] = []
    for k, name in enumerate(grid.chips or (DEFAULT_CHIP,)):
        with _about(file, "chip", k):
            load_chip(name)
        for changed in _product(dict(grid.changes)):
            try:
                made.append((load_chip(name, changed), changed))
            except BadInputError as error:
                on_chip = BadInputError(
                    error.message,
                    code=error.code,
                    where=f"chip {name}",
                    hint=error.hint,
                )
                raise file.refusal(on_chip, "set", _at_fault(error, changed)) from error
    return made


def _at_fault(error: BadInputError, changed: Mapping[str, Any]) -> str:
    """Return the changed field that an error is about: the one it names."""
    named = [key for key in changed if key in error.message]
    named += [key for key in changed if key.rpartition(".")[2] in error.message]
    return (named or list(changed))[0]


def _flags(
    fixed: tuple[tuple[str, object], ...], chosen: Mapping[str, Any]
) -> ModelFlags:
    given: dict[str, Any] = {_FIELD_OF_KEY.get(n, n): v for n, v in fixed}
    for name in ("weights", "activations"):
        if name in given:
            given[name] = tuple(given[name])
    bind = {}
    for name, value in chosen.items():
        if name.startswith("bind."):
            bind[name.removeprefix("bind.")] = value
        else:
            given[name] = value
    return ModelFlags(bind=bind, **given)


def _limits(file: GridFile) -> Iterator[tuple[Limits[Any], dict[str, Any]]]:
    """Yield limits, with those of their fields that the grid varies."""
    axes = dict(file.grid.limits)
    for chosen in _product(axes):
        varied = {
            f"limits.{name}": value
            for name, value in chosen.items()
            if len(axes[name]) > 1 and name not in _IN_ROWS
        }
        yield Limits(**chosen), varied


def _product(axes: Mapping[str, tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def _refuse_twice(file: GridFile, first: Point, second: Point) -> None:
    alike = first.method == second.method and first.coordinates == second.coordinates
    names = f"{_named(second)} is there twice"
    if not alike:
        names = f"{_named(first)} and {_named(second)} are the same point"
    raise file.refusal(BadInputError(names, code="repeated"))


def _named(made: Point) -> str:
    return " ".join([*(str(v) for v in made.coordinates.values()), made.method])


@contextmanager
def _about(file: GridFile, *keys: str | int) -> Iterator[None]:
    """Let an error say where in the grid it comes from."""
    try:
        yield
    except BadInputError as error:
        key = _KEY_OF_FLAG.get(error.where)
        raise file.refusal(error, *((key,) if key else keys)) from error
