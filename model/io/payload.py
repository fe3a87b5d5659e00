"""Payloads of chosen options, as plan files hold them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from elkhound.model.io.document import Document
from elkhound.model.io.plan_models import OptionPayloadModel, PayloadModel
from elkhound.model.schedule import (
    MemberWork,
    OptionPayload,
    Schedule,
    ScheduleOption,
    ScheduleProblem,
    TensorSplit,
)

_COPIED = (
    "execute_bytes",
    "preload_bytes",
    "distribute_cycles",
    "compute_cycles",
    "exchange_cycles",
)


def payload_document(index: int, option: ScheduleOption) -> dict[str, object] | None:
    """Return what a plan file says about an option; None if it has no payload."""
    if option.payload is None:
        return None
    return {
        "option": index,
        **option_payload_document(option.payload),
        **{key: getattr(option, key) for key in _COPIED},
    }


def option_payload_document(payload: OptionPayload) -> dict[str, object]:
    """Return a payload as files hold it; `payload_from` reads it back."""
    document: dict[str, object] = {
        "splits": dict(payload.splits),
        "sizes": dict(payload.sizes),
        "tensors": [_tensor_document(tensor) for tensor in payload.tensors],
        "cores_used": payload.cores_used,
        "steps": payload.steps,
        "syncs": payload.syncs,
        "hbm_bytes": payload.hbm_bytes,
        "exchange_bytes": payload.exchange_bytes,
        "distribute_bytes": payload.distribute_bytes,
    }
    if payload.members:
        document["chunks"] = payload.chunks
        document["members"] = [
            {
                "name": member.name,
                "compute_cycles": member.compute_cycles,
                "exchange_cycles": member.exchange_cycles,
                **option_payload_document(member.payload),
            }
            for member in payload.members
        ]
    return document


def with_payloads(
    document: Document,
    problem: ScheduleProblem,
    plan: Schedule,
    models: Sequence[PayloadModel | None],
) -> ScheduleProblem:
    """Return the problem with payloads put on the plan's options.

    A payload that describes another option than the plan takes (the plan was edited)
    does not apply and is left out.

    Raises
    ------
    BadInputError
        There is not one payload per operator, or one contradicts its option.
    """
    if len(models) != len(problem.operators):
        document.refuse(
            f"payload has {len(models)} entries, must have {len(problem.operators)}, "
            "one per operator",
            ("payload",),
        )
    operators = list(problem.operators)
    for index, (model, choice) in enumerate(zip(models, plan.options, strict=True)):
        if model is None or model.option != choice:
            continue
        operator = operators[index]
        option = operator.options[choice]
        _refuse_contradiction(document, index, operator.name, option, model)
        _require_sizes_of_splits(document, index, operator.name, model)
        options = list(operator.options)
        options[choice] = dataclasses.replace(option, payload=payload_from(model))
        operators[index] = dataclasses.replace(operator, options=tuple(options))
    return dataclasses.replace(problem, operators=tuple(operators))


def _refuse_contradiction(
    document: Document,
    index: int,
    name: str,
    option: ScheduleOption,
    model: PayloadModel,
) -> None:
    for key in _COPIED:
        if getattr(model, key) != getattr(option, key):
            document.refuse(
                f"operator {name}: its payload says {key} is {getattr(model, key)}, "
                f"must be {getattr(option, key)} as in option {model.option}",
                ("payload", index, key),
            )


def _require_sizes_of_splits(
    document: Document, index: int, name: str, model: PayloadModel
) -> None:
    if model.sizes and list(model.sizes) != list(model.splits):
        document.refuse(
            f"operator {name}: sizes name {', '.join(model.sizes)}, must name the "
            f"dimensions of splits in their order: {', '.join(model.splits)}",
            ("payload", index, "sizes"),
        )


def payload_from(model: OptionPayloadModel) -> OptionPayload:
    """Return the payload a file describes."""
    return OptionPayload(
        splits=tuple(model.splits.items()),
        tensors=tuple(
            TensorSplit(t.tensor, tuple(t.rotation.items()), t.preload_share)
            for t in model.tensors
        ),
        cores_used=model.cores_used,
        steps=model.steps,
        syncs=model.syncs,
        hbm_bytes=model.hbm_bytes,
        exchange_bytes=model.exchange_bytes,
        distribute_bytes=model.distribute_bytes,
        sizes=tuple(model.sizes.items()),
        members=tuple(
            MemberWork(
                member.name,
                member.compute_cycles,
                member.exchange_cycles,
                payload_from(member),
            )
            for member in model.members
        ),
        chunks=model.chunks,
    )


def _tensor_document(tensor: TensorSplit) -> dict[str, object]:
    return {
        "tensor": tensor.tensor,
        "rotation": dict(tensor.rotation),
        "preload_share": tensor.preload_share,
    }
