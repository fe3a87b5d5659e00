"""Fusion workloads: YAML files, ONNX files and the built-in ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from elkhound.model.errors import BadInputError
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.fusion.equation import equation_text, parse_equation
from elkhound.model.fusion.graph_workload import graph_workload
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload, WorkloadError
from elkhound.model.io.document import Document, read_document
from elkhound.model.io.fields import FileModel, Name, Positive
from elkhound.model.io.graph_source import load_graph
from elkhound.model.io.validate import validated


class FusionWorkloadModel(FileModel):
    """Einsums over rank variables with sizes."""

    workload: Name
    sizes: dict[Name, Positive] = Field(description="iterations by rank variable")
    bits: Positive = Field(description="per value of every tensor not in bits_of")
    bits_of: dict[Name, Positive] = Field({}, description="bits per value, by tensor")
    persistent: list[Name] = Field(
        [], description="tensors that stay in their backing store all along"
    )
    einsums: Annotated[list[Name], Field(min_length=1)] = Field(
        description="such as 'T1[m,n] = T0[m,k] * W[k,n]', in order; the first operand "
        "is the input, the others are weights"
    )


def load_fusion_workload(
    name_or_path: str, bind: Mapping[str, int] | None = None
) -> FusionWorkload:
    """Return a built-in workload, or the one of an ONNX, YAML or JSON file.

    Parameters
    ----------
    name_or_path : str
        What to load.
    bind : mapping of str to int, optional
        Values of a built-in workload's or ONNX file's symbols; other files have none.

    Raises
    ------
    BadInputError
        No workload or file of that name, or a fault in the file: named with its line.
    """
    path = Path(name_or_path)
    if path.suffix.lower() == ".onnx":
        return graph_workload(load_graph(name_or_path, bind)).workload
    is_path = len(path.parts) > 1 or path.suffix in (".yaml", ".yml", ".json")
    if not (is_path or path.exists()):
        return fusion_workload(name_or_path, bind)
    if bind:
        raise BadInputError(
            f"a workload file has no symbols to bind: {', '.join(bind)}",
            code="no-effect",
            where=name_or_path,
            hint="change its sizes",
        )
    return fusion_workload_from(read_document(name_or_path))


def fusion_workload_from(document: Document) -> FusionWorkload:
    """Return the workload a document describes."""
    model = validated(document, FusionWorkloadModel)
    einsums = tuple(_einsum(document, i, line) for i, line in enumerate(model.einsums))
    tensors = dict.fromkeys(tensor for einsum in einsums for tensor in einsum.tensors)
    for tensor in model.bits_of:
        if tensor not in tensors:
            document.refuse(f"no einsum uses tensor {tensor}", ("bits_of", tensor))
    for i, tensor in enumerate(model.persistent):
        if tensor not in tensors:
            document.refuse(f"no einsum uses tensor {tensor}", ("persistent", i))
    bits = {tensor: model.bits_of.get(tensor, model.bits) for tensor in tensors}
    try:
        return FusionWorkload(
            model.workload,
            tuple(model.sizes.items()),
            einsums,
            tuple(bits.items()),
            tuple(model.persistent),
        )
    except WorkloadError as error:
        document.refuse(str(error), error.place, code="bad-value")


def _einsum(document: Document, index: int, line: str) -> FusionEinsum:
    try:
        return parse_equation(line)
    except ValueError as error:
        document.refuse(f"einsums[{index}]: {error}", ("einsums", index))


def fusion_workload_document(workload: FusionWorkload) -> dict[str, object]:
    """Return a workload as its file holds it; `fusion_workload_from` reads it back."""
    bits = dict(workload.bits)
    common = max(set(bits.values()), key=list(bits.values()).count)
    return {
        "workload": workload.name,
        "sizes": dict(workload.sizes),
        "bits": common,
        "bits_of": {tensor: b for tensor, b in bits.items() if b != common},
        "persistent": list(workload.persistent),
        "einsums": [equation_text(einsum) for einsum in workload.einsums],
    }
