"""Preload states of one plan, by hand."""

from __future__ import annotations

from dataclasses import replace

from oracles.one_operator import small_chip

from elkhound.model.options.preload_state import preload_states

CHIP = small_chip(16, sync_cycles=7, exchange=500)  # 2 cycles/B between cores


def test_hbm_delivers_a_share_and_peers_the_rest() -> None:
    # A piece of 100 B in 6 cores: g = 1, 2, 3, 6.
    states = preload_states(CHIP, pieces=(100,), holders=(6,), cores_used=12)
    assert states.shares.ravel().tolist() == [6, 3, 2, 1]
    assert states.preload_bytes.tolist() == [17, 34, 50, 100]  # ⌈100 / g⌉
    assert states.distribute_bytes.tolist() == [83, 66, 50, 0]
    # Two cycles a byte, two synchronisations of 7.
    assert states.distribute_cycles.tolist() == [180, 146, 114, 0]


def test_a_state_that_saves_no_byte_is_dropped() -> None:
    # ⌈2/g⌉ is 1 for 2 and for 4; the first fetches as much, so it stays alone.
    states = preload_states(CHIP, pieces=(2,), holders=(4,), cores_used=4)
    assert states.shares.ravel().tolist() == [2, 1]


def test_two_tensors_choose_their_shares_apart() -> None:
    # (g_A, g_B) of 30 B and 20 B in 2 cores each: bytes and cycles of all four are
    # (50, 0), (40, 20+14), (35, 30+14), (25, 50+28): none is dominated.
    chip = small_chip(16, sync_cycles=7)
    states = preload_states(chip, pieces=(30, 20), holders=(2, 2), cores_used=4)
    assert states.shares.tolist() == [[2, 2], [2, 1], [1, 2], [1, 1]]
    assert states.preload_bytes.tolist() == [25, 35, 40, 50]
    assert states.distribute_cycles.tolist() == [53, 29, 24, 0]


def test_an_operator_that_streams_nothing_has_one_empty_state() -> None:
    states = preload_states(CHIP, pieces=(0, 0), holders=(1, 1), cores_used=4)
    assert states.preload_bytes.tolist() == [0]
    assert states.distribute_cycles.tolist() == [0]


def test_peers_on_another_chip_are_slower() -> None:
    chip = replace(CHIP, chips=2, cores_per_chip=8)
    states = preload_states(chip, pieces=(100,), holders=(2,), cores_used=12)
    assert states.distribute_cycles.tolist() == [50 * 2 * 5 // 4 + 14, 0]
