"""Bounds from adding up: the HBM roofline and the path bound."""

from __future__ import annotations

from itertools import accumulate

from elkhound.solvers.schedule.minima import Minima


def roofline_bound(minima: Minima) -> int:
    """Return max(Σ h_j, Σ t_i): HBM, or the cores, busy all the time."""
    return max(sum(minima.h), sum(minima.t))


def path_bound(minima: Minima) -> int:
    """Return max_i Σ_{j≤i} h_j + Σ_{j≥i} t_j.

    P_0 … P_i run one after another from 0 and end before E_i starts, in whatever
    order; from then on E_i … E_{N−1} run one after another.
    """
    loaded = accumulate(minima.h)
    total = sum(minima.t)
    done = accumulate(minima.t, initial=0)
    return max(h + total - before for h, before in zip(loaded, done, strict=False))
