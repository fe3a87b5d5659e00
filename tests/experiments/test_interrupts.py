from __future__ import annotations

import signal
import threading

import pytest

from elkhound.experiments.interrupts import interrupts_wait


def test_ctrl_c_waits_until_the_block_has_ended() -> None:
    done = []

    def work() -> None:
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            done.append("block")
        done.append("after")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["block"]


def test_ctrl_c_works_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupts_wait():
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_of_the_block_comes_first() -> None:
    def work() -> None:
        with interrupts_wait():
            signal.raise_signal(signal.SIGINT)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        work()


def test_other_threads_have_nothing_to_wait_for() -> None:
    entered = []

    def work() -> None:
        with interrupts_wait():
            entered.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [True]
