"""Accelerators of the fusion problem: YAML files and presets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.fusion.accelerator import Accelerator, Compute, FanOut, Memory
from elkhound.model.fusion.chip_accelerator import as_accelerator
from elkhound.model.io.chip_file import chip_from, chip_names, load_chip
from elkhound.model.io.document import Document, KeyPath, read_document
from elkhound.model.io.fields import ChipPositive, FileModel, Name, Rate
from elkhound.model.io.validate import built, validated

_PRESETS = Path(__file__).parent.parent / "presets" / "accelerators"
_BITS_PER_BYTE = 8

Energy = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)]
PerCycle = Annotated[float, Field(gt=0, le=1e18, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
TensorSet = Literal[
    "all",
    "nothing",
    "intermediates",
    "not-intermediates",
    "not-above",
    "input",
    "output",
    "weight",
]


TensorSets = TensorSet | Annotated[list[TensorSet], Field(min_length=1)]


class FanOutModel(FileModel):
    """Parallel units along one dimension."""

    component: Name | None = Field(None, description="the part's own name if absent")
    dimension: Name
    size: ChipPositive
    multicast: bool = False
    reduction: bool = False
    ranks: Literal["any", "not-input", "not-output"] = "any"
    min_usage: Share = 0.0


class MemoryModel(FileModel):
    """A memory; rates left out are unlimited."""

    name: Name
    size_bits: ChipPositive | Literal["inf"]
    read_energy: Energy = Field(description="per bit")
    write_energy: Energy = Field(description="per bit")
    bits_per_cycle: PerCycle | None = Field(None, description="reads and writes share")
    read_bits_per_cycle: PerCycle | None = None
    write_bits_per_cycle: PerCycle | None = None
    bytes_per_second: Rate | None = Field(None, description="reads and writes share")
    read_bytes_per_second: Rate | None = None
    write_bytes_per_second: Rate | None = None
    leak: Energy = Field(0.0, description="per cycle, all units together")
    fan_outs: list[FanOutModel] = Field([])
    keep: TensorSets = "nothing"
    may_keep: TensorSets = "all"
    backing: bool = True


class ComputeUnitModel(FileModel):
    """A compute unit; a rate left out is unlimited."""

    name: Name
    energy: Energy = Field(description="per operation")
    ops_per_cycle: PerCycle | None = None
    tensors: ChipPositive | None = Field(
        None, description="computes einsums of that many tensors; all if absent"
    )
    leak: Energy = Field(0.0, description="per cycle, all units together")
    fan_outs: list[FanOutModel] = Field([])
    below: Name | None = Field(None, description="memory above it; else the innermost")


class AcceleratorModel(FileModel):
    """Memories from outer to inner, and compute units."""

    accelerator: Name
    clock_hz: Rate | None = Field(
        None, description="with it energies are in pJ, and costs in J and s"
    )
    memories: Annotated[list[MemoryModel], Field(min_length=1)]
    compute: Annotated[list[ComputeUnitModel], Field(min_length=1)]


def accelerator_names() -> tuple[str, ...]:
    """Return the names of the presets."""
    return tuple(sorted(file.stem for file in _PRESETS.glob("*.yaml")))


def load_accelerator(name_or_path: str) -> Accelerator:
    """Return a preset, or the accelerator of a YAML or JSON file; chips are ones too.

    Raises
    ------
    BadInputError
        No preset or file of that name, or a file with an unknown, missing or
        ineffective key or an impossible value: named with line and legal range.
    """
    names = accelerator_names()
    if name_or_path in names:
        return accelerator_from(read_document(_PRESETS / f"{name_or_path}.yaml"))
    chips = chip_names()
    if name_or_path in chips:
        return as_accelerator(load_chip(name_or_path))
    path = Path(name_or_path)
    is_path = len(path.parts) > 1 or path.suffix in (".yaml", ".yml", ".json")
    if not str(name_or_path) or not (is_path or path.exists()):
        raise BadInputError(
            f"no accelerator is called {name_or_path!r}, and no file",
            code="unknown-accelerator",
            hint=nearest(name_or_path, [*names, *chips]),
        )
    document = read_document(name_or_path)
    if document.at(("chip",)) is not None:
        return as_accelerator(chip_from(document))
    return accelerator_from(document)


def accelerator_from(document: Document) -> Accelerator:
    """Return the accelerator a document describes."""
    model = validated(document, AcceleratorModel)
    memories = tuple(
        _memory(document, ("memories", i), memory, model.clock_hz)
        for i, memory in enumerate(model.memories)
    )
    units = tuple(
        _compute(document, ("compute", i), unit) for i, unit in enumerate(model.compute)
    )
    return built(
        document,
        (),
        lambda: Accelerator(model.accelerator, memories, units, model.clock_hz),
    )


def _memory(
    document: Document, place: KeyPath, model: MemoryModel, clock_hz: int | None
) -> Memory:
    size = None if model.size_bits == "inf" else model.size_bits

    def per_cycle(port: str) -> float | None:
        """Return a rate in bits per cycle, whichever way the file gives it."""
        bits: float | None = getattr(model, f"{port}bits_per_cycle")
        key = f"{port}bytes_per_second"
        rate: int | None = getattr(model, key)
        if rate is None:
            return bits
        if clock_hz is None:
            document.refuse(
                f"{model.name}: {key} needs clock_hz; without one, give "
                f"{port}bits_per_cycle",
                (*place, key),
            )
        if bits is not None:
            document.refuse(
                f"{model.name}: {key} and {port}bits_per_cycle say the same; give one",
                (*place, key),
            )
        return rate * _BITS_PER_BYTE / clock_hz

    rates = (per_cycle(""), per_cycle("read_"), per_cycle("write_"))
    fan_outs = _fan_outs(document, place, model.name, model.fan_outs)
    return built(
        document,
        place,
        lambda: Memory(
            name=model.name,
            size_bits=size,
            read_energy=model.read_energy,
            write_energy=model.write_energy,
            bits_per_cycle=rates[0],
            read_bits_per_cycle=rates[1],
            write_bits_per_cycle=rates[2],
            leak=model.leak,
            fan_outs=fan_outs,
            keep=_words(model.keep),
            may_keep=_words(model.may_keep),
            backing=model.backing,
        ),
    )


def _words(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _compute(document: Document, place: KeyPath, model: ComputeUnitModel) -> Compute:
    fan_outs = _fan_outs(document, place, model.name, model.fan_outs)
    return built(
        document,
        place,
        lambda: Compute(
            name=model.name,
            energy=model.energy,
            ops_per_cycle=model.ops_per_cycle,
            tensors=model.tensors,
            leak=model.leak,
            fan_outs=fan_outs,
            below=model.below,
        ),
    )


def _fan_outs(
    document: Document, place: KeyPath, owner: str, models: list[FanOutModel]
) -> tuple[FanOut, ...]:
    return tuple(
        built(
            document,
            (*place, "fan_outs", i),
            lambda model=model: FanOut(  # type: ignore[misc]
                component=model.component or owner,
                dimension=model.dimension,
                size=model.size,
                multicast=model.multicast,
                reduction=model.reduction,
                ranks=model.ranks,
                min_usage=model.min_usage,
            ),
        )
        for i, model in enumerate(models)
    )


def accelerator_document(accelerator: Accelerator) -> dict[str, object]:
    """Return an accelerator as its file holds it; `accelerator_from` reads it back."""
    document: dict[str, object] = {"accelerator": accelerator.name}
    if accelerator.clock_hz is not None:
        document["clock_hz"] = accelerator.clock_hz
    document["memories"] = [_memory_entry(memory) for memory in accelerator.memories]
    document["compute"] = [_compute_entry(unit) for unit in accelerator.compute]
    return document


def _memory_entry(memory: Memory) -> dict[str, object]:
    rates = {
        "bits_per_cycle": memory.bits_per_cycle,
        "read_bits_per_cycle": memory.read_bits_per_cycle,
        "write_bits_per_cycle": memory.write_bits_per_cycle,
    }
    return {
        "name": memory.name,
        "size_bits": "inf" if memory.size_bits is None else memory.size_bits,
        "read_energy": memory.read_energy,
        "write_energy": memory.write_energy,
        **{key: rate for key, rate in rates.items() if rate is not None},
        "leak": memory.leak,
        "fan_outs": [_fan_out_entry(fan_out) for fan_out in memory.fan_outs],
        "keep": list(memory.keep),
        "may_keep": list(memory.may_keep),
        "backing": memory.backing,
    }


def _compute_entry(unit: Compute) -> dict[str, object]:
    optional = {
        "ops_per_cycle": unit.ops_per_cycle,
        "tensors": unit.tensors,
        "below": unit.below,
    }
    return {
        "name": unit.name,
        "energy": unit.energy,
        "leak": unit.leak,
        "fan_outs": [_fan_out_entry(fan_out) for fan_out in unit.fan_outs],
        **{key: value for key, value in optional.items() if value is not None},
    }


def _fan_out_entry(fan_out: FanOut) -> dict[str, object]:
    return {
        "component": fan_out.component,
        "dimension": fan_out.dimension,
        "size": fan_out.size,
        "multicast": fan_out.multicast,
        "reduction": fan_out.reduction,
        "ranks": fan_out.ranks,
        "min_usage": fan_out.min_usage,
    }
