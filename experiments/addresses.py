"""Addresses for the buffers of a schedule; one without any is planned again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from elkhound.experiments.kind import Judgement
from elkhound.model.lifetimes import placement_problem
from elkhound.model.limits import Limits
from elkhound.model.placement import (
    Addresses,
    Buffer,
    Placement,
    PlacementProblem,
    height_bytes,
)
from elkhound.model.referee import judge, judge_placement
from elkhound.model.result import Bound, BoundKind, Method, OrderClass, Result, Status
from elkhound.model.schedule import Schedule, ScheduleProblem

Planner = Method[ScheduleProblem, Schedule]

NODES = 20_000  # of the placement search: a few seconds
SECONDS = 10.0
SMALLER = (64, 16, 4)  # C − C/64, C − C/16, C − C/4


@dataclass(frozen=True, slots=True)
class Addressed:
    """A method's result with addresses, or why there are none.

    Parameters
    ----------
    result : Result
        The method's, or that of planning again with less SRAM.
    addresses : Addresses or None
        Where every buffer lies.
    note : str
        What went wrong with the method's own plan; empty if nothing did.
    """

    result: Result[Schedule]
    addresses: Addresses | None
    note: str = ""


def with_addresses(
    method: Planner,
    problem: ScheduleProblem,
    result: Result[Schedule],
    limits: Limits[Schedule],
    held: Sequence[Buffer] | None = None,
) -> Addressed:
    """Place the buffers of a verified plan; plan again where that is proved impossible.

    Planning again means the same method with a smaller C; its plan is placed in the
    whole of C. It is no longer `optimal`, but bounds of the first result stay, as a
    placement only adds constraints. Where the search found none but proved nothing,
    the plan is kept, without addresses.

    Parameters
    ----------
    method : Method
        Whose plan it is.
    problem, result, limits
        What it was asked and what it answered, with a plan.
    held : sequence of Buffer or None
        The activations behind resident_bytes; None where they are not known.
    """
    if result.plan is None:
        return Addressed(result, None)
    placed = place(problem, result.plan, held, limits)
    if placed.addresses is not None:
        return Addressed(result, placed.addresses)
    lacks = f"of {result.objective} cycles has no addresses: {placed.why}"
    note = f"its plan {lacks}"
    if not placed.impossible:
        return Addressed(result, None, note)
    started = perf_counter()
    for part in SMALLER:
        seconds = limits.seconds - (perf_counter() - started)
        smaller = problem.sram_bytes - max(1, problem.sram_bytes // part)
        if seconds <= 0 or smaller <= 0:
            break
        asked = replace(limits, seconds=seconds, warm_start=None)
        again = method.solve(replace(problem, sram_bytes=smaller), asked)
        if again.plan is None or not judge(problem, again.plan).feasible:
            break
        placed = place(problem, again.plan, held, limits)
        if placed.addresses is not None:
            note = f"its first plan {lacks}; this one is planned for {smaller} B"
            return Addressed(_second(result, again), placed.addresses, note)
    return Addressed(result, None, note)


@dataclass(frozen=True, slots=True)
class Placed:
    """Addresses, or why there are none and whether that is proved."""

    addresses: Addresses | None
    impossible: bool = False
    why: str = ""


def place(
    problem: ScheduleProblem,
    plan: Schedule,
    held: Sequence[Buffer] | None,
    limits: Limits[Schedule],
) -> Placed:
    """Fit or search addresses; without any, name the buffers in each other's way."""
    from elkhound.solvers.placement import Search

    buffers = placement_problem(problem, plan, held)
    fitted = lowest_fit(buffers)
    if height_bytes(buffers, fitted) <= buffers.capacity_bytes:
        return Placed(Addresses(buffers.buffers, fitted.offsets))
    found = Search().solve(
        buffers,
        Limits(
            seconds=min(SECONDS, limits.seconds),
            deterministic_work=NODES,
            seed=limits.seed,
        ),
    )
    if found.plan is not None:
        return Placed(Addresses(buffers.buffers, found.plan.offsets))
    impossible = found.status is Status.INFEASIBLE
    known = "proved not to fit" if impossible else str(found.statistics["reason"])
    room = f"{problem.sram_bytes} B per core"
    why = f"{known} in {room}: {collisions(buffers, fitted)}"
    return Placed(None, impossible, why)


def lowest_fit(problem: PlacementProblem) -> Placement:
    """Return the first of the heuristics' placements within C, else the lowest."""
    from elkhound.heuristics.placement import BestFit, FirstFit

    plans: list[Placement] = []
    for order in ("start", "size", "area", "duration"):
        for fit in (BestFit, FirstFit):
            plans.append(fit(order).place(problem))
            if height_bytes(problem, plans[-1]) <= problem.capacity_bytes:
                return plans[-1]
    return min(plans, key=lambda plan: height_bytes(problem, plan))


def collisions(problem: PlacementProblem, high: Placement) -> str:
    """Say which buffers collide when a placement that is too high is pressed into C."""
    pressed = Placement(
        tuple(
            max(0, min(offset, problem.capacity_bytes - buffer.size_bytes))
            for buffer, offset in zip(problem.buffers, high.offsets, strict=True)
        )
    )
    lines = judge_placement(problem, pressed).violations
    return shortened(lines, 2)


def address_violations(
    problem: ScheduleProblem, plan: Schedule, addresses: Addresses
) -> tuple[str, ...]:
    """Say what is wrong with addresses: other buffers than the plan's, or collisions.

    Buffers called P. or W. have to be those of the plan; the others, activations,
    have to add up to resident_bytes.
    """
    held = [b for b in addresses.buffers if b.name[:2] not in ("P.", "W.")]
    try:
        expected = placement_problem(problem, plan, held)
    except ValueError as error:
        return (f"addresses: {error}",)
    missing = set(expected.buffers) ^ set(addresses.buffers)
    if missing:
        first = min(missing, key=lambda b: (b.start_step, b.name))
        word = "has no" if first in expected.buffers else "is not of the plan: it has"
        return (f"addresses: buffer {first.name} {word} address",)
    placed = replace(expected, buffers=addresses.buffers)
    return judge_placement(placed, Placement(addresses.offsets)).violations


def plan_violations(
    judgement: Judgement, problem: Any, plan: Any, addresses: Addresses | None
) -> tuple[str, ...]:
    """Say what is wrong with a plan, or else with its addresses where it has some."""
    if addresses is None or not judgement.feasible:
        return judgement.violations
    return address_violations(problem, plan, addresses)


def shortened(violations: Sequence[str], most: int = 3) -> str:
    """Return violations in one line, the first of them if there are many."""
    more = f" and {len(violations) - most} more" if len(violations) > most else ""
    return "; ".join(violations[:most]) + more


def _second(first: Result[Schedule], again: Result[Schedule]) -> Result[Schedule]:
    """Return the second plan with what the first call proved."""
    bound = first.bound
    if bound is None and first.status is Status.OPTIMAL:
        error = first.rounding_error + first.thinning_error
        value = (first.objective or 0) - error
        bound = Bound(value, BoundKind.PROOF, first.order or OrderClass.free())
    return replace(
        again,
        status=Status.FEASIBLE,
        bound=bound,
        wall_seconds=first.wall_seconds + again.wall_seconds,
        cpu_seconds=first.cpu_seconds + again.cpu_seconds,
    )
