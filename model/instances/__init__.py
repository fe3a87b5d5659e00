"""Seeded random and hand-made problems, for users, tests and studies."""

from elkhound.model.instances.adversarial import ADVERSARIAL, adversarial_schedule
from elkhound.model.instances.allocation import FAMILIES as ALLOCATION_FAMILIES
from elkhound.model.instances.allocation import overshoot, random_allocation
from elkhound.model.instances.fusion import FAMILIES as FUSION_FAMILIES
from elkhound.model.instances.fusion import random_workload
from elkhound.model.instances.generate import KINDS, families, generate_problem
from elkhound.model.instances.placement import FAMILIES as PLACEMENT_FAMILIES
from elkhound.model.instances.placement import random_placement
from elkhound.model.instances.schedule import FAMILIES as SCHEDULE_FAMILIES
from elkhound.model.instances.schedule import least_sram_bytes, random_schedule

__all__ = [
    "ADVERSARIAL",
    "ALLOCATION_FAMILIES",
    "FUSION_FAMILIES",
    "KINDS",
    "PLACEMENT_FAMILIES",
    "SCHEDULE_FAMILIES",
    "adversarial_schedule",
    "families",
    "generate_problem",
    "least_sram_bytes",
    "overshoot",
    "random_allocation",
    "random_placement",
    "random_schedule",
    "random_workload",
]
