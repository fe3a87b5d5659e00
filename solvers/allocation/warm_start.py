"""A plan handed in, as a start for models over Pareto lists."""

from __future__ import annotations

from elkhound.model.allocation import (
    Allocation,
    AllocationProblem,
    chosen,
    pareto,
    total_cycles,
)


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


def better(
    problem: AllocationProblem, start: Allocation | None, found: Allocation | None
) -> Allocation | None:
    """Return the plan with fewer cycles: a warm start is never lost."""
    plans = [plan for plan in (found, start) if plan is not None]
    return min(plans, key=lambda plan: total_cycles(problem, plan), default=None)
