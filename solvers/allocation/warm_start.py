"""A plan handed in, as a start for models over Pareto lists."""

from __future__ import annotations

from elkhound.model.allocation import Allocation, AllocationProblem, chosen, pareto


def on_pareto_lists(problem: AllocationProblem, plan: Allocation) -> Allocation | None:
    """Return a plan at least as good of Pareto options only; None if it does not fit.

    Every option gives way to the fastest one that takes no more bytes.
    """
    taken = chosen(problem, plan)
    if sum(option.size_bytes for option in taken) > problem.capacity_bytes:
        return None
    return Allocation(
        tuple(
            next(
                k
                for k in pareto(item)
                if item.options[k].size_bytes <= option.size_bytes
            )
            for item, option in zip(problem.items, taken, strict=True)
        )
    )
