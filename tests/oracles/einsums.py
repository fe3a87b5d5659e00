"""What einsums compute, straight from their definition with numpy, halos included."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from elkhound.model.fusion import FusionEinsum, FusionWorkload
from elkhound.model.graph import Access

Array = npt.NDArray[np.float64]
Points = dict[str, npt.NDArray[np.intp]]


def results(workload: FusionWorkload, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return every tensor: products of the operands, summed over what is not kept."""
    arrays = dict(inputs)
    for einsum in workload.einsums:
        arrays[einsum.output.tensor] = _result(workload, einsum, arrays)
    return arrays


def random_inputs(workload: FusionWorkload, seed: int = 0) -> dict[str, Array]:
    """Return small integers for every tensor that no einsum writes."""
    draw = np.random.default_rng(seed)
    written = {einsum.output.tensor for einsum in workload.einsums}
    inputs: dict[str, Array] = {}
    for einsum in workload.einsums:
        for access in einsum.inputs:
            if access.tensor not in written:
                shape = [axis.extent(workload.size) for axis in access.axes]
                values = draw.integers(-3, 4, shape).astype(np.float64)
                inputs.setdefault(access.tensor, values)
    return inputs


def _result(
    workload: FusionWorkload, einsum: FusionEinsum, arrays: Mapping[str, Array]
) -> Array:
    ranks = einsum.ranks
    shape = tuple(workload.size[rank] for rank in ranks)
    points: Points = dict(zip(ranks, np.indices(shape, sparse=True), strict=True))
    product = np.ones(shape)
    for access in einsum.inputs:
        product = product * _seen(arrays[access.tensor], access, points)
    kept = [axis.terms[0][0] for axis in einsum.output.axes]
    order = [ranks.index(rank) for rank in kept]
    rest = [i for i in range(len(ranks)) if i not in order]
    return np.asarray(
        product.transpose(order + rest).sum(axis=tuple(range(len(order), len(ranks))))
    )


def _seen(array: Array, access: Access, points: Points) -> Array:
    """Return an operand at every point; beyond its border it is 0."""
    if not access.axes:
        return array
    index = [sum(c * points[rank] for rank, c in axis.terms) for axis in access.axes]
    ends = [int(np.max(position)) + 1 for position in index]
    padding = [(0, max(0, e - n)) for e, n in zip(ends, array.shape, strict=True)]
    padded = np.pad(array, padding)
    return np.asarray(padded[tuple(np.asarray(i, dtype=int) for i in index)])
