"""Graphs by name or path: built-in workloads and ONNX files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.graph import Graph
from elkhound.model.workloads import build_workload, workload_names


def load_graph(
    model: str | Path,
    bind: Mapping[str, int] | None = None,
    *,
    phase: str | None = None,
    weights: Sequence[str] = (),
    activations: Sequence[str] = (),
    patterns: bool = True,
) -> Graph:
    """Return the graph of an ONNX file or of a built-in workload.

    `elkhound.model.onnx_import.import_onnx` also returns the import report.

    Parameters
    ----------
    model : str or Path
        Name of a workload, or path of an ONNX file.
    bind : mapping of str to int or None
        Extents of symbols: those of the file, or ``batch``, ``seq`` and ``layers``.
    phase : str or None
        Of a workload; None for its first, ``decode`` of a language model.
    weights, activations : sequence of str
        Inputs of an ONNX file to stream from HBM, or to keep on chip.
    patterns : bool
        Recognise operators written as primitives in an ONNX file.

    Raises
    ------
    BadInputError
        No such model, or an argument that is wrong or has no effect on it.
    """
    name, bind = str(model), bind or {}
    if name in workload_names():
        without_effect = {
            "weights": bool(weights),
            "activations": bool(activations),
            "patterns": not patterns,
        }
        _refuse_given(f"workload {name}", without_effect)
        return build_workload(name, bind, phase)
    if Path(name).suffix.lower() != ".onnx" and not Path(name).exists():
        raise BadInputError(
            f"no such file, and no built-in workload {name!r}",
            code="no-such-model",
            hint=nearest(name, list(workload_names())),
        )
    _refuse_given(f"ONNX file {name}", {"phase": phase is not None})
    from elkhound.model.onnx_import import import_onnx

    return import_onnx(
        name, bind=bind, weights=weights, activations=activations, patterns=patterns
    ).graph


def _refuse_given(owner: str, given: Mapping[str, bool]) -> None:
    for argument, is_given in given.items():
        if is_given:
            raise BadInputError(
                f"{owner}: {argument} has no effect; leave it out", code="no-effect"
            )
