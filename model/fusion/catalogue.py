"""Built-in fusion workloads."""

from __future__ import annotations

from collections.abc import Mapping

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.fusion.equation import parse_equation
from elkhound.model.fusion.workload import FusionWorkload

# name -> heads; per-head width, model width and feed-forward width (Brown et al. 2020)
_GPT_3 = {"gpt-3-6.7b": (32, 128, 4096, 16384), "gpt-3-175b": (96, 128, 12288, 49152)}
_LLAMA_3_8B = {"h": 8, "r": 4, **dict.fromkeys("ef", 128), "c": 14336}
_LLAMA_3_8B_WIDTH = 4096  # of the model (Grattafiori et al. 2024, table 3)
_CHAIN_WIDTHS = (16384, 16384, 4096, 4096)

# name -> symbols with defaults
SYMBOLS: dict[str, dict[str, int]] = {
    "matvecs": {"bits": 8},
    "matmuls": {"einsums": 2, "m": 64, "width": 64, "bits": 8},
    "three-matmuls": {"bits": 8},
    "chain": {"einsums": 2, "bits": 8},
    **{
        name: {"batch": 1, "new_tokens": 256, "cached_tokens": 0, "bits": 16}
        for name in (*_GPT_3, "llama-3-8b")
    },
    "mobilenet-block": {"width": 56, "channels": 24, "expansion": 6, "bits": 8},
}
"""Symbols of every built-in fusion workload, with their defaults."""


def fusion_workload(name: str, bind: Mapping[str, int] | None = None) -> FusionWorkload:
    """Return a built-in workload.

    Parameters
    ----------
    name : str
        A key of `SYMBOLS`.
    bind : mapping of str to int, optional
        Values of its symbols; the defaults for what is left out. `cached_tokens` above
        0 makes a decode step of `new_tokens` over that many cached ones; 0 is prefill.

    Raises
    ------
    BadInputError
        An unknown name or symbol, or a value below its range.
    """
    if name not in SYMBOLS:
        raise BadInputError(
            f"no fusion workload is called {name!r}",
            code="unknown-workload",
            hint=nearest(name, list(SYMBOLS)),
        )
    values = dict(SYMBOLS[name])
    for symbol, value in (bind or {}).items():
        if symbol not in values:
            raise BadInputError(
                f"workload {name} has no symbol {symbol}",
                code="unknown-symbol",
                hint=nearest(symbol, list(values)),
            )
        least = 0 if symbol == "cached_tokens" else 1
        if value < least:
            raise BadInputError(f"{symbol} is {value}, must be at least {least}")
        values[symbol] = value
    if name == "matvecs":
        return matvecs(**values)
    if name == "matmuls":
        return matmuls(**values)
    if name == "three-matmuls":
        return three_matmuls(**values)
    if name == "chain":
        return chain(**values)
    if name == "llama-3-8b":
        return llama_3_layer(**values)
    if name == "mobilenet-block":
        return mobilenet_block(**values)
    return gpt_3_layer(name, **values)


def matvecs(bits: int = 8) -> FusionWorkload:
    """Return two matrix–vector products (paper figure 2)."""
    equations = ("Y[ny] = A[na] * B[na,ny]", "Z[nz] = Y[ny] * C[ny,nz]")
    return _workload("matvecs", equations, {"na": 4, "ny": 3, "nz": 4}, bits)


def matmuls(
    einsums: int = 2, m: int = 64, width: int = 64, bits: int = 8
) -> FusionWorkload:
    """Return a chain of matmuls, each of m × width by width × width."""
    sizes = {"m": m} | {f"n{i}": width for i in range(einsums + 1)}
    return _workload("matmuls", _matmul_equations(einsums, 0), sizes, bits)


def three_matmuls(bits: int = 8) -> FusionWorkload:
    """Return three matmuls of 128 × 128 × 128 whose weights persist."""
    sizes = {"m": 128} | {f"n{i}": 128 for i in range(4)}
    equations = _matmul_equations(3, 1)
    weights = ("W0", "W1", "W2")
    return _workload("three-matmuls", equations, sizes, bits, weights)


def chain(einsums: int = 2, bits: int = 8) -> FusionWorkload:
    """Return the chain of the paper's scaling study (§7.5): 8192 rows, four widths."""
    sizes = {"m": 8192}
    for i in range(einsums + 1):
        sizes[f"n{i}"] = _CHAIN_WIDTHS[i % len(_CHAIN_WIDTHS)]
    return _workload("chain", _matmul_equations(einsums, 0), sizes, bits)


def gpt_3_layer(
    name: str, batch: int, new_tokens: int, cached_tokens: int = 0, bits: int = 16
) -> FusionWorkload:
    """Return one layer of GPT-3 as ten einsums.

    Rank variables: batch b, token m, attended token p, head h, per-head e and f, model
    d, g and j, feed-forward c. In a decode step, K and V of cached tokens are inputs.
    """
    heads, width, model, feed_forward = _GPT_3[name]
    decode = cached_tokens > 0
    sizes = {
        "b": batch,
        "m": new_tokens,
        "p": cached_tokens if decode else new_tokens,
        "h": heads,
        **dict.fromkeys("ef", width),
        **dict.fromkeys("dgj", model),
        "c": feed_forward,
    }
    projections = (
        "V[b,m,h,e] = I[b,m,d] * WV[d,h,e]",
        "K[b,m,h,e] = I[b,m,d] * WK[d,h,e]",
    )
    equations = (
        "I[b,m,d] = copy I_in[b,m,d]",
        *(() if decode else projections),
        "Q[b,m,h,e] = I[b,m,d] * WQ[d,h,e]",
        "QK[b,m,p,h] = Q[b,m,h,e] * K[b,p,h,e]",
        "QK_softmax[b,m,p,h] = QK[b,m,p,h]",
        "AV[b,m,h,f] = QK_softmax[b,m,p,h] * V[b,p,h,f]",
        "Z[b,m,g] = AV[b,m,h,f] * WZ[h,f,g]",
        "FFA[b,m,c] = Z[b,m,g] * WFFA[g,c]",
        "FFB[b,m,j] = FFA[b,m,c] * WFFB[c,j]",
    )
    weights = ("WV", "WK", "WQ", "WZ", "WFFA", "WFFB")[2 * decode :]
    return _workload(name, equations, sizes, bits, weights)


def llama_3_layer(
    batch: int, new_tokens: int, cached_tokens: int = 0, bits: int = 16
) -> FusionWorkload:
    """Return one layer of Llama 3 8B, with the einsums that GPT-3's layer has.

    Norms, rotary embedding, residuals and the activation inside the gate are left out,
    as there. Head h is one of keys and values, r one of its four query heads.
    """
    decode = cached_tokens > 0
    sizes = {
        "b": batch,
        "m": new_tokens,
        "p": cached_tokens if decode else new_tokens,
        **_LLAMA_3_8B,
        **dict.fromkeys("dgj", _LLAMA_3_8B_WIDTH),
    }
    projections = (
        "V[b,m,h,e] = I[b,m,d] * WV[d,h,e]",
        "K[b,m,h,e] = I[b,m,d] * WK[d,h,e]",
    )
    equations = (
        "I[b,m,d] = copy I_in[b,m,d]",
        *(() if decode else projections),
        "Q[b,m,h,r,e] = I[b,m,d] * WQ[d,h,r,e]",
        "QK[b,m,p,h,r] = Q[b,m,h,r,e] * K[b,p,h,e]",
        "QK_softmax[b,m,p,h,r] = QK[b,m,p,h,r]",
        "AV[b,m,h,r,f] = QK_softmax[b,m,p,h,r] * V[b,p,h,f]",
        "Z[b,m,g] = AV[b,m,h,r,f] * WZ[h,r,f,g]",
        "Gate[b,m,c] = Z[b,m,g] * WGate[g,c]",
        "Up[b,m,c] = Z[b,m,g] * WUp[g,c]",
        "Gated[b,m,c] = Up[b,m,c] * Gate[b,m,c]",
        "Down[b,m,j] = Gated[b,m,c] * WDown[c,j]",
    )
    weights = ("WV", "WK", "WQ", "WZ", "WGate", "WUp", "WDown")[2 * decode :]
    return _workload("llama-3-8b", equations, sizes, bits, weights)


def mobilenet_block(
    width: int, channels: int, expansion: int, bits: int = 8
) -> FusionWorkload:
    """Return an inverted residual block: expand, 3 × 3 depthwise, project.

    Parameters
    ----------
    width : int
        Rows p and columns q of the block's output; the expanded image has two more of
        each, x and y, its border included.
    channels, expansion : int
        Channels in and out, and how many times as many lie between.
    bits : int
        Per value.
    """
    sizes = {
        **dict.fromkeys("xy", width + 2),
        **dict.fromkeys("pq", width),
        **dict.fromkeys("rs", 3),
        **dict.fromkeys("io", channels),
        "c": channels * expansion,
    }
    equations = (
        "Expanded[x,y,c] = Image[x,y,i] * WExpand[i,c]",
        "Filtered[p,q,c] = Expanded[p+r,q+s,c] * WFilter[r,s,c]",
        "Projected[p,q,o] = Filtered[p,q,c] * WProject[c,o]",
    )
    weights = ("WExpand", "WFilter", "WProject")
    return _workload("mobilenet-block", equations, sizes, bits, weights)


def _matmul_equations(count: int, first: int) -> tuple[str, ...]:
    return tuple(
        f"Matmul{i + first}: T{i + 1}[m,n{i + 1}] = T{i}[m,n{i}] * W{i}[n{i},n{i + 1}]"
        for i in range(count)
    )


def _workload(
    name: str,
    equations: tuple[str, ...],
    sizes: dict[str, int],
    bits: int,
    persistent: tuple[str, ...] = (),
) -> FusionWorkload:
    einsums = tuple(parse_equation(equation) for equation in equations)
    tensors = dict.fromkeys(tensor for einsum in einsums for tensor in einsum.tensors)
    return FusionWorkload(
        name,
        tuple(sizes.items()),
        einsums,
        tuple(dict.fromkeys(tensors, bits).items()),
        persistent,
    )
