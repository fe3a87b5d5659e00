"""Attention operators: projections, heads, positions, then elkhound::Attention.

The internal operator takes queries, keys and values as (batch, heads, tokens, width),
cached keys and values, a mask and sequence lengths; see lower/attention.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from elkhound.model.onnx_import.expand.expansion import Expansion
from elkhound.model.onnx_import.source import Value

HEADS_FIRST = (0, 2, 1, 3)


@dataclass(frozen=True, slots=True)
class Parts:
    """Operands of one attention, empty where absent.

    Parameters
    ----------
    query, key, value : str
        (batch, heads, tokens, width each).
    past_key, past_value : str
        Caches; one name twice where both are in one tensor, keys first.
    masks : tuple of str
        What is added to the scores, or says which of them count.
    lengths : tuple of str
        Tokens of each sequence: they end loops and are read, but take no pass.
    """

    query: str
    key: str
    value: str
    past_key: str = ""
    past_value: str = ""
    masks: tuple[str, ...] = ()
    lengths: tuple[str, ...] = ()


def attend(
    do: Expansion,
    parts: Parts,
    *,
    output: str,
    present: Sequence[str] = ("", ""),
    capped: bool = False,
    most_cached: int | None = None,
) -> None:
    """Write the attention itself.

    Parameters
    ----------
    do : Expansion
        The composite operator.
    parts : Parts
        Operands.
    output : str
        (batch, heads, tokens, width).
    present : sequence of str
        Outputs that extend the caches.
    capped : bool
        Scores pass through a tanh.
    most_cached : int or None
        Cached tokens attended to at most; None for all.
    """
    batch, heads, tokens, _ = do.shape(parts.query)
    _, kv_heads, new, _ = do.shape(parts.key)
    width = do.shape(parts.value)[3]
    cached = _cached(do, parts, most_cached)
    if heads % kv_heads:
        raise ValueError(f"{heads} query heads over {kv_heads} key heads")
    lengths = [n for n in parts.lengths if n and not do.value(n).constant]
    dtype = do.value(parts.query).dtype
    scores = Value(dtype, (batch, heads, tokens, cached + new))
    names = [do.parameter(name, scores) for name in ("scores", "weights")]
    part = Value(dtype, (batch, heads, tokens, width))
    names.append(do.parameter("cached", part) if cached else "")
    names.append(do.parameter("capped", scores) if capped else "")
    do.emit(
        "elkhound::Attention",
        [
            *(parts.query, parts.key, parts.value),
            *(parts.past_key, parts.past_value),
            *parts.masks,
            *lengths,
        ],
        "",
        {"cached": cached, "lengths": len(lengths)},
        outputs=[output, *present, *names],
    )


def _cached(do: Expansion, parts: Parts, most: int | None) -> int:
    """Return the cached tokens that are attended to."""
    if not parts.past_key or 0 in do.shape(parts.past_key):
        return 0
    cached = do.shape(parts.past_key)[-2]
    return cached if most is None else min(cached, most)


def split_heads(do: Expansion, name: str, heads: int, suffix: str) -> str:
    """(batch, tokens, heads · width) → (batch, heads, tokens, width); views."""
    batch, tokens, hidden = do.shape(name)
    if heads < 1 or hidden % heads:
        raise ValueError(f"a width of {hidden} over {heads} heads")
    apart = do.reshape(name, (batch, tokens, heads, hidden // heads), f"{suffix}.heads")
    return do.transpose(apart, HEADS_FIRST, f"{suffix}.heads_first")


def merge_heads(do: Expansion, name: str) -> None:
    """(batch, heads, tokens, width) → the first output; views."""
    batch, heads, tokens, width = do.shape(name)
    apart = do.transpose(name, HEADS_FIRST, "tokens_first")
    do.reshape(apart, (batch, tokens, heads * width), "merged", output=do.output(0))


def packed_attention(do: Expansion) -> None:
    """com.microsoft::Attention: one projection to Q, K and V, then attention."""
    source, weights, bias = do.name(0), do.name(1), do.given(2)
    heads = do.node.integer("num_heads", 0)
    widths = do.node.integers("qkv_hidden_sizes") or (do.shape(weights)[1] // 3,) * 3
    projected = do.emit("MatMul", [source, weights], "qkv")
    if bias:
        projected = do.emit("Add", [projected, bias], "qkv_bias")
    q, k, v = (
        split_heads(do, part, heads, part_name)
        for part, part_name in zip(
            do.split(projected, widths, 2, "part"), "qkv", strict=True
        )
    )
    past = do.given(4)
    if past and len(do.shape(past)) != 5:
        raise ValueError(f"past {list(do.shape(past))} is not (2, batch, heads, …)")
    y = do.fresh("heads")
    masks = tuple(filter(None, (do.given(3), do.given(5))))
    parts = Parts(q, k, v, past, past, masks)
    attend(do, parts, output=y, present=_packed_present(do, past, k))
    merge_heads(do, y)


def _packed_present(do: Expansion, past: str, key: str) -> tuple[str, str]:
    """Declare the one output that extends both caches."""
    name = do.output(1)
    if name:
        batch, heads, new, width = do.shape(key)
        cached = do.shape(past)[3] if past else 0
        shape = (2, batch, heads, cached + new, width)
        do.declare(name, Value(do.value(key).dtype, shape))
    return name, name


def multi_head(do: Expansion) -> None:
    """com.microsoft::MultiHeadAttention: Q, K, V apart, or packed, and a bias."""
    heads = do.node.integer("num_heads", 0)
    names = [do.name(0), do.given(1), do.given(2)]
    if len(do.shape(names[0])) == 5:  # (batch, tokens, heads, 3, width)
        names = _unpacked(do, names[0], 3)
    elif len(do.shape(names[1])) == 5:
        names = [names[0], *_unpacked(do, names[1], 2)]
    bias = do.given(3)
    if bias:
        names = _biased(do, names, bias)
    q, k, v = (
        name if len(do.shape(name)) == 4 else split_heads(do, name, heads, part)
        for name, part in zip(names, "qkv", strict=True)
    )
    y = do.fresh("heads")
    present = _present(do, k, v, do.given(6), do.given(7))
    parts = Parts(
        q, k, v, do.given(6), do.given(7), tuple(filter(None, map(do.given, (4, 5))))
    )
    attend(do, parts, output=y, present=present)
    merge_heads(do, y)


def _unpacked(do: Expansion, name: str, count: int) -> list[str]:
    batch, tokens, heads, _, width = do.shape(name)
    parts = do.split(name, (1,) * count, 3, "packed")
    return [
        do.reshape(part, (batch, tokens, heads * width), f"packed{index}.flat")
        for index, part in enumerate(parts)
    ]


def _biased(do: Expansion, names: list[str], bias: str) -> list[str]:
    widths = [do.shape(name)[-1] for name in names]
    parts = do.split(bias, widths, 0, "bias")
    return [
        do.emit("Add", [name, part], f"biased{index}")
        if len(do.shape(name)) == 3
        else name
        for index, (name, part) in enumerate(zip(names, parts, strict=True))
    ]


def grouped_query(do: Expansion) -> None:
    """com.microsoft::GroupQueryAttention: several query heads share K and V."""
    node = do.node
    heads, kv_heads = node.integer("num_heads", 0), node.integer("kv_num_heads", 0)
    names = [do.name(0), do.given(1), do.given(2)]
    width = do.shape(names[0])[2] // (heads + 2 * kv_heads)
    packed = not all(names) or len(do.shape(names[1])) != 3
    if packed:
        extents = (heads * width, kv_heads * width, kv_heads * width)
        names = do.split(names[0], extents, 2, "part")
    q, k, v = (
        split_heads(do, name, count, part)
        for name, count, part in zip(
            names, (heads, kv_heads, kv_heads), "qkv", strict=True
        )
    )
    if node.integer("do_rotary", 0):
        q, k = (_rotated(do, name, part) for name, part in ((q, "q"), (k, "k")))
    past_key, past_value = do.given(3), do.given(4)
    new, total = do.shape(k)[2], _total(do)
    limits = [] if total is None else [max(total - new, 0)]
    if node.integer("local_window_size", -1) > 0:
        limits.append(max(node.integer("local_window_size", -1) - new, 0))
    y = do.fresh("heads")
    masks = tuple(filter(None, (do.given(10),)))
    parts = Parts(q, k, v, past_key, past_value, masks, (do.given(5),))
    attend(
        do,
        parts,
        output=y,
        present=_present(do, k, v, past_key, past_value, total),
        capped=node.number("softcap", 0.0) > 0,
        most_cached=min(limits, default=None),
    )
    merge_heads(do, y)


def _total(do: Expansion) -> int | None:
    """Return the tokens in cache and new, where the file says; buffers are longer."""
    name = do.given(6)
    data = do.value(name).data if name else None
    return None if data is None else int(data.reshape(-1)[0])


def _rotated(do: Expansion, name: str, part: str) -> str:
    positions = do.given(9)
    if not positions:
        positions = do.constant(f"{part}.positions", [0])
    return do.emit(
        "com.microsoft::RotaryEmbedding",
        [name, positions, do.name(7), do.name(8)],
        f"{part}.rope",
        {"interleaved": do.node.integer("rotary_interleaved", 0)},
    )


def _present(
    do: Expansion,
    k: str,
    v: str,
    past_key: str,
    past_value: str,
    total: int | None = None,
) -> tuple[str, str]:
    """Declare the outputs that extend the caches, those that are asked for."""
    for name, new, past in (
        (do.output(1), k, past_key),
        (do.output(2), v, past_value),
    ):
        if name:
            batch, heads, tokens, width = do.shape(new)
            cached = do.shape(past)[2] if past else 0
            extent = cached + tokens if total is None else max(cached, total)
            shape = (batch, heads, max(extent, tokens), width)
            do.declare(name, Value(do.value(new).dtype, shape))
    return do.output(1), do.output(2)


def standard(do: Expansion) -> None:
    """Attention of opset 23: operands of three or four axes, grouped heads."""
    node = do.node
    names = [do.name(0), do.name(1), do.name(2)]
    flat = len(do.shape(names[0])) == 3
    if flat:
        counts = (
            node.integer("q_num_heads", 0),
            *[node.integer("kv_num_heads", 0)] * 2,
        )
        names = [
            split_heads(do, name, count, part)
            for name, count, part in zip(names, counts, "qkv", strict=True)
        ]
    q, k, v = names
    if do.output(3):
        raise ValueError("its fourth output, the scores, cannot be planned")
    past_key, past_value = do.given(4), do.given(5)
    y = do.fresh("heads") if flat else do.output(0)
    masks = tuple(filter(None, (do.given(3),)))
    parts = Parts(q, k, v, past_key, past_value, masks, (do.given(6),))
    attend(
        do,
        parts,
        output=y,
        present=_present(do, k, v, past_key, past_value),
        capped=node.number("softcap", 0.0) > 0,
    )
    if flat:
        merge_heads(do, y)


EXPANSIONS: Mapping[str, Callable[[Expansion], None]] = {
    "Attention": standard,
    "com.microsoft::Attention": packed_attention,
    "com.microsoft::GroupQueryAttention": grouped_query,
    "com.microsoft::MultiHeadAttention": multi_head,
}
