"""Graphs of several operators, written in index notation: c[m,n] = a[m,k] w[k,n]."""

from __future__ import annotations

from collections.abc import Sequence

from elkhound.model.dtype import DTYPES
from elkhound.model.graph import (
    Access,
    Dimension,
    Einsum,
    Graph,
    Home,
    Operator,
    OperatorKind,
    Pass,
    Tensor,
)
from oracles.one_operator import axis

SOFTMAX = (Pass.REDUCE, Pass.ELEMENTWISE, Pass.UNARY, Pass.REDUCE, Pass.ELEMENTWISE)


def chain(
    *lines: str,
    sizes: dict[str, int],
    streamed: Sequence[str] = (),
    outputs: Sequence[str] = (),
) -> Graph:
    """Operators from lines; each is named by the tensor it writes.

    ``matmul c m n = a m k, w k n``; kinds are matmul, unary, add and softmax (along
    the last dimension of its output).
    """
    tensors: dict[str, Tensor] = {}
    operators = []
    for line in lines:
        head, _, tail = line.partition("=")
        kind, *written = head.split()
        accesses = []
        for text in (*tail.split(","), " ".join(written)):
            name, *places = text.split()
            axes = tuple(axis(place) for place in places)
            home = Home.HBM if name in streamed else Home.CHIP
            shape = tuple(a.extent(sizes) for a in axes)
            tensors.setdefault(name, Tensor(name, shape, DTYPES["float16"], home))
            accesses.append(Access(name, axes))
        *inputs, output = accesses
        names = dict.fromkeys(n for a in accesses for x in a.axes for n, _ in x.terms)
        rows = tuple(written[-1:]) if kind == "softmax" else ()
        einsum = Einsum(
            tuple(Dimension(name, sizes[name]) for name in names),
            tuple(inputs),
            output,
            {
                "matmul": (Pass.MATMUL,),
                "unary": (Pass.UNARY,),
                "add": (Pass.ELEMENTWISE,),
                "softmax": SOFTMAX,
            }[kind],
            rows,
            2 if rows else 0,
        )
        operators.append(Operator(output.tensor, OperatorKind.MATMUL, einsum))
    return Graph("chain", tuple(tensors.values()), tuple(operators), tuple(outputs))
