"""Graphs of a single operator, written in index notation, and small chips."""

from __future__ import annotations

from collections.abc import Sequence

from elkhound.model.chip import AllToAll, Chip, Core, Hbm
from elkhound.model.dtype import DTYPES
from elkhound.model.graph import (
    Access,
    Axis,
    Dimension,
    Einsum,
    Graph,
    Home,
    Operator,
    OperatorKind,
    Pass,
    Tensor,
)


def one_operator(
    sizes: dict[str, int],
    inputs: Sequence[str],
    output: str,
    passes: tuple[Pass, ...],
    *,
    streamed: Sequence[int] = (),
    dtype: str = "float16",
    row_dimensions: tuple[str, ...] = (),
    statistics_rounds: int = 0,
    kind: OperatorKind = OperatorKind.MATMUL,
) -> tuple[Graph, Operator]:
    """An operator over accesses such as ``m k`` or, with a halo, ``c 2oh+kh``."""
    accesses, tensors = [], []
    for i, text in enumerate([*inputs, output]):
        name = f"input{i}" if i < len(inputs) else "output"
        access = Access(name, tuple(axis(part) for part in text.split()))
        home = Home.HBM if i in streamed else Home.CHIP
        shape = tuple(a.extent(sizes) for a in access.axes)
        tensors.append(Tensor(name, shape, DTYPES[dtype], home))
        accesses.append(access)
    operator = Operator(
        "only",
        kind,
        Einsum(
            dimensions=tuple(Dimension(name, size) for name, size in sizes.items()),
            inputs=tuple(accesses[:-1]),
            output=accesses[-1],
            passes=passes,
            row_dimensions=row_dimensions,
            statistics_rounds=statistics_rounds,
        ),
    )
    return Graph("one operator", tuple(tensors), (operator,)), operator


def axis(text: str) -> Axis:
    """``2oh+kh`` is Axis((("oh", 2), ("kh", 1)))."""
    terms = []
    for term in text.split("+"):
        name = term.lstrip("0123456789")
        terms.append((name, int(term[: len(term) - len(name)] or 1)))
    return Axis(tuple(terms))


def matmul(
    m: int, n: int, k: int, *, dtype: str = "float16", streamed: Sequence[int] = (1,)
) -> tuple[Graph, Operator]:
    """C[m, n] = A[m, k] · B[k, n], B streamed."""
    return one_operator(
        {"m": m, "n": n, "k": k},
        ["m k", "k n"],
        "m n",
        (Pass.MATMUL,),
        streamed=streamed,
        dtype=dtype,
    )


def small_chip(
    cores: int,
    *,
    chips: int = 1,
    sync_cycles: int = 0,
    exchange: int = 1_000,
    sram_bytes: int = 1 << 20,
    overlap_exchange: bool = False,
    mac_per_cycle: int = 64,
    vector_flop_per_cycle: int = 4,
    port: int = 16,
) -> Chip:
    """A 1 kHz chip: HBM 8 B/cycle, in-ports 2 B/cycle, exchange `exchange` B/s."""
    return Chip(
        name="small",
        chips=chips,
        cores_per_chip=cores,
        clock_hz=1_000,
        core=Core(sram_bytes, 0, port, mac_per_cycle, vector_flop_per_cycle),
        links=AllToAll(2_000, exchange, 0, sync_cycles, 1_250),
        hbm=Hbm(8_000, 0, 1),
        overlap_exchange=overlap_exchange,
    )
