"""The market split problem: small, and no MILP solver ends it within seconds."""

from __future__ import annotations

import random

from elkhound.solvers.backends import pulp


def market_split(seed: int, rows: int = 4, binaries: int = 26) -> pulp.Model:
    """Return min Σ |A x − ⌊Σ A / 2⌋| over binary x, weights below 100."""
    draw = random.Random(seed)
    model = pulp.Model("market")
    x = [model.binary(f"x{i}") for i in range(binaries)]
    slacks = []
    for r in range(rows):
        weights = [draw.randint(0, 99) for _ in x]
        over, under = (model.integer(f"{k}{r}", 0, 3000) for k in ("over", "under"))
        terms = [*zip(weights, x, strict=True), (1, under), (-1, over)]
        model.equal(terms, sum(weights) // 2)
        slacks += [(1, over), (1, under)]
    model.minimise(slacks)
    return model
