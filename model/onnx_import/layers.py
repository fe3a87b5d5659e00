"""Repeated layers: the longest run of equal consecutive blocks of operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from elkhound.model.graph import Access, Graph, Home, Operator, Pass

Signature = tuple[object, ...]
Indices = NDArray[np.int64]


def with_layers(graph: Graph) -> Graph:
    """Return the graph with its repeated layers numbered; other operators keep None.

    A layer is a block of operators, one of them a matmul or convolution, that follows
    itself at once with equal operators (kind, einsum, types and homes of its tensors,
    whatever the names), each block reading what the one before it made. The run that
    covers most operators is taken, in its shortest block; a run that covers less than
    half of the graph is not what the graph is made of, and numbers nothing.
    """
    start, period, count = _best_run(graph)
    if count < 2 or 2 * period * count < len(graph.operators):
        return graph
    return replace(
        graph,
        operators=tuple(
            replace(operator, layer=(index - start) // period)
            if start <= index < start + period * count
            else operator
            for index, operator in enumerate(graph.operators)
        ),
    )


def _signatures(graph: Graph) -> list[int]:
    """Return a number per operator, equal for equal operators."""
    tensors = graph.tensor
    numbers: dict[Signature, int] = {}
    result = []
    for operator in graph.operators:
        kinds = tuple(
            (tensors[a.tensor].home is Home.HBM, tensors[a.tensor].dtype.name)
            for a in (*operator.einsum.inputs, operator.einsum.output)
        )
        signature = (*_structure(operator), kinds)
        result.append(numbers.setdefault(signature, len(numbers)))
    return result


def _structure(operator: Operator) -> Signature:
    einsum = operator.einsum
    place = {d.name: index for index, d in enumerate(einsum.dimensions)}

    def axes(access: Access) -> Signature:
        return tuple(
            tuple((place[name], coefficient) for name, coefficient in axis.terms)
            for axis in access.axes
        )

    return (
        operator.kind,
        tuple(d.size for d in einsum.dimensions),
        tuple(axes(access) for access in einsum.inputs),
        axes(einsum.output),
        einsum.passes,
        tuple(place[name] for name in einsum.row_dimensions),
    )


def _best_run(graph: Graph) -> tuple[int, int, int]:
    """Return (start, period, count) of the run covering most; earliest, shortest."""
    ids = _signatures(graph)
    numbers = np.array(ids)
    products = _products_before(graph.operators)
    writers, readers = _flow(graph.operators)
    best = (0, 1, 0)
    if not products[-1]:
        return best
    for period in range(1, len(ids) // 2 + 1):
        repeated = int(np.count_nonzero(numbers[:-period] == numbers[period:]))
        if repeated + period <= best[1] * best[2]:
            continue  # no run of this period can cover more
        feeds = _feeds(writers, readers, period, len(ids))
        fed = [0] * (len(ids) + period)  # blocks in a row, each read by the next
        equal = 0
        for start in range(len(ids) - period, -1, -1):
            repeats = start + period < len(ids) and ids[start] == ids[start + period]
            equal = equal + 1 if repeats else 0
            fed[start] = fed[start + period] + 1 if feeds[start] else 0
            run = (start, period, equal // period + 1)
            covered, most = period * run[2], best[1] * best[2]
            beats = covered > most or (covered == most and period == best[1])
            is_chain = (
                fed[start] >= run[2] - 1 and products[start + period] > products[start]
            )
            if run[2] > 1 and beats and is_chain:
                best = run
    return best


def _products_before(operators: Sequence[Operator]) -> list[int]:
    """Return how many of the first 0, 1, 2 … operators have a product."""
    return [
        0,
        *accumulate(int(Pass.MATMUL in o.einsum.passes) for o in operators),
    ]


def _flow(operators: Sequence[Operator]) -> tuple[Indices, Indices]:
    """Return operators that write, and those that read what they write, in pairs."""
    writer = {o.einsum.output.tensor: index for index, o in enumerate(operators)}
    pairs = [
        (writer[access.tensor], reader)
        for reader, operator in enumerate(operators)
        for access in operator.einsum.inputs
        if access.tensor in writer
    ]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _feeds(writers: Indices, readers: Indices, period: int, size: int) -> list[bool]:
    """Tell of every start whether the block there is read by the block after it.

    A pair counts for the starts s with s ≤ writer < s + period ≤ reader
    < s + 2·period, which are consecutive: one up and one down in a running sum.
    """
    first = np.maximum(np.maximum(writers - period, readers - 2 * period) + 1, 0)
    last = np.minimum(writers, readers - period)
    some = first <= last
    change = np.zeros(size + 1, dtype=np.int64)
    np.add.at(change, first[some], 1)
    np.add.at(change, last[some] + 1, -1)
    return [bool(count) for count in np.cumsum(change[:-1])]
