"""Names, bindings and phases of the built-in workloads."""

from __future__ import annotations

from collections.abc import Mapping

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.graph import Graph
from elkhound.model.workloads.catalogue import (
    CATALOGUE,
    DiffusionTransformer,
    LatentMixture,
    Model,
    Transformer,
)
from elkhound.model.workloads.decoder import decode_step, prefill
from elkhound.model.workloads.diffusion import denoising_step
from elkhound.model.workloads.mixture import mixture_decode_step, mixture_prefill
from elkhound.model.workloads.training import (
    diffusion_training_step,
    mixture_training_step,
    training_step,
)

_REQUIRED = ("batch", "seq")
_LARGEST = 2**24
_EXPERTS_AT_ONCE = 32


def workload_names() -> tuple[str, ...]:
    """Return the names that `build_workload` knows."""
    return tuple(CATALOGUE)


def workload_phases(name: str) -> tuple[str, ...]:
    """Return the phases of a workload; the first is the default."""
    match CATALOGUE[name]:
        case Transformer():
            return ("decode", "prefill", "training")
        case LatentMixture():
            return ("decode", "prefill", "training")
        case DiffusionTransformer():
            return ("denoise", "training")


def build_workload(
    name: str, bind: Mapping[str, int], phase: str | None = None
) -> Graph:
    """Return a built-in workload as a graph.

    Parameters
    ----------
    name : str
        One of `workload_names`.
    bind : mapping of str to int
        ``batch`` sequences (or images) of ``seq`` tokens (or patches) each;
        ``layers`` to build, all of the model's if absent. One layer still has
        embedding and head around it. ``experts_at_once`` of a mixture, 32 if absent.
        ``tensor_parallel`` chips to split decode and prefill of a dense model over.
    phase : str or None
        ``decode``: one new token per sequence, `seq` in the cache; ``prefill``: `seq`
        new tokens per sequence; ``training``: forward and backward over them;
        ``denoise``: one step of a diffusion transformer.
        None: the first of `workload_phases`.

    Raises
    ------
    BadInputError
        Unknown workload, phase or symbol, a symbol missing or out of range.
    """
    model = CATALOGUE.get(name)
    if model is None:
        raise BadInputError(
            f"no built-in workload is called {name!r}",
            code="unknown-workload",
            hint=nearest(name, list(CATALOGUE)),
        )
    phases = workload_phases(name)
    phase = phase or phases[0]
    if phase not in phases:
        raise BadInputError(
            f"workload {name}: phase {phase!r} does not exist",
            code="unknown-phase",
            hint=nearest(phase, list(phases)),
        )
    largest = {
        "batch": _LARGEST,
        "seq": _longest(model, phase),
        "layers": model.layers,
    }
    if isinstance(model, LatentMixture):
        largest["experts_at_once"] = model.experts
    if isinstance(model, Transformer) and phase != "training":
        largest["tensor_parallel"] = model.kv_heads
    _check(name, bind, largest)
    batch, seq = bind["batch"], bind["seq"]
    layers = bind.get("layers", model.layers)
    title = f"{name} {phase} batch={batch} seq={seq} layers={layers}"
    match model:
        case DiffusionTransformer():
            step = diffusion_training_step if phase == "training" else denoising_step
            return step(title, model, batch=batch, tokens=seq, layers=layers)
        case LatentMixture():
            group = bind.get("experts_at_once", _EXPERTS_AT_ONCE)
            if phase == "decode":
                return mixture_decode_step(
                    title, model, batch=batch, cached=seq, layers=layers, group=group
                )
            run = mixture_training_step if phase == "training" else mixture_prefill
            return run(
                title, model, batch=batch, tokens=seq, layers=layers, group=group
            )
        case Transformer():
            if (chips := bind.get("tensor_parallel", 1)) > 1:
                model = _part(name, model, chips)
                title = f"{title} tensor_parallel={chips}"
            if phase == "prefill":
                return prefill(title, model, batch=batch, tokens=seq, layers=layers)
            if phase == "training":
                return training_step(
                    title, model, batch=batch, tokens=seq, layers=layers
                )
            return decode_step(title, model, batch=batch, cached=seq, layers=layers)


def _part(name: str, model: Transformer, chips: int) -> Transformer:
    """Return one chip's part of a model whose heads, columns and width divide."""
    for what, count in (
        ("heads", model.heads),
        ("kv_heads", model.kv_heads),
        ("ffn columns", model.ffn),
        ("hidden columns", model.hidden),
    ):
        if count % chips:
            raise BadInputError(
                f"workload {name}: tensor_parallel is {chips}, must divide the "
                f"{count} {what}",
                code="bad-value",
            )
    return model.on_chips(chips)


def _longest(model: Model, phase: str) -> int:
    """Return the largest `seq`: every new token needs its row of learned positions."""
    if phase in ("prefill", "training") and isinstance(model, Transformer):
        return model.learned_positions or _LARGEST
    return _LARGEST


def _check(name: str, bind: Mapping[str, int], largest: Mapping[str, int]) -> None:
    for symbol, value in bind.items():
        if symbol not in largest:
            raise BadInputError(
                f"workload {name}: unknown symbol {symbol!r} to bind",
                code="unknown-symbol",
                hint=nearest(symbol, list(largest)),
            )
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        if not is_integer or not 1 <= value <= largest[symbol]:
            raise BadInputError(
                f"workload {name}: {symbol} is {value!r}, must be an integer from 1 "
                f"to {largest[symbol]}",
                code="bad-value",
            )
    missing = [symbol for symbol in _REQUIRED if symbol not in bind]
    if missing:
        raise BadInputError(
            f"workload {name}: {' and '.join(missing)} must be bound",
            code="unbound-symbol",
            hint="as in --bind batch=32,seq=2048",
        )
