"""The analytical core: cycles of a tile for each pass of an operator.

Every constant is of the formulas published with Elk (its artifact's cost model of an
IPU-like core); they were fitted at 64 multiply-accumulates and 4 vector operations a
cycle. All results are whole cycles, rounded up. They do not depend on element types.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from elkhound.model.chip import Core
from elkhound.model.tile_cost.kinds import Dimensions, TileKind
from elkhound.model.tile_cost.tile import Integers, ceil_divide

BLOCK_M, BLOCK_K, BLOCK_N = 6, 16, 16
BLOCK_MACS = BLOCK_M * BLOCK_K * BLOCK_N
PANEL_CYCLES, COLUMN_CYCLES, PRODUCT_CYCLES = 514, 113, 173
FITTED_FLOP_PER_CYCLE = 4


class MatmulSwap(StrEnum):
    """When the larger of m and n takes the block's side of 6."""

    ALWAYS = "always"
    OFF_WHEN_SMALL = "off_when_small"  # keep the given order if min(m, n) ≤ 16


class Blocks(StrEnum):
    """What a block that is not full costs, in a matmul and in a gather."""

    WHOLE = "whole"  # as much as a full one: cycles rise in steps
    FRACTIONAL = "fractional"  # its share: no steps


@dataclass(frozen=True, slots=True)
class Device:
    """One core's arithmetic: predicts the cycles of tiles by formulas.

    Parameters
    ----------
    mac_per_cycle : int
        Scales the 24-cycle block of a matmul: 6·16·16 / `mac_per_cycle` cycles.
    vector_flop_per_cycle : int
        Scales the per-element terms of the vector passes by 4 /
        `vector_flop_per_cycle`.
    matmul_swap : MatmulSwap
        Where a matmul swaps its sides; worth 2.5× on decode shapes.
    blocks : Blocks
        Whether cycles rise in the steps of blocks.

    Notes
    -----
    Jumps: a matmul doubles where min(m, n) passes a multiple of 16, and rises in
    steps of 6 in max(m, n) and of 16 in k; a gather rises by its indices where the
    elements of each pass an even number. `Blocks.FRACTIONAL` has none of these.
    Elementwise is flat from 10,970 to 16,434 elements, reduce from 80 to 480. With
    ``always`` every kind is monotone in every dimension, but for a gather in its
    indices alone (it is in indices that bring their elements along); with
    ``off_when_small`` a matmul is not (m = 16, n = 200 costs more than m = 17,
    n = 200). None is additive: cutting a 32×17 matmul in two halves of 16×17 makes it
    cheaper.
    """

    mac_per_cycle: int
    vector_flop_per_cycle: int
    matmul_swap: MatmulSwap = MatmulSwap.ALWAYS
    blocks: Blocks = Blocks.WHOLE

    @classmethod
    def of(
        cls,
        core: Core,
        matmul_swap: MatmulSwap = MatmulSwap.ALWAYS,
        blocks: Blocks = Blocks.WHOLE,
    ) -> Device:
        """Return the device of a chip's core."""
        return cls(core.mac_per_cycle, core.vector_flop_per_cycle, matmul_swap, blocks)

    def tile_cycles(self, kind: TileKind, dimensions: Dimensions) -> Integers:
        """Return the cycles of every tile of a kind."""
        formulas: dict[TileKind, Callable[..., Integers]] = {
            TileKind.MATMUL: self.matmul,
            TileKind.ELEMENTWISE: self.elementwise,
            TileKind.UNARY: self.unary,
            TileKind.REDUCE: self.reduce,
            TileKind.SLICE: self.slice,
            TileKind.GATHER: self.gather,
        }
        return formulas[kind](*dimensions)

    def matmul(self, b: Integers, m: Integers, n: Integers, k: Integers) -> Integers:
        """Return b·[24·⌈m/6⌉⌈k/16⌉⌈n/16⌉ + 514·⌈k/16⌉⌈n/16⌉ + 113·⌈n/16⌉ + 173]."""
        small, large = np.minimum(m, n), np.maximum(m, n)
        if self.matmul_swap is MatmulSwap.OFF_WHEN_SMALL:
            given = small <= BLOCK_N
            large, small = np.where(given, m, large), np.where(given, n, small)
        if self.blocks is Blocks.FRACTIONAL:
            return self._matmul_without_steps(b, large, small, k)
        columns = ceil_divide(small, BLOCK_N)
        panels = ceil_divide(k, BLOCK_K) * columns
        blocks = ceil_divide(large, BLOCK_M) * panels
        multiply = ceil_divide(b * blocks * BLOCK_MACS, self.mac_per_cycle)
        per_product = PANEL_CYCLES * panels + COLUMN_CYCLES * columns + PRODUCT_CYCLES
        return multiply + b * per_product

    def _matmul_without_steps(
        self, b: Integers, large: Integers, small: Integers, k: Integers
    ) -> Integers:
        """Return the same with fractions of blocks, panels and columns."""
        per_product = (
            PANEL_CYCLES * k * small
            + COLUMN_CYCLES * BLOCK_K * small
            + PRODUCT_CYCLES * BLOCK_K * BLOCK_N
        )
        return ceil_divide(b * large * small * k, self.mac_per_cycle) + ceil_divide(
            b * per_product, BLOCK_K * BLOCK_N
        )

    def elementwise(self, elements: Integers) -> Integers:
        """Return min(8517, 0.75e + 290) up to 16,432 elements, else 0.5e + 300.

        Never less than the 8517 beyond: at less than 4 operations a cycle the second
        line starts below the end of the first.
        """
        top = 300 + self._per_element(np.full_like(elements, 8217), 1, 1)
        short = np.minimum(self._per_element(elements, 3, 4) + 290, top)
        long = np.maximum(self._per_element(elements, 1, 2) + 300, top)
        return np.where(elements <= 16432, short, long)

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
        rows = 1 if self.blocks is Blocks.FRACTIONAL else indices
        return 300 + indices + self._per_element(elements, 1, 2, rows=rows)

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
