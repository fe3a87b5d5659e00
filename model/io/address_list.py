"""Addresses in plan and program files: one mapping per buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from elkhound.model.io.document import Document, KeyPath
from elkhound.model.io.plan_models import AddressModel
from elkhound.model.io.validate import built
from elkhound.model.placement import Addresses, Buffer


def address_documents(addresses: Addresses) -> list[dict[str, object]]:
    """Return each buffer with its offset, as files hold it."""
    return [
        {**asdict(buffer), "offset": offset}
        for buffer, offset in zip(addresses.buffers, addresses.offsets, strict=True)
    ]


def addresses_from(
    document: Document, key_path: KeyPath, models: Sequence[AddressModel]
) -> Addresses:
    """Return the addresses that stand at a place of a document."""
    buffers = []
    seen: set[str] = set()
    for index, model in enumerate(models):
        if model.name in seen:
            document.refuse(
                f"{document.spell(key_path)}: two are called {model.name}",
                (*key_path, index, "name"),
            )
        seen.add(model.name)
        fields = {k: v for k, v in dict(model).items() if k != "offset"}
        make = partial(Buffer, **fields)
        buffers.append(built(document, (*key_path, index), make))
    return Addresses(tuple(buffers), tuple(model.offset for model in models))
