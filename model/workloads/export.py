"""A built-in workload as an ONNX file, its weights without data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.graph import Graph, Home
from elkhound.model.workloads.catalogue import (
    CATALOGUE,
    Activation,
    LatentMixture,
    Transformer,
)
from elkhound.model.workloads.onnx_file import OnnxFile
from elkhound.model.workloads.onnx_fused import FusedNodes
from elkhound.model.workloads.onnx_nodes import PlainNodes
from elkhound.model.workloads.workload import build_workload

FORMS = ("plain", "contrib")


def export_workload(
    name: str,
    bind: Mapping[str, int],
    phase: str | None,
    path: Path,
    form: str = "plain",
) -> Graph:
    """Write a workload as an ONNX file and return its graph.

    Importing the file gives an equal graph under other names. Scales by constants,
    which cost nothing, are left out; of a position table only the rows that are read
    are there. A metadata property of the file lists the tensors that go to HBM.

    Parameters
    ----------
    name, bind, phase
        As of `build_workload`.
    path : Path
        Where the file goes.
    form : str
        ``plain``: operators of the ONNX standard; ``contrib``: those of com.microsoft
        and fused ones of the standard too, where there is one.

    Raises
    ------
    BadInputError
        What `build_workload` raises; or there is no such form.
    """
    import onnx

    if form not in FORMS:
        raise BadInputError(
            f"no form of export is called {form!r}",
            code="unknown-form",
            hint=nearest(form, list(FORMS)),
        )
    graph = build_workload(name, bind, phase)
    model = CATALOGUE[name]
    activation = Activation.GELU
    if isinstance(model, Transformer):
        activation = model.activation
    elif isinstance(model, LatentMixture):
        activation = Activation.SILU
    file = OnnxFile(graph)
    writer = FusedNodes if form == "contrib" else PlainNodes
    writer(file, graph, activation).write()
    spilled = [t.name for t in graph.tensors if t.home is Home.SPILLED]
    spilled += file.declared
    metadata = {"elkhound.spilled": json.dumps(spilled)} if spilled else {}
    onnx.save(file.model(metadata), str(path))
    return graph
