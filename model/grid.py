"""A grid of sweep points: what is varied, and with which values."""

from __future__ import annotations

from dataclasses import dataclass

Values = tuple[int | float | str | bool | None, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """Values per axis; the points are their product. An empty axis is not varied.

    Parameters
    ----------
    models : tuple of str
        ONNX files, workloads or problem files.
    methods : tuple of str
        Names, with variants.
    chips : tuple of str
        Presets or files; empty for the default chip.
    reading : tuple of (str, Values)
        How models are read and what is asked of their problem: phase, patterns, spill,
        tile_cost, contention, max_outstanding.
    fixed : tuple of (str, object)
        How models are read, the same for all: weight, activation, branch, trip,
        unknown, strict.
    bind : tuple of (str, Values)
        Values of each symbol of the model.
    changes : tuple of (str, Values)
        Values of each chip field, by key path: ``hbm.bytes_per_second``.
    thin : tuple of (float or None)
        How far options are thinned; None for all options.
    limits : tuple of (str, Values)
        Values of each field of `Limits`.
    point_seconds : float or None
        Wall-clock time one point may take in all.
    point_memory_bytes : int or None
        Memory the process of one point may take.
    """

    models: tuple[str, ...]
    methods: tuple[str, ...]
    chips: tuple[str, ...] = ()
    reading: tuple[tuple[str, Values], ...] = ()
    fixed: tuple[tuple[str, object], ...] = ()
    bind: tuple[tuple[str, Values], ...] = ()
    changes: tuple[tuple[str, Values], ...] = ()
    thin: tuple[float | None, ...] = (None,)
    limits: tuple[tuple[str, Values], ...] = ()
    point_seconds: float | None = None
    point_memory_bytes: int | None = None
