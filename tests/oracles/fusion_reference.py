"""Reads entries of the fusion reference: a mapping, its accelerator, what it costs."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Any

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.fusion.looptree_text import parse_mapping
from elkhound.model.fusion.mapping import LoopTree
from elkhound.model.fusion.workload import FusionWorkload
from elkhound.model.io import load_accelerator

TABLES = (
    "energy_by_component_action",
    "energy_by_component_tensor",
    "energy_by_einsum",
    "latency_by_einsum",
    "latency_by_component_einsum",
    "actions_by_einsum_component_tensor",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A mapping with what it costs; keys of the tables are tuples of names."""

    accelerator: Accelerator
    workload: FusionWorkload
    tree: LoopTree
    energy: float
    latency: float
    tables: dict[str, dict[tuple[str, ...], float]]
    usage: dict[str, float] | None


def entry_of(raw: dict[str, Any]) -> Entry:
    """Return an entry of `mapper_results` or `model_goldens`."""
    body = raw.get("best", raw)
    tables = {name: _table(body[name]) for name in TABLES if name in body}
    return Entry(
        accelerator_of(raw["params"]),
        fusion_workload_of(raw["params"]),
        parse_mapping("\n".join(body["mapping_text"])),
        body["energy"],
        body["latency"],
        tables,
        body.get("resource_usage"),
    )


def _table(raw: dict[str, float]) -> dict[tuple[str, ...], float]:
    """Sum what has equal keys: leak is booked on tensor None, compute on 'None'."""
    table: dict[tuple[str, ...], float] = {}
    for text, value in raw.items():
        key = _key(text)
        table[key] = table.get(key, 0.0) + value
    return table


def _key(text: str) -> tuple[str, ...]:
    """`('Matmul0', 'MAC', 'None', 'compute')` as a tuple, None as text."""
    if not text.startswith("("):
        return (text,)
    return tuple(str(part) for part in ast.literal_eval(text))


def accelerator_of(params: dict[str, Any]) -> Accelerator:
    """The preset with the entry's parameters; what is absent is 1 or unlimited."""
    if params["arch"] == "tpu_v4i":
        return load_accelerator("tpu-v4i")
    given = params["jinja"]
    simple = load_accelerator("simple")
    energy = given.get("MainMemoryEnergy", 1)
    size = given.get("GlobalBufferSize", "inf")
    rate = given.get("GlobalBufferThroughput", "inf")
    main, buffer = simple.memories
    main = replace(main, read_energy=energy, write_energy=energy)
    buffer = replace(
        buffer,
        size_bits=None if size == "inf" else int(size),
        bits_per_cycle=None if rate == "inf" else rate,
    )
    return replace(simple, memories=(main, buffer))


def fusion_workload_of(params: dict[str, Any]) -> FusionWorkload:
    given = params.get("jinja", {})
    if "chain" in params:
        return fusion_workload("chain", {"einsums": params["chain"]})
    match params["wl"]:
        case "matmuls":
            width, count = given["KN"], given["N_EINSUMS"]
            bind = {"einsums": count, "m": given["M"], "width": width}
            return fusion_workload("matmuls", bind)
        case "gpt3_6.7B":
            tokens = {"batch": given["BATCH_SIZE"], "new_tokens": given["N_NEW_TOKENS"]}
            return fusion_workload("gpt-3-6.7b", tokens)
        case name:
            return fusion_workload(
                {"three_matmuls_annotated": "three-matmuls"}.get(name, name)
            )
