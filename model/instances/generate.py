"""One door to all problem generators, as the `generate` verb uses it."""

from __future__ import annotations

from elkhound.model.allocation import AllocationProblem
from elkhound.model.errors import BadInputError, nearest
from elkhound.model.instances.adversarial import ADVERSARIAL, adversarial_schedule
from elkhound.model.instances.allocation import FAMILIES as ALLOCATION_FAMILIES
from elkhound.model.instances.allocation import overshoot, random_allocation
from elkhound.model.instances.placement import FAMILIES as PLACEMENT_FAMILIES
from elkhound.model.instances.placement import random_placement
from elkhound.model.instances.schedule import FAMILIES as SCHEDULE_FAMILIES
from elkhound.model.instances.schedule import random_schedule
from elkhound.model.placement import PlacementProblem
from elkhound.model.schedule import Contention, ScheduleProblem

KINDS = ("schedule", "allocation", "placement")


def families(kind: str) -> tuple[str, ...]:
    """Return the families `generate_problem` knows of a kind, the default first."""
    if kind == "schedule":
        return (*SCHEDULE_FAMILIES, *ADVERSARIAL)
    if kind == "allocation":
        return (*ALLOCATION_FAMILIES, "overshoot")
    if kind == "placement":
        return tuple(PLACEMENT_FAMILIES)
    raise BadInputError(f"kind {kind} is unknown", hint=nearest(kind, list(KINDS)))


def generate_problem(
    kind: str,
    size: int,
    seed: int = 0,
    *,
    family: str | None = None,
    options: int | None = None,
    contention: Contention = Contention.STRETCH,
    max_outstanding: int | None = None,
) -> ScheduleProblem | AllocationProblem | PlacementProblem:
    """Make a problem of a kind; the same arguments give the same problem.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    size : int
        Operators, items, or buffers of several steps; for `overshoot` its M;
        hand-made schedule problems have their own size and ignore it.
    seed : int
        Any integer; hand-made problems ignore it.
    family : str or None
        One of `families(kind)`; None for the first.
    options : int or None
        Execute plans per operator (each in two preload states), or options per item;
        None for the generator's own number.
    contention, max_outstanding
        Of a random schedule problem.
    """
    known = families(kind)
    family = known[0] if family is None else family
    if family not in known:
        raise BadInputError(
            f"family {family} of kind {kind} is unknown",
            hint=nearest(family, list(known)),
        )
    if options is not None and options < 1:
        raise BadInputError(f"options: {options}, must be at least 1")
    if kind == "allocation":
        if family == "overshoot":
            return overshoot(size)
        return random_allocation(seed, size, family, options=options or 6)
    if kind == "placement":
        return random_placement(seed, size, family)
    if family in ADVERSARIAL:
        return adversarial_schedule(family)
    return random_schedule(
        seed,
        size,
        family,
        options=(options or 2, 2),
        contention=contention,
        max_outstanding=max_outstanding,
    )
