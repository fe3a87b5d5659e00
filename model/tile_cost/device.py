"""The analytical core: cycles of a tile for each pass of an operator.

Every constant is of the formulas published with Elk (its artifact's cost model of an
IPU-like core); they were fitted at 64 multiply-accumulates and 4 vector operations a
cycle. All results are whole cycles, rounded up. They do not depend on element types;
the SRAM port limit does, through bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from elkhound.model.chip import Core
from elkhound.model.graph import Access, Einsum, Pass
from elkhound.model.tile_cost.tile import (
    Integers,
    Tile,
    ceil_divide,
    touched,
    volume,
)

BLOCK_M, BLOCK_K, BLOCK_N = 6, 16, 16
BLOCK_MACS = BLOCK_M * BLOCK_K * BLOCK_N
FITTED_FLOP_PER_CYCLE = 4


class MatmulSwap(StrEnum):
    """When the larger of m and n takes the block's side of 6."""

    ALWAYS = "always"
    OFF_WHEN_SMALL = "off_when_small"  # keep the given order if min(m, n) ≤ 16


@dataclass(frozen=True, slots=True)
class Device:
    """One core's arithmetic: predicts the cycles of tiles from their extents.

    Parameters
    ----------
    mac_per_cycle : int
        Scales the 24-cycle block of a matmul: 6·16·16 / `mac_per_cycle` cycles.
    vector_flop_per_cycle : int
        Scales the per-element terms of the vector passes by 4 /
        `vector_flop_per_cycle`.
    port_bytes_per_cycle : int
        SRAM port: no tile is computed faster than its operands cross it once.
    matmul_swap : MatmulSwap
        Where a matmul swaps its sides; worth 2.5× on decode shapes.

    Notes
    -----
    Jumps: a matmul doubles where min(m, n) passes a multiple of 16, and rises in
    steps of 6 in max(m, n) and of 16 in k. Elementwise is flat from 10,970 to 16,434
    elements, reduce from 80 to 480. With ``always`` every pass is monotone in every
    extent; with ``off_when_small`` a matmul is not (m = 16, n = 200 costs more than
    m = 17, n = 200). None is additive: cutting a 32×17 matmul in two halves of 16×17
    makes it cheaper.
    """

    mac_per_cycle: int
    vector_flop_per_cycle: int
    port_bytes_per_cycle: int
    matmul_swap: MatmulSwap = MatmulSwap.ALWAYS

    @classmethod
    def of(cls, core: Core, matmul_swap: MatmulSwap = MatmulSwap.ALWAYS) -> Device:
        """Return the device of a chip's core."""
        return cls(
            core.mac_per_cycle,
            core.vector_flop_per_cycle,
            core.sram_port_bytes_per_cycle,
            matmul_swap,
        )

    def cycles(self, einsum: Einsum, tile: Tile) -> Integers:
        """Return the cycles of every tile: the sum of the einsum's passes."""
        total = volume(tile, ()) * 0
        for sweep in einsum.passes:
            total = total + self._sweep(sweep, einsum, tile)
        return total

    def port_cycles(self, size_bytes: Integers) -> Integers:
        """Return the least cycles in which a tile's bytes cross the SRAM port."""
        return ceil_divide(size_bytes, self.port_bytes_per_cycle)

    def _sweep(self, sweep: Pass, einsum: Einsum, tile: Tile) -> Integers:
        if sweep is Pass.MATMUL:
            b, m, n, k = (volume(tile, names) for names in matmul_dimensions(einsum))
            return self.matmul(b, m, n, k)
        if sweep is Pass.REDUCE:
            return self.reduce(volume(tile, tile))
        if sweep is Pass.DECODE:
            return self.unary(touched(einsum.inputs[1], tile))
        output = touched(einsum.output, tile)
        if sweep is Pass.ELEMENTWISE:
            return self.elementwise(output)
        if sweep is Pass.UNARY:
            return self.unary(output)
        if sweep is Pass.SLICE:
            return self.slice(output)
        if sweep is Pass.ROW_UNARY:
            return self.unary(volume(tile, row_names(einsum)))
        return self.gather(output, volume(tile, index_names(einsum)))

    def matmul(self, b: Integers, m: Integers, n: Integers, k: Integers) -> Integers:
        """Return b·[24·⌈m/6⌉⌈k/16⌉⌈n/16⌉ + 514·⌈k/16⌉⌈n/16⌉ + 113·⌈n/16⌉ + 173]."""
        small, large = np.minimum(m, n), np.maximum(m, n)
        if self.matmul_swap is MatmulSwap.OFF_WHEN_SMALL:
            given = small <= BLOCK_N
            large, small = np.where(given, m, large), np.where(given, n, small)
        columns = ceil_divide(small, BLOCK_N)
        panels = ceil_divide(k, BLOCK_K) * columns
        blocks = ceil_divide(large, BLOCK_M) * panels
        multiply = ceil_divide(b * blocks * BLOCK_MACS, self.mac_per_cycle)
        return multiply + b * (514 * panels + 113 * columns + 173)

    def elementwise(self, elements: Integers) -> Integers:
        """Return min(8517, 0.75e + 290) up to 16,432 elements, else 0.5e + 300."""
        short = np.minimum(
            self._per_element(elements, 3, 4) + 290,
            300 + self._per_element(np.full_like(elements, 8217), 1, 1),
        )
        return np.where(
            elements <= 16432, short, self._per_element(elements, 1, 2) + 300
        )

    def unary(self, elements: Integers) -> Integers:
        """Return 0.5e + 200."""
        return self._per_element(elements, 1, 2) + 200

    def reduce(self, elements: Integers) -> Integers:
        """Return min(295, 1.5x + 175) up to 480 input elements, else 0.25x + 175."""
        short = np.minimum(
            self._per_element(elements, 3, 2),
            self._per_element(np.full_like(elements, 120), 1, 1),
        )
        return 175 + np.where(elements <= 480, short, self._per_element(elements, 1, 4))

    def slice(self, elements: Integers) -> Integers:
        """Return 0.56 · output elements + 118."""
        return self._per_element(elements, 14, 25) + 118

    def gather(self, elements: Integers, indices: Integers) -> Integers:
        """Return 300 + ⌈elements / indices / 2⌉ · indices + indices."""
        return 300 + indices + self._per_element(elements, 1, 2, rows=indices)

    def _per_element(
        self,
        elements: Integers,
        numerator: int,
        denominator: int,
        rows: Integers | int = 1,
    ) -> Integers:
        """Return rows · ⌈elements / rows · numerator / denominator⌉, rate-scaled."""
        factor = math.gcd(
            numerator * FITTED_FLOP_PER_CYCLE, denominator * self.vector_flop_per_cycle
        )
        top = numerator * FITTED_FLOP_PER_CYCLE // factor
        bottom = denominator * self.vector_flop_per_cycle // factor
        return rows * ceil_divide(elements * top, rows * bottom)


def matmul_dimensions(
    einsum: Einsum,
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return the dimensions that play b, m, n and k in a matmul pass.

    By the first two inputs: b indexes both and the output, n the second and the
    output, every reduced dimension is k, the rest is m. So a convolution's kernel and
    input channels are k, its output channels n, batch and output positions m, and a
    group is b.
    """
    first, second = _matmul_operands(einsum)
    left, right = first.dimensions, second.dimensions
    b, m, n, k = [], [], [], []
    for dimension in einsum.dimensions:
        name = dimension.name
        if name not in einsum.output.dimensions:
            k.append(name)
        elif name in left and name in right:
            b.append(name)
        elif name in right:
            n.append(name)
        else:
            m.append(name)
    return b, m, n, k


def row_names(einsum: Einsum) -> list[str]:
    """Return the dimensions that number the rows of a softmax or norm."""
    return [
        d.name
        for d in einsum.dimensions
        if d.name in einsum.output.dimensions and d.name not in einsum.row_dimensions
    ]


def index_names(einsum: Einsum) -> list[str]:
    """Return the dimensions that number the indices of a gather.

    Those of the indices where they are an input (the input with the fewest
    dimensions), else those of the first axis of the data.
    """
    if len(einsum.inputs) > 1:
        indices = min(einsum.inputs, key=lambda access: len(access.dimensions))
        names = indices.dimensions
    elif einsum.inputs and einsum.inputs[0].axes:
        names = frozenset(name for name, _ in einsum.inputs[0].axes[0].terms)
    else:
        names = frozenset()
    return [d.name for d in einsum.dimensions if d.name in names]


def _matmul_operands(einsum: Einsum) -> tuple[Access, Access]:
    if not einsum.inputs:
        raise ValueError("a matmul pass needs an input")
    return einsum.inputs[0], einsum.inputs[min(1, len(einsum.inputs) - 1)]
