"""Random fusion workloads: small matrix products, to study mappers on."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.fusion.equation import parse_equation
from elkhound.model.fusion.workload import FusionWorkload

_EXTENTS = (2, 3, 4, 6, 8, 12, 16)
_ROWS = (4, 6, 8, 12, 16, 24)
_BITS = (8, 16)


def random_workload(seed: int, size: int, family: str = "chain") -> FusionWorkload:
    """Draw a workload of products with weights, each reading what others wrote.

    Parameters
    ----------
    seed : int
        Any integer.
    size : int
        Number of einsums, at least 1.
    family : str
        A key of `FAMILIES`: which earlier result an einsum reads.
    """
    if family not in FAMILIES:
        raise BadInputError(
            f"family {family} is unknown", hint=nearest(family, list(FAMILIES))
        )
    if size < 1:
        raise BadInputError(f"size: {size}, must be at least 1")
    random = Random(f"fusion {family} {size} {seed}")
    widths = {f"n{k}": random.choice(_EXTENTS) for k in range(size + 1)}
    equations = []
    for k in range(size):
        read = FAMILIES[family](random, k)
        output, weight = f"T{k + 1}[m,n{k + 1}]", f"W{k}[n{read},n{k + 1}]"
        equations.append(f"{output} = T{read}[m,n{read}] * {weight}")
    einsums = tuple(parse_equation(equation) for equation in equations)
    tensors = dict.fromkeys(name for einsum in einsums for name in einsum.tensors)
    bits = random.choice(_BITS)
    return FusionWorkload(
        f"{family}-{size}-{seed}",
        (("m", random.choice(_ROWS)), *widths.items()),
        einsums,
        tuple((name, bits) for name in tensors),
    )


def _chain(random: Random, k: int) -> int:
    """Read the result before."""
    return k


def _tree(random: Random, k: int) -> int:
    """Read any earlier result, or the input: some are read by several einsums."""
    return random.randint(0, k)


def _star(random: Random, k: int) -> int:
    """Read the first result, all of them: it is worth keeping, or nothing is."""
    return min(k, 1)


FAMILIES: dict[str, Callable[[Random, int], int]] = {
    "chain": _chain,
    "tree": _tree,
    "star": _star,
}
"""Which earlier tensor einsum k reads, by family; the first is the default."""
