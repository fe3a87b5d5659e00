"""How many points run at a time where nobody says."""

from __future__ import annotations

import os
from pathlib import Path

WHOLE_BYTES, REDUCED_BYTES = 5 * 2**30, 3 * 2**29
"""What a worker of the figures comes to need, by the problems that it keeps; measured:
4.7 GiB on whole models (OPT-30B in figure 17 of Elk), 1.0 GiB with ``--quick``."""
_CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def default_jobs(*, quick: bool) -> int:
    """Return the cores this process may use, or as many as its memory is enough for."""
    each = REDUCED_BYTES if quick else WHOLE_BYTES
    return jobs_for(usable_cores(), usable_memory_bytes(), each)


def jobs_for(cores: int, memory_bytes: int | None, each_bytes: int) -> int:
    """Return how many workers cores and memory are enough for, at least one.

    Parameters
    ----------
    memory_bytes : int or None
        None where it is not known: then cores decide.
    each_bytes : int
        What a worker needs.

    Examples
    --------
    >>> jobs_for(8, 16, each_bytes=3), jobs_for(2, 16, each_bytes=3)
    (5, 2)
    """
    if memory_bytes is None:
        return cores
    return max(1, min(cores, memory_bytes // each_bytes))


def usable_cores() -> int:
    """Return the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usable_memory_bytes(limit: Path = _CGROUP_LIMIT) -> int | None:
    """Return the machine's memory, or the container's; None where it is not known.

    Parameters
    ----------
    limit : Path
        Where Linux says what a container may use; ``max`` is no limit.
    """
    names = getattr(os, "sysconf_names", {})
    if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(names):
        return None
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        text = limit.read_text(encoding="utf-8").strip()
    except OSError:
        return machine
    return min(machine, int(text)) if text.isdecimal() else machine
