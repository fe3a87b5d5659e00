"""Runs a solver so that Ctrl-C, and the time limit, stop it at once."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
_POLL_SECONDS = 0.05


def run_interruptibly(
    work: Callable[[], Answer],
    stop: Callable[[], object],
    seconds: float = math.inf,
) -> Answer:
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
    seconds : float
        From when on `stop` is called as well: solvers look at their own limit between
        two steps of a search, and a step can be long. Its answer counts as usual.
    """
    deadline = time.monotonic() + seconds
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
            if begun.is_set() and time.monotonic() > deadline:
                stop()
    except KeyboardInterrupt:
        cancelled.set()
        while begun.is_set() and not ended.wait(_POLL_SECONDS):
            stop()
        raise
    thread.join()
    if failures:
        raise failures[0]
    return answers[0]
