"""What attributes may be, checked once: everything after it trusts their values.

Attributes of standard operators are held against onnx's schemas where the file is read
(worker.py). Here come ranges, and types of what operators of com.microsoft have; others
are refused where they are read (`Node.attribute`), so that none is silently left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.onnx_import.source import Node

LARGEST = 10**9
PLURAL = {"an integer": "integers", "a number": "numbers"}


@dataclass(frozen=True, slots=True)
class Range:
    """Legal values of an attribute.

    Parameters
    ----------
    kind : str
        ``an integer``, ``a number`` or ``a text``.
    least, most : int
        Of every number.
    among : tuple of int or str
        The only ones, where they are few.
    several : bool
        Whether it is a list.
    """

    kind: str = "an integer"
    least: int = 1
    most: int = LARGEST
    among: tuple[int | str, ...] = ()
    several: bool = False

    def __str__(self) -> str:
        if self.among:
            return "one of " + ", ".join(str(legal) for legal in self.among)
        kind = PLURAL[self.kind] if self.several else self.kind
        if self.kind != "an integer":
            return kind
        names = {LARGEST: "10^9", -LARGEST: "-10^9"}
        least, most = (names.get(n, str(n)) for n in (self.least, self.most))
        return f"{kind} from {least} to {most}"

    @property
    def type(self) -> str:
        """ONNX's name of the type."""
        one = {"an integer": "INT", "a number": "FLOAT", "a text": "STRING"}[self.kind]
        return one + "S" * self.several

    def holds(self, value: object) -> bool:
        """Tell whether a value of the right type is legal."""
        if isinstance(value, (list, tuple)):
            return all(map(self._holds_one, value))
        return self._holds_one(value)

    def _holds_one(self, value: object) -> bool:
        if self.among:
            return value in self.among
        if self.kind == "a number":
            return isinstance(value, (int, float)) and math.isfinite(value)
        return not isinstance(value, int) or self.least <= value <= self.most


def _among(*legal: int | str) -> Range:
    kind = "a text" if isinstance(legal[0], str) else "an integer"
    return Range(kind, among=legal)


COUNT, NUMBER, FLAG = Range(), Range("a number"), _among(0, 1)
INTEGER, TEXT = Range(least=-(2**63), most=2**63), Range("a text")
OPTIONAL_COUNT = Range(least=0)
COUNTS = Range(several=True)

RANGES: Mapping[str, Range] = {  # by name, whatever the operator
    "N": COUNT,
    "K": COUNT,
    "auto_pad": _among("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
    "batch_dims": OPTIONAL_COUNT,
    "bits": _among(2, 4, 8),
    "block_size": OPTIONAL_COUNT,
    "expert_weight_bits": _among(4, 8),
    "blocksize": COUNT,
    "dilations": COUNTS,
    "direction": _among("forward", "reverse", "bidirectional"),
    "do_rotary": FLAG,
    "group": COUNT,
    "groups": COUNT,
    "hidden_size": COUNT,
    "interleaved": FLAG,
    "k": COUNT,
    "kernel_shape": COUNTS,
    "kv_num_heads": COUNT,
    "layout": FLAG,
    "linear_before_reset": FLAG,
    "local_window_size": Range(least=-1),
    "num_groups": COUNT,
    "num_heads": COUNT,
    "num_outputs": COUNT,
    "num_scan_inputs": COUNT,
    "output_height": COUNT,
    "output_padding": Range(least=0, several=True),
    "pads": Range(least=-LARGEST, several=True),
    "output_width": COUNT,
    "q_num_heads": COUNT,
    "rotary_interleaved": FLAG,
    "sampling_ratio": OPTIONAL_COUNT,
    "scale": NUMBER,
    "size": COUNT,
    "softcap": NUMBER,
    "strides": COUNTS,
    "transA": FLAG,
    "transB": FLAG,
    "transBatchA": FLAG,
    "transBatchB": FLAG,
    "unidirectional": FLAG,
}
OWN: Mapping[str, Mapping[str, Range]] = {  # where an operator differs
    "RotaryEmbedding": {"num_heads": OPTIONAL_COUNT},
    "com.microsoft::RotaryEmbedding": {"num_heads": OPTIONAL_COUNT},
    "ScatterElements": {"reduction": _among("none", "add", "mul", "max", "min")},
    "ScatterND": {"reduction": _among("none", "add", "mul", "max", "min")},
    "NegativeLogLikelihoodLoss": {"reduction": _among("none", "sum", "mean")},
    "SoftmaxCrossEntropyLoss": {"reduction": _among("none", "sum", "mean")},
    "SimplifiedLayerNormalization": {"axis": INTEGER, "epsilon": NUMBER},
    "com.microsoft::GatherBlockQuantized": {"block_size": COUNT},
    "com.microsoft::GroupNorm": {"activation": INTEGER},
    "com.microsoft::MatMulNBits": {"block_size": COUNT},
    "com.microsoft::SkipGroupNorm": {"activation": INTEGER},
}
INTEGERS = frozenset(
    {"accuracy_level", "axis", "ceil_mode", "channels_last", "count_include_pad"}
    | {"gather_axis", "group_size", "is_bidirectional", "is_packed_batching"}
    | {"mask_index_type", "max_distance", "normalize_routing_weights"}
    | {"past_present_share_buffer", "qk_output", "quantize_axis"}
    | {"rotary_embedding_dim", "smooth_softmax", "stash_type", "storage_order"}
    | {"swiglu_fusion", "use_sparse_mixer", "weight_prepacked"}
)
NUMBERS = frozenset(
    {"activation_alpha", "activation_beta", "activation_gamma", "alpha", "beta"}
    | {"epsilon", "mask_filter_value", "swiglu_limit"}
)
TYPES: Mapping[str, Range] = {  # of operators of com.microsoft, whatever the value
    **dict.fromkeys(INTEGERS, INTEGER),
    **dict.fromkeys(NUMBERS, NUMBER),
    **dict.fromkeys(("activation", "activation_type", "group_type"), TEXT),
    "activation_params": Range("a number", several=True),
    "qkv_hidden_sizes": COUNTS,
}
REQUIRED: Mapping[str, tuple[str, ...]] = {  # of operators that onnx has no schema of
    "com.microsoft::Attention": ("num_heads",),
    "com.microsoft::GroupQueryAttention": ("num_heads", "kv_num_heads"),
    "com.microsoft::MatMulNBits": ("K", "N", "block_size"),
    "com.microsoft::QAttention": ("num_heads",),
    "com.microsoft::MultiHeadAttention": ("num_heads",),
}


def check_attributes(node: Node) -> None:
    """Refuse a node whose attributes cannot be, naming value and legal range."""
    for name in REQUIRED.get(node.op, ()):
        if name not in node.attributes:
            raise BadInputError(
                f"node {node.name} ({node.op}): lacks attribute {name}, "
                f"{_range(node, name)}",
                code="bad-attribute",
            )
    for name in node.attributes:
        legal = _range(node, name)
        value = None if legal is None else node.attribute(name, legal.type)
        if legal is None or value is None or legal.holds(value):
            continue
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        texts = [word for word in legal.among if isinstance(word, str)]
        hint = nearest(value, texts) if texts and isinstance(value, str) else ""
        raise BadInputError(
            f"node {node.name} ({node.op}): attribute {name} is {shown}, "
            f"must be {legal}",
            code="bad-attribute",
            hint=hint if hint.startswith("did") else "",
        )


def _range(node: Node, name: str) -> Range | None:
    found = OWN.get(node.op, {}).get(name) or RANGES.get(name)
    if found is None and node.op.startswith("com.microsoft::"):
        return TYPES.get(name)
    return found
