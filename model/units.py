"""Integer arithmetic of cycles and bytes: sizes and durations round up."""

from __future__ import annotations


def ceil_div(numerator: int, denominator: int) -> int:
    """Return ⌈numerator / denominator⌉ in integers.

    Examples
    --------
    >>> ceil_div(7, 2)
    4
    """
    return -(-numerator // denominator)


def in_kib(size_bytes: int) -> str:
    """Return what to put behind a number of bytes: nothing below one KiB.

    Examples
    --------
    >>> in_kib(630784)
    ' (616 KiB)'
    """
    return f" ({size_bytes / 1024:.6g} KiB)" if size_bytes >= 1024 else ""


def transfer_cycles(size_bytes: int, clock_hz: int, bytes_per_second: int) -> int:
    """Return ⌈bytes · clock / rate⌉, the cycles a transfer takes.

    Examples
    --------
    >>> transfer_cycles(100, clock_hz=1_000, bytes_per_second=3_000)
    34
    """
    return ceil_div(size_bytes * clock_hz, bytes_per_second)


def stretched(cycles: int, link_cycles: int, permille: int) -> int:
    """Return cycles + ⌈permille · link_cycles / 1000⌉ (stretch rule, page schedule).

    Examples
    --------
    >>> stretched(10, 3, 500)
    12
    """
    return cycles + ceil_div(permille * link_cycles, 1000)
