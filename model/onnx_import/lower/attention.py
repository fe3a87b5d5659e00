"""Scaled dot-product attention: scores, softmax, mix; caches are read where they are.

Cached keys and values are never copied next to the new ones: the products with either
are operators of their own, which write their part of the scores, or add to the mix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from elkhound.model.graph import Access, Axis, Operator, OperatorKind, Pass
from elkhound.model.onnx_import.lower.operand import (
    UNINDEXED,
    Call,
    Operand,
    broadcast_access,
    grid,
    indexed,
)
from elkhound.model.passes import (
    COPY_PASSES,
    MATMUL_BIAS_PASSES,
    MATMUL_PASSES,
    SOFTMAX_PASSES,
    SOFTMAX_ROUNDS,
    TANH_PASSES,
)


@dataclass(frozen=True, slots=True)
class Heads:
    """Extents: batch, key heads, query heads of each, new queries."""

    batch: int
    heads: int
    group: int
    queries: int

    def sizes(self, **more: int) -> dict[str, int]:
        """Return a dimension per extent above 1, and the products' own."""
        rows = {"b": self.batch, "h": self.heads, "g": self.group}
        kept = {name: extent for name, extent in rows.items() if extent > 1}
        return {**kept, "m": self.queries, **more}


def attention(call: Call) -> tuple[Operator, ...]:
    """Lower elkhound::Attention; see expand/attention.py for its operands.

    scores[b, h, g, m, n] = Σₖ q[b, h, g, m, k] · K[b, h, n, k], softmax over n, then
    y[b, h, g, m, n] = Σₖ weights[b, h, g, m, k] · V[b, h, k, n].
    """
    query, key, value = call.first, call.second, _there(call.input(2))
    y, present_key, present_value, scores, weights = (
        call.outputs[index] for index in range(5)
    )
    batch, kv_heads = key.shape[:2]
    heads = Heads(batch, kv_heads, query.shape[1] // kv_heads, query.shape[2])
    cached = call.node.integer("cached", 0)
    caches = (call.input(3), call.input(4))
    parts: list[Operator] = []
    for name, operand, count in _sources(caches[0], key, cached):
        parts.append(
            _scores(call, name, heads, (query, operand, _there(scores)), count)
        )
    capped = call.outputs[6] if len(call.outputs) > 6 else None
    if capped is not None:
        parts.append(_cap(call, _there(scores), capped))
    parts.append(_softmax(call, capped or _there(scores), _there(weights)))
    mixed: Operand | None = None
    for name, operand, count in _sources(caches[1], value, cached):
        last = name == ""
        target = _there(y) if last else _there(call.outputs[5])
        operands = (_there(weights), operand, target)
        parts.append(_mix(call, name, heads, operands, count, mixed))
        mixed = target
    parts += _appended(call, (key, value), (present_key, present_value))
    return tuple(parts)


def _there(operand: Operand | None) -> Operand:
    if operand is None:
        raise ValueError("an operand is missing")
    return operand


def _sources(
    cache: Operand | None, new: Operand, cached: int
) -> list[tuple[str, Operand, int]]:
    """Return what holds keys or values: the cache first, then the new tokens."""
    found = [("", new, new.shape[2])]
    if cached and cache is not None:
        found.insert(0, (".cached", cache, cached))
    return found


def _rows(heads: Heads) -> list[Axis]:
    named = heads.sizes()
    return [indexed(n) if n in named else UNINDEXED for n in ("b", "h", "g")]


def _grouped(operand: Operand, heads: Heads, axes: Sequence[Axis]) -> Access:
    """Access (batch, query heads, …) as (batch, key heads, group, …)."""
    return operand.split(1, (heads.heads, heads.group)).access([*_rows(heads), *axes])


def _of_key_heads(operand: Operand, heads: Heads, axes: list[Axis]) -> Access:
    """Access keys or values; a cache of five axes holds both, half of it is read."""
    b, h, _ = _rows(heads)
    half = [UNINDEXED] if len(operand.shape) == 5 else []
    return operand.access([*half, b, h, *axes])


def _scores(
    call: Call,
    name: str,
    heads: Heads,
    operands: tuple[Operand, Operand, Operand],
    count: int,
) -> Operator:
    query, key, scores = operands
    m, n, k = indexed("m"), indexed("n"), indexed("k")
    operator = call.operator(
        OperatorKind.BATCHED_MATMUL,
        heads.sizes(n=count, k=query.shape[3]),
        [_grouped(query, heads, [m, k]), _of_key_heads(key, heads, [n, k])],
        _grouped(scores, heads, [m, n]),
        MATMUL_PASSES,
    )
    return replace(operator, name=f"{call.node.name}.scores{name}")


def _cap(call: Call, scores: Operand, capped: Operand) -> Operator:
    """Take c · tanh(x / c) of the scores."""
    sizes, axes = grid(scores.shape)
    operator = call.operator(
        OperatorKind.ACTIVATION,
        sizes or {"d0": 1},
        [scores.access(axes)],
        capped.access(axes),
        TANH_PASSES,
    )
    return replace(operator, name=f"{call.node.name}.cap")


def _softmax(call: Call, scores: Operand, weights: Operand) -> Operator:
    sizes, axes = grid(scores.shape)
    masks = [mask for mask in call.inputs[5:] if mask is not None and not mask.folded]
    adding = len(masks) - call.node.integer("lengths", 0)
    passes = (*(Pass.ELEMENTWISE,) * adding, *SOFTMAX_PASSES)
    operator = call.operator(
        OperatorKind.SOFTMAX,
        sizes or {"d0": 1},
        [scores.access(axes), *(_mask(mask, scores.shape, axes) for mask in masks)],
        weights.access(axes),
        passes,
        rows=("d3",) if "d3" in sizes else (),
        rounds=SOFTMAX_ROUNDS,
    )
    return replace(operator, name=f"{call.node.name}.softmax")


def _mask(mask: Operand, shape: Sequence[int], axes: Sequence[Axis]) -> Access:
    """Access a mask that broadcasts, or one with a row or a length per sequence."""
    batch, _, queries, tokens = shape
    spread = len(mask.shape) <= 4 and all(
        own in (1, whole)
        for own, whole in zip(mask.shape[::-1], shape[::-1], strict=False)
    )
    of_batch = mask.shape[:1] == (batch,) and len(mask.shape) <= 2
    if spread and not (of_batch and batch > 1 and queries != batch):
        return broadcast_access(mask, axes)
    if of_batch and mask.shape[1:] in ((), (1,), (tokens,)):
        row = [axes[0], axes[3] if mask.shape[1:] == (tokens,) else UNINDEXED]
        return mask.access(row[: len(mask.shape)])
    return Operand(mask.root, mask.shape, mask.order).access(
        [UNINDEXED] * len(mask.shape)
    )


def _mix(
    call: Call,
    name: str,
    heads: Heads,
    operands: tuple[Operand, Operand, Operand],
    count: int,
    before: Operand | None,
) -> Operator:
    weights, value, target = operands
    m, n, k = indexed("m"), indexed("n"), indexed("k")
    inputs = [_grouped(weights, heads, [m, k]), _of_key_heads(value, heads, [k, n])]
    if before is not None:
        inputs.append(_grouped(before, heads, [m, n]))
    operator = call.operator(
        OperatorKind.BATCHED_MATMUL,
        heads.sizes(n=value.shape[-1], k=count),
        inputs,
        _grouped(target, heads, [m, n]),
        MATMUL_PASSES if before is None else MATMUL_BIAS_PASSES,
    )
    return replace(operator, name=f"{call.node.name}.mix{name}")


def _appended(
    call: Call,
    new: tuple[Operand, Operand],
    present: tuple[Operand | None, Operand | None],
) -> list[Operator]:
    """Copy new keys and values behind the cached ones, which stay where they are."""
    copies = []
    for name, source, target in zip(("key", "value"), new, present, strict=True):
        if target is None:
            continue
        sizes, axes = grid(source.shape)
        whole = target.access(axes if len(target.shape) == 4 else [UNINDEXED, *axes])
        copied = call.operator(
            OperatorKind.COPY,
            sizes or {"d0": 1},
            [source.access(axes)],
            whole,
            COPY_PASSES,
        )
        copies.append(replace(copied, name=f"{call.node.name}.append_{name}"))
    return copies
