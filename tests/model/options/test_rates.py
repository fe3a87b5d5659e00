"""Bulk transfer times equal the chip's own, whatever the magnitudes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.one_operator import small_chip

from elkhound.model.options.rates import (
    exchange_cycles,
    inbound_cycles,
    port_cycles,
)


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.integers(0, 10**12), min_size=1, max_size=5),
    st.integers(1, 10**10),
    st.integers(1, 10**11),
    st.integers(1, 16),
)
def test_bulk_rates_are_the_chips(
    sizes: list[int], clock_hz: int, rate: int, cores_used: int
) -> None:
    chip = small_chip(8, chips=2, exchange=1)
    links = replace(chip.links, bytes_per_second=rate, exchange_bytes_per_second=rate)
    chip = replace(chip, clock_hz=clock_hz, links=links)
    if max(sizes) * clock_hz // rate > 10**15:
        sizes = [size % 1000 for size in sizes]
    array = np.array(sizes, dtype=np.int64)
    used = np.full_like(array, cores_used)
    assert exchange_cycles(chip, array, used).tolist() == [
        chip.exchange_cycles(size, cores_used) for size in sizes
    ]
    assert inbound_cycles(chip, array).tolist() == [
        chip.inbound_cycles(size) for size in sizes
    ]


def test_a_tile_takes_at_least_the_time_its_bytes_cross_the_sram_port() -> None:
    sizes = np.array([32, 33], dtype=np.int64)
    assert port_cycles(small_chip(1), sizes).tolist() == [2, 3]  # 16 B a cycle
