"""LoopTree mappings: YAML files and text files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from elkhound.model.errors import BadInputError
from elkhound.model.fusion.looptree_text import is_mapping_text, parse_mapping
from elkhound.model.fusion.mapping import (
    ComputeNode,
    Loop,
    LoopTree,
    Node,
    Split,
    Store,
)
from elkhound.model.io.document import Document, KeyPath, read_document, read_text
from elkhound.model.io.fields import FileModel, Name, Positive
from elkhound.model.io.text import name_of
from elkhound.model.io.validate import built, validated

_KEYS_OF = {
    "store": {"store", "memory"},
    "loop": {"loop", "tile", "over", "renamed"},
    "compute": {"compute", "on"},
    "sequential": {"sequential"},
}
_NEEDED = {"store": "memory", "loop": "tile", "compute": "on"}


class NodeModel(FileModel):
    """One node: exactly one of store, loop, compute and sequential."""

    store: list[Name] | None = Field(None, description="tensors, a node each")
    memory: Name | None = Field(None, description="of store")
    loop: Name | None = Field(None, description="rank variable")
    tile: Positive | None = Field(None, description="of loop")
    over: Name | None = Field(None, description="Component.dimension of a spatial loop")
    renamed: dict[Name, Name] | None = Field(
        None, description="einsums under the loop that call its rank otherwise"
    )
    compute: Name | None = Field(None, description="einsum")
    on: Name | None = Field(None, description="compute unit")
    sequential: Annotated[list[list[NodeModel]], Field(min_length=1)] | None = Field(
        None, description="branches, run one after the other"
    )


class MappingModel(FileModel):
    """A LoopTree, from outer to inner."""

    mapping: Name
    nodes: Annotated[list[NodeModel], Field(min_length=1)]


def is_mapping_file(path: str) -> bool:
    """Whether a file is meant as a mapping, right or wrong."""
    try:
        if Path(path).suffix.lower() in (".yaml", ".yml", ".json"):
            return read_document(path).at(("mapping",)) is not None
        return is_mapping_text(read_text(path))
    except BadInputError:
        return False


def load_mapping(path: str) -> LoopTree:
    """Return the mapping of a file: YAML or JSON by its ending, else the text form.

    Raises
    ------
    BadInputError
        The file, or a line of it, cannot be used: named with its line.
    """
    if Path(path).suffix.lower() in (".yaml", ".yml", ".json"):
        return mapping_from(read_document(path))
    return parse_mapping(read_text(path), path)


def mapping_from(document: Document) -> LoopTree:
    """Return the mapping a document describes."""
    model = validated(document, MappingModel)
    nodes = _nodes(document, ("nodes",), model.nodes)
    return built(document, ("nodes",), lambda: LoopTree(nodes, model.mapping))


def _nodes(
    document: Document, place: KeyPath, models: list[NodeModel]
) -> tuple[Node, ...]:
    nodes: list[Node] = []
    for i, model in enumerate(models):
        nodes += _node(document, (*place, i), model)
    return tuple(nodes)


def _node(document: Document, place: KeyPath, model: NodeModel) -> list[Node]:
    given = model.model_fields_set
    kinds = [kind for kind in _KEYS_OF if kind in given]
    if len(kinds) != 1:
        document.refuse(
            f"{document.spell(place)} has {' and '.join(kinds) or 'no kind'}, must "
            "have one of store, loop, compute and sequential",
            place,
        )
    kind = kinds[0]
    for key in sorted(given - _KEYS_OF[kind]):
        document.refuse(f"{key} has no effect on {kind}; leave it out", (*place, key))
    if kind in _NEEDED and getattr(model, _NEEDED[kind]) is None:
        document.refuse(
            f"{document.spell(place)}.{_NEEDED[kind]} is missing, {kind} needs it",
            place,
        )
    if model.store is not None and model.memory is not None:
        return [Store(model.memory, tensor) for tensor in model.store]
    if model.loop is not None and model.tile is not None:
        renamed = tuple((model.renamed or {}).items())
        return [Loop(model.loop, model.tile, model.over, renamed)]
    if model.compute is not None and model.on is not None:
        return [ComputeNode(model.compute, model.on)]
    branches = tuple(
        _nodes(document, (*place, "sequential", i), branch)
        for i, branch in enumerate(model.sequential or [])
    )
    return [Split(branches)]


def mapping_document(tree: LoopTree) -> dict[str, object]:
    """Return a mapping as its YAML file holds it; `mapping_from` reads it back."""
    return {"mapping": name_of(tree.name), "nodes": _entries(tree.nodes)}


def _entries(nodes: tuple[Node, ...]) -> list[dict[str, object]]:
    return [_entry(node) for node in nodes]


def _entry(node: Node) -> dict[str, object]:
    match node:
        case Store():
            return {"store": [node.tensor], "memory": node.memory}
        case ComputeNode():
            return {"compute": node.einsum, "on": node.unit}
        case Split():
            return {"sequential": [_entries(branch) for branch in node.branches]}
        case Loop():
            entry: dict[str, object] = {"loop": node.rank, "tile": node.tile_size}
            if node.over is not None:
                entry["over"] = node.over
            if node.renamed:
                entry["renamed"] = dict(node.renamed)
            return entry
