"""Repeated layers: the longest run of equal consecutive blocks of operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from elkhound.model.graph import Access, Graph, Home, Operator, Pass

Signature = tuple[object, ...]


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
    operators = graph.operators
    ids = _signatures(graph)
    numbers = np.array(ids)
    best = (0, 1, 0)
    for period in range(1, len(ids) // 2 + 1):
        repeated = int(np.count_nonzero(numbers[:-period] == numbers[period:]))
        if repeated + period <= best[1] * best[2]:
            continue  # no run of this period can cover more
        equal = 0
        for start in range(len(ids) - period, -1, -1):
            repeats = start + period < len(ids) and ids[start] == ids[start + period]
            equal = equal + 1 if repeats else 0
            run = (start, period, equal // period + 1)
            covered, most = period * run[2], best[1] * best[2]
            beats = covered > most or (covered == most and period == best[1])
            if run[2] > 1 and beats and _is_chain(operators, run):
                best = run
    return best


def _is_chain(operators: Sequence[Operator], run: tuple[int, int, int]) -> bool:
    """Tell whether every block has a product and reads what the one before made."""
    start, period, count = run
    blocks = [
        operators[start + block * period : start + (block + 1) * period]
        for block in range(count)
    ]
    if not any(Pass.MATMUL in operator.einsum.passes for operator in blocks[0]):
        return False
    for before, after in pairwise(blocks):
        made = {operator.einsum.output.tensor for operator in before}
        read = {a.tensor for operator in after for a in operator.einsum.inputs}
        if made.isdisjoint(read):
            return False
    return True
