"""Runs a solver so that Ctrl-C stops it at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
_POLL_SECONDS = 0.05


def run_interruptibly(work: Callable[[], Answer], stop: Callable[[], object]) -> Answer:
    """Run `work` in a thread; on KeyboardInterrupt stop it and raise again.

    A native solver called in the main thread keeps Python from seeing the signal
    until the search ends by itself.

    Parameters
    ----------
    work : callable
        The search; what it raises is raised here.
    stop : callable
        Asks the search to end; called until it has, since a search that has not
        begun cannot hear.
    """
    answers: list[Answer] = []
    failures: list[BaseException] = []
    begun, ended, cancelled = (threading.Event() for _ in range(3))

    def body() -> None:
        begun.set()
        try:
            if not cancelled.is_set():
                answers.append(work())
        except BaseException as failure:  # raised again in the caller's thread
            failures.append(failure)
        finally:
            ended.set()

    thread = threading.Thread(target=body, name="elkhound-solver", daemon=True)
    try:
        thread.start()
        while not ended.wait(_POLL_SECONDS):
            pass
    except KeyboardInterrupt:
        cancelled.set()
        while begun.is_set() and not ended.wait(_POLL_SECONDS):
            stop()
        raise
    thread.join()
    if failures:
        raise failures[0]
    return answers[0]
