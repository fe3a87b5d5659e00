"""Chips: YAML files and the presets that come with the package."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field

from elkhound.model.chip import AllToAll, Chip, Core, Hbm, Links, Mesh2D
from elkhound.model.errors import BadInputError, nearest
from elkhound.model.installed import broken, installed, loaded, origin
from elkhound.model.io.document import Document, KeyPath, read_document
from elkhound.model.io.fields import ChipCount, ChipPositive, FileModel, Name, Rate
from elkhound.model.io.validate import built, validated

ENTRY_POINTS = "elkhound.chips"  # each the path of a chip file
Noun = TypeVar("Noun")
_PRESETS = Path(__file__).parent.parent / "presets" / "chips"
_KEYS_OF = {"all-to-all": ("cross_chip_permille",), "mesh": ("rows", "columns")}


class LinksModel(FileModel):
    """Links between cores; what is left out costs nothing."""

    topology: Literal["all-to-all", "mesh"]
    rows: ChipPositive | None = Field(None, description="of a mesh")
    columns: ChipPositive | None = Field(None, description="of a mesh")
    bytes_per_second: Rate = Field(
        description="of each core's in- and out-port, or of each way of a mesh link"
    )
    exchange_bytes_per_second: Rate | None = Field(
        None, description="payload rate of core-to-core exchange; the links' if absent"
    )
    latency_ns: ChipCount = 0
    sync_cycles: ChipCount = 0
    cross_chip_permille: ChipPositive = Field(
        1000,
        description="all-to-all: factor on exchange of operators wider than one chip",
    )


class HbmModel(FileModel):
    """HBM of all chips together."""

    bytes_per_second: Rate
    latency_ns: ChipCount
    controllers: ChipPositive
    stripe_bytes: ChipPositive | None = Field(
        None, description="bytes on one controller before the next; even if absent"
    )
    burst_bytes: ChipPositive = Field(
        1, description="a controller delivers whole bursts of this size"
    )


class ComputeModel(FileModel):
    """Arithmetic of one core."""

    mac_per_cycle: ChipPositive
    vector_flop_per_cycle: ChipPositive | None = Field(
        None, description="mac_per_cycle / 16, at least 1, if absent: the IPU's ratio"
    )


class ChipModel(FileModel):
    """A chip, or several that run one program together."""

    chip: Name
    chips: ChipPositive
    cores_per_chip: ChipPositive
    sram_bytes: ChipPositive = Field(description="SRAM of one core")
    reserved_bytes: ChipCount = Field(0, description="part of it plans may not use")
    clock_hz: Rate
    links: LinksModel
    hbm: HbmModel
    compute: ComputeModel
    sram_port_bytes_per_cycle: ChipPositive = 16
    overlap_exchange: bool = False


def chip_names() -> tuple[str, ...]:
    """Return the names of the presets."""
    return tuple(sorted(file.stem for file in _PRESETS.glob("*.yaml")))


def installed_chips() -> dict[str, str]:
    """Return the packages that other chips come from, by chip."""
    return {
        name: " and ".join(origin(entry) for entry in entries)
        for name, entries in installed(ENTRY_POINTS).items()
        if name not in chip_names()
    }


def _installed_file(name: str) -> Path | None:
    """Return the file of a chip that another package offers by an entry point.

    Raises
    ------
    BadInputError
        The package is broken, or the entry point is no path.
    """
    entries = installed(ENTRY_POINTS).get(name)
    if entries is None:
        return None
    file = loaded(entries, "chip")
    if not isinstance(file, str | Path):
        reason = f"is {type(file).__name__}, must be the path of a chip file"
        raise broken(entries[0], "chip", reason)
    return Path(file)


def load_chip(name_or_path: str, changes: Mapping[str, object] | None = None) -> Chip:
    """Return a preset, an installed package's chip, or that of a YAML or JSON file.

    Parameters
    ----------
    name_or_path : str
        The preset, the entry point's name, or the file.
    changes : mapping of str to object or None
        Values that take the place of the file's, by key path:
        ``hbm.bytes_per_second``. What the file leaves out follows them.

    Raises
    ------
    BadInputError
        No preset or file of that name, or a file with an unknown, missing or
        ineffective key or an impossible value: named with line and legal range.
    """
    names = chip_names()
    if name_or_path in names:
        return chip_from(_changed(_PRESETS / f"{name_or_path}.yaml", changes))
    path = Path(name_or_path)
    is_path = len(path.parts) > 1 or path.suffix in (".yaml", ".yml", ".json")
    if not is_path and (file := _installed_file(name_or_path)) is not None:
        return chip_from(_changed(file, changes))
    if not str(name_or_path) or not (is_path or path.exists()):
        raise BadInputError(
            f"no chip is called {name_or_path!r}, and no file",
            code="unknown-chip",
            hint=nearest(name_or_path, [*names, *installed_chips()]),
        )
    return chip_from(_changed(name_or_path, changes))


def _changed(path: str | Path, changes: Mapping[str, object] | None) -> Document:
    """Return a file's document with some of its values replaced."""
    document = read_document(path)
    for key, value in (changes or {}).items():
        *sections, last = key.split(".")
        place = document.value
        for section in sections:
            place = place.setdefault(section, {}) if isinstance(place, dict) else None
        if not isinstance(place, dict):
            document.refuse(f"{sections[-1]} holds no keys", code="unknown-key")
        place[last] = value
    return document


def chip_from(document: Document) -> Chip:
    """Return the chip a document describes."""
    _refuse_keys_of_other_topologies(document)
    model = validated(document, ChipModel)
    if model.chips == 1 and "cross_chip_permille" in model.links.model_fields_set:
        document.refuse(
            "links.cross_chip_permille has no effect where chips is 1; leave it out",
            ("links", "cross_chip_permille"),
            code="no-effect",
        )
    if model.hbm.controllers == 1 and model.hbm.stripe_bytes is not None:
        document.refuse(
            "hbm.stripe_bytes has no effect where hbm.controllers is 1; leave it out",
            ("hbm", "stripe_bytes"),
            code="no-effect",
        )
    compute, hbm = model.compute, model.hbm
    core = _built(
        document,
        (),
        lambda: Core(
            sram_bytes=model.sram_bytes,
            reserved_bytes=model.reserved_bytes,
            sram_port_bytes_per_cycle=model.sram_port_bytes_per_cycle,
            mac_per_cycle=compute.mac_per_cycle,
            vector_flop_per_cycle=compute.vector_flop_per_cycle
            or max(1, compute.mac_per_cycle // 16),
        ),
    )
    links = _links(document, model.links)
    return _built(
        document,
        ("links",),
        lambda: Chip(
            name=model.chip,
            chips=model.chips,
            cores_per_chip=model.cores_per_chip,
            clock_hz=model.clock_hz,
            core=core,
            links=links,
            hbm=Hbm(
                hbm.bytes_per_second,
                hbm.latency_ns,
                hbm.controllers,
                hbm.stripe_bytes or 0,
                hbm.burst_bytes,
            ),
            overlap_exchange=model.overlap_exchange,
        ),
    )


def _built(document: Document, place: KeyPath, make: Callable[[], Noun]) -> Noun:
    """Return what `make` builds; a refusal spells keys as the file does."""

    def in_file() -> Noun:
        try:
            return make()
        except ValueError as error:
            message = str(error).removeprefix("core: ")  # its keys are at the top
            key = re.compile(r"^links: (?=\w+ is )")
            raise ValueError(key.sub("links.", message)) from error

    return built(document, place, in_file)


def _links(document: Document, model: LinksModel) -> Links:
    exchange = model.exchange_bytes_per_second or model.bytes_per_second
    if model.topology == "all-to-all":
        return _built(
            document,
            ("links",),
            lambda: AllToAll(
                bytes_per_second=model.bytes_per_second,
                exchange_bytes_per_second=exchange,
                latency_ns=model.latency_ns,
                sync_cycles=model.sync_cycles,
                cross_chip_permille=model.cross_chip_permille,
            ),
        )
    rows, columns = model.rows, model.columns
    if rows is None or columns is None:
        missing = "rows" if rows is None else "columns"
        document.refuse(
            f"links.{missing} is missing, topology mesh needs it", ("links",)
        )
    return _built(
        document,
        ("links",),
        lambda: Mesh2D(
            rows=rows,
            columns=columns,
            bytes_per_second=model.bytes_per_second,
            exchange_bytes_per_second=exchange,
            latency_ns=model.latency_ns,
            sync_cycles=model.sync_cycles,
        ),
    )


def chip_document(chip: Chip) -> dict[str, object]:
    """Return a chip as its file holds it; `chip_from` reads it back."""
    links: dict[str, object] = {
        "topology": "mesh" if isinstance(chip.links, Mesh2D) else "all-to-all",
        "bytes_per_second": chip.links.bytes_per_second,
        "exchange_bytes_per_second": chip.links.exchange_bytes_per_second,
        "latency_ns": chip.links.latency_ns,
        "sync_cycles": chip.links.sync_cycles,
    }
    if isinstance(chip.links, Mesh2D):
        links["rows"] = chip.links.rows
        links["columns"] = chip.links.columns
    elif chip.chips > 1:
        links["cross_chip_permille"] = chip.links.cross_chip_permille
    hbm: dict[str, object] = {
        "bytes_per_second": chip.hbm.bytes_per_second,
        "latency_ns": chip.hbm.latency_ns,
        "controllers": chip.hbm.controllers,
        "burst_bytes": chip.hbm.burst_bytes,
    }
    if chip.hbm.stripe_bytes:
        hbm["stripe_bytes"] = chip.hbm.stripe_bytes
    return {
        "chip": chip.name,
        "chips": chip.chips,
        "cores_per_chip": chip.cores_per_chip,
        "sram_bytes": chip.core.sram_bytes,
        "reserved_bytes": chip.core.reserved_bytes,
        "clock_hz": chip.clock_hz,
        "links": links,
        "hbm": hbm,
        "compute": {
            "mac_per_cycle": chip.core.mac_per_cycle,
            "vector_flop_per_cycle": chip.core.vector_flop_per_cycle,
        },
        "sram_port_bytes_per_cycle": chip.core.sram_port_bytes_per_cycle,
        "overlap_exchange": chip.overlap_exchange,
    }


def _refuse_keys_of_other_topologies(document: Document) -> None:
    links = document.at(("links",))
    if not isinstance(links, dict) or links.get("topology") not in _KEYS_OF:
        return
    for topology, keys in _KEYS_OF.items():
        for key in keys:
            if key in links and topology != links["topology"]:
                document.refuse(
                    f"links.{key} has no effect with topology {links['topology']}; "
                    "leave it out",
                    ("links", key),
                    code="no-effect",
                )
