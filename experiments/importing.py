"""What `elkhound import` tells about a graph."""

from __future__ import annotations

from typing import Any

from elkhound.experiments.source import ReadGraph, spill_lines
from elkhound.model.graph import Home, Operator


def import_document(read: ReadGraph) -> dict[str, Any]:
    """Return the object that `import --json` prints (stable).

    `weight_bytes` counts whole tensors in HBM other than caches, `streamed_bytes`
    what HBM delivers for the operator, caches included. `unsupported` lists operator
    types that are not known and went through by ``--unknown``.
    """
    graph = read.graph
    weights = _weights(read)
    return {
        "operators": [
            {
                "name": operator.name,
                "kind": str(operator.kind),
                "dims": operator.einsum.sizes,
                "macs": operator.einsum.macs,
                "weight_bytes": _weight_bytes(operator, weights),
                "streamed_bytes": graph.streamed_bytes(operator),
            }
            for operator in graph.operators
        ],
        "macs": graph.macs,
        "weight_bytes": sum(weights.values()),
        "free_symbols": [] if read.report is None else list(read.report.free_symbols),
        "unsupported": [] if read.report is None else list(read.report.unsupported),
        "warnings": list(read.warnings),
        "spilled": [
            {
                "tensor": moved.tensor,
                "bytes": moved.size_bytes,
                "write_cycles": moved.write_cycles,
                "read_cycles": moved.read_cycles,
            }
            for moved in read.spilled
        ],
    }


def print_import(read: ReadGraph) -> None:
    """Print operators, homes of the inputs and warnings for a person."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    document = import_document(read)
    grid = Table(title=Text(read.graph.name), box=box.SIMPLE_HEAD, title_justify="left")
    for heading in ("operator", "kind", "dimensions"):
        grid.add_column(heading)
    for heading in ("MACs", "weight B", "streamed B"):
        grid.add_column(heading, justify="right")
    for operator in document["operators"]:
        dims = ", ".join(f"{name}={size}" for name, size in operator["dims"].items())
        numbers = (operator[key] for key in ("macs", "weight_bytes", "streamed_bytes"))
        grid.add_row(Text(operator["name"]), operator["kind"], dims, *map(str, numbers))
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    console.print(grid)
    streamed = sum(operator["streamed_bytes"] for operator in document["operators"])
    lines = [
        f"{len(document['operators'])} operators, {document['macs']} MACs, "
        f"{document['weight_bytes']} B of weights, {streamed} B streamed"
    ]
    if read.report is not None:
        lines += [f"input {h.input}: {h.home} ({h.reason})" for h in read.report.homes]
        lines += [
            f"pattern {name}: {count}"
            for name, count in read.report.pattern_counts.items()
        ]
    lines += [f"warning: {warning}" for warning in read.warnings]
    lines += spill_lines(read)
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _weights(read: ReadGraph) -> dict[str, int]:
    """Return the bytes of every tensor in HBM that is read and is no cache."""
    graph = read.graph
    caches = _caches(read)
    used = {a.tensor for operator in graph.operators for a in operator.einsum.inputs}
    return {
        tensor.name: tensor.size_bytes
        for tensor in graph.tensors
        if tensor.home is Home.HBM and tensor.name in used - caches
    }


def _caches(read: ReadGraph) -> set[str]:
    """Return the caches: of a workload by name, of a file as its import tells."""
    if read.report is None:
        return {t.name for t in read.graph.tensors if t.name.endswith("_cache")}
    return {choice.input for choice in read.report.homes if choice.cache}


def _weight_bytes(operator: Operator, weights: dict[str, int]) -> int:
    names = {access.tensor for access in operator.einsum.inputs}
    return sum(size for name, size in weights.items() if name in names)
