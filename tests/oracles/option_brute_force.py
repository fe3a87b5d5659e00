"""Options of one operator by plain loops, written from docs/options.md alone.

Slow and obvious: one Python loop per choice, fractions for rates, no arrays, nothing
of `elkhound.model.options` or `elkhound.model.tile_cost`. Twin dimensions are not
merged.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

from elkhound.model.chip import Chip
from elkhound.model.graph import Access, Einsum, Graph, Home, Operator, Pass

Sizes = dict[str, int]
Factors = tuple[Sizes, ...]
Objectives = tuple[int, int, int]
State = tuple[int, int]


@dataclass(frozen=True)
class BrutePlan:
    """A split and a rotation with their costs and all preload states."""

    split: Sizes
    factors: Factors
    execute_bytes: int
    compute_cycles: int
    exchange_cycles: int
    exchange_bytes: int
    syncs: int
    steps: int
    states: tuple[State, ...]

    def objectives(self, overlap: bool) -> Objectives:
        core = self.compute_cycles + self.exchange_cycles
        if overlap:
            core = max(self.compute_cycles, self.exchange_cycles)
        return (self.execute_bytes, core, self.exchange_cycles)


def brute_force_fronts(
    graph: Graph, operator: Operator, chip: Chip, use: Fraction, padding: Fraction
) -> dict[Objectives, list[State]]:
    """Return the execute front, and under each point its front of preload states."""
    plans = all_plans(graph, operator, chip, use, padding)
    reached: dict[Objectives, list[State]] = {}
    for plan in plans:
        reached.setdefault(plan.objectives(chip.overlap_exchange), []).extend(
            plan.states
        )
    return {
        point: front_of(reached[point])
        for point in reached
        if not any(dominates(other, point) for other in reached)
    }


def all_plans(
    graph: Graph, operator: Operator, chip: Chip, use: Fraction, padding: Fraction
) -> list[BrutePlan]:
    return [
        plan_of(graph, operator, chip, split, factors)
        for split in all_splits(operator.einsum.sizes, chip.cores, use, padding)
        for factors in all_rotations(operator.einsum, split)
    ]


def all_splits(
    sizes: Sizes, cores: int, use: Fraction, padding: Fraction
) -> list[Sizes]:
    legal = []
    for cut in itertools.product(
        *(range(1, min(n, cores) + 1) for n in sizes.values())
    ):
        if math.prod(cut) > cores:
            continue
        padded = math.prod(
            s * math.ceil(Fraction(n, s))
            for s, n in zip(cut, sizes.values(), strict=True)
        )
        if padded <= padding * math.prod(sizes.values()):
            legal.append(dict(zip(sizes, cut, strict=True)))
    best = max(math.prod(split.values()) for split in legal)
    least = min(Fraction(best), use * cores)
    return [split for split in legal if math.prod(split.values()) >= least]


def inputs_of(einsum: Einsum) -> list[Access]:
    different: list[Access] = []
    for access in einsum.inputs:
        if access not in different:
            different.append(access)
    return different


def sharers(access: Access, split: Sizes) -> int:
    return math.prod(s for d, s in split.items() if d not in access.dimensions)


def all_rotations(einsum: Einsum, split: Sizes) -> list[Factors]:
    inputs = inputs_of(einsum)
    tile = tile_of(einsum.sizes, split)
    choices: list[list[Sizes]] = []
    for access in inputs:
        own = [d for d in split if d in access.dimensions]
        shared = sharers(access, split)
        choices.append(
            [
                dict(zip(own, factors, strict=True))
                for factors in itertools.product(
                    *(range(1, min(tile[d], shared) + 1) for d in own)
                )
                if shared % math.prod(factors) == 0
            ]
        )
    legal = []
    for factors in itertools.product(*choices):
        chains = True
        for one, other in itertools.combinations(factors, 2):
            for d in one.keys() & other.keys():
                small, large = sorted((one[d], other[d]))
                chains = chains and large % small == 0
        if chains:
            legal.append(factors)
    return legal


def tile_of(sizes: Sizes, split: Sizes) -> Sizes:
    return {d: math.ceil(Fraction(sizes[d], split[d])) for d in split}


def plan_of(
    graph: Graph, operator: Operator, chip: Chip, split: Sizes, factors: Factors
) -> BrutePlan:
    einsum = operator.einsum
    inputs = inputs_of(einsum)
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    tile = tile_of(einsum.sizes, split)
    used = math.prod(split.values())
    output = tensors[einsum.output.tensor]
    output_elements = elements(einsum.output, tile)

    pieces, totals = [], []
    for access, own in zip(inputs, factors, strict=True):
        piece = {d: math.ceil(Fraction(t, own.get(d, 1))) for d, t in tile.items()}
        bits = tensors[access.tensor].dtype.bits
        pieces.append(math.ceil(Fraction(elements(access, piece) * bits, 8)))
        totals.append(math.prod(own.values()))

    execute_bytes = sum(
        piece * (2 if total > 1 else 1)
        for piece, total in zip(pieces, totals, strict=True)
    )
    reduced = [d for d in split if d not in einsum.output.dimensions]
    shared_sum = math.prod(split[d] for d in reduced)
    cuts = {d: max([own.get(d, 1) for own in factors], default=1) for d in split}
    accumulator = output_elements * max(4, math.ceil(output.dtype.bits / 8))
    if shared_sum > 1:
        execute_bytes += 2 * accumulator
    elif any(cuts[d] > 1 for d in reduced):
        execute_bytes += accumulator
    else:
        execute_bytes += math.ceil(Fraction(output_elements * output.dtype.bits, 8))

    exchange_bytes = syncs = 0
    for access, size in zip(inputs, pieces, strict=True):
        if tensors[access.tensor].home is Home.CHIP:
            exchange_bytes += size
    for inner, total in enumerate(totals):
        outside = [
            outer
            for outer in range(len(inputs))
            if outer != inner
            and (-(totals[outer] - 1) * pieces[outer], outer)
            < (-(total - 1) * pieces[inner], inner)
        ]
        repeats = 1
        for d in split:
            if factors[inner].get(d, 1) == 1:
                repeats *= max([factors[o].get(d, 1) for o in outside], default=1)
        exchange_bytes += (total - 1) * repeats * pieces[inner]
        syncs += 2 * (total - 1) * repeats
    if shared_sum > 1:
        exchange_bytes += math.ceil(Fraction(shared_sum - 1, shared_sum) * accumulator)
        syncs += 2
    row_cut = math.prod(split[d] for d in einsum.row_dimensions)
    if row_cut > 1:
        rows = math.prod(
            tile[d]
            for d in split
            if d in einsum.output.dimensions and d not in einsum.row_dimensions
        )
        for _ in range(einsum.statistics_rounds):
            exchange_bytes += 2 * math.ceil(Fraction(row_cut - 1, row_cut) * rows * 4)
            syncs += 4

    steps = math.prod(cuts.values())
    part = {d: math.ceil(Fraction(t, cuts[d])) for d, t in tile.items()}
    port = math.ceil(Fraction(elements(einsum.output, part) * output.dtype.bits, 8))
    for access in inputs:
        bits = tensors[access.tensor].dtype.bits
        port += math.ceil(Fraction(elements(access, part) * bits, 8))
    step = max(
        device_cycles(einsum, inputs, part, chip),
        math.ceil(Fraction(port, chip.core.sram_port_bytes_per_cycle)),
    )
    compute = steps * step
    if shared_sum > 1:
        compute += elementwise(output_elements, chip)

    return BrutePlan(
        split=split,
        factors=factors,
        execute_bytes=execute_bytes,
        compute_cycles=compute,
        exchange_cycles=chip.exchange_cycles(exchange_bytes, used)
        + syncs * chip.links.sync_cycles,
        exchange_bytes=exchange_bytes,
        syncs=syncs,
        steps=steps,
        states=tuple(
            all_states(
                chip,
                [
                    (piece, sharers(access, split) // total)
                    for access, piece, total in zip(inputs, pieces, totals, strict=True)
                    if tensors[access.tensor].home is Home.HBM
                ],
                used,
            )
        ),
    )


def all_states(chip: Chip, streamed: list[tuple[int, int]], used: int) -> list[State]:
    states = []
    for shares in itertools.product(
        *([g for g in range(1, n + 1) if n % g == 0] for _, n in streamed)
    ):
        delivered = [
            math.ceil(Fraction(p, g))
            for (p, _), g in zip(streamed, shares, strict=True)
        ]
        missing = sum(p for p, _ in streamed) - sum(delivered)
        syncs = sum(2 for g in shares if g > 1)
        cycles = chip.exchange_cycles(missing, used) + syncs * chip.links.sync_cycles
        states.append((sum(delivered), cycles))
    return states


def elements(access: Access, tile: Sizes) -> int:
    count = 1
    for axis in access.axes:
        count *= 1 + sum(c * (tile[d] - 1) for d, c in axis.terms)
    return count


def device_cycles(einsum: Einsum, inputs: list[Access], tile: Sizes, chip: Chip) -> int:
    output = elements(einsum.output, tile)
    rows = math.prod(
        t
        for d, t in tile.items()
        if d in einsum.output.dimensions and d not in einsum.row_dimensions
    )
    total = 0
    for sweep in einsum.passes:
        if sweep is Pass.MATMUL:
            total += matmul(einsum, inputs, tile, chip)
        elif sweep is Pass.ELEMENTWISE:
            total += elementwise(output, chip)
        elif sweep is Pass.UNARY:
            total += math.ceil(Fraction(1, 2) * output * rate(chip) + 200)
        elif sweep is Pass.ROW_UNARY:
            total += math.ceil(Fraction(1, 2) * rows * rate(chip) + 200)
        elif sweep is Pass.SLICE:
            total += math.ceil(Fraction(56, 100) * output * rate(chip) + 118)
        elif sweep is Pass.REDUCE:
            total += reduce(math.prod(tile.values()), chip)
        else:
            raise ValueError(f"this oracle has no cycles for a {sweep} pass")
    return total


def rate(chip: Chip) -> Fraction:
    return Fraction(4, chip.core.vector_flop_per_cycle)


def elementwise(e: int, chip: Chip) -> int:
    if e <= 16432:
        cap = 300 + 8217 * rate(chip)
        return math.ceil(min(cap, Fraction(3, 4) * e * rate(chip) + 290))
    return math.ceil(Fraction(1, 2) * e * rate(chip) + 300)


def reduce(x: int, chip: Chip) -> int:
    if x <= 480:
        cap = 175 + 120 * rate(chip)
        return math.ceil(min(cap, Fraction(3, 2) * x * rate(chip) + 175))
    return math.ceil(Fraction(1, 4) * x * rate(chip) + 175)


def matmul(einsum: Einsum, inputs: list[Access], tile: Sizes, chip: Chip) -> int:
    left, right = inputs[0].dimensions, inputs[-1 if len(inputs) == 1 else 1].dimensions
    b = m = n = k = 1
    for d, t in tile.items():
        if d not in einsum.output.dimensions:
            k *= t
        elif d in left and d in right:
            b *= t
        elif d in right:
            n *= t
        else:
            m *= t
    if m < n:
        m, n = n, m
    k16, n16, m6 = (math.ceil(Fraction(x, y)) for x, y in ((k, 16), (n, 16), (m, 6)))
    block = Fraction(1536, chip.core.mac_per_cycle)
    return math.ceil(b * (block * m6 * k16 * n16 + 514 * k16 * n16 + 113 * n16 + 173))


def dominates(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def front_of(states: list[State]) -> list[State]:
    points = set(states)
    return sorted(p for p in points if not any(dominates(q, p) for q in points))
