"""The small problems on which everything must agree, in named groups."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from elkhound.model.instances import SCHEDULE_FAMILIES, random_schedule
from elkhound.model.schedule import Contention, ScheduleProblem

# operators, (execute plans, preload states): 120 to 3840 plans
SHAPES = [
    (3, (2, 2)),
    (4, (1, 2)),
    (4, (2, 1)),
    (5, (1, 1)),
    (3, (3, 2)),
    (4, (3, 1)),
    (2, (3, 3)),
]
LARGEST = (5, (2, 1))
STRETCH_PERMILLE = [1000, 977, 330, 2500]


@dataclass(frozen=True)
class Group:
    """Problems of one family under one rule, with or without the limit K."""

    contention: Contention
    limited: bool
    family: str

    def __str__(self) -> str:
        limit = "K" if self.limited else "any"
        return f"{self.contention}-{limit}-{self.family}"

    def problems(self) -> list[ScheduleProblem]:
        """Seven problems, one of each shape; one group in eight has a largest one."""
        shapes = list(SHAPES)
        if self.family == "tight-sram":
            shapes[-1] = LARGEST
        return [
            random_schedule(
                seed,
                size,
                self.family,
                options=options,
                contention=self.contention,
                link_stretch_permille=STRETCH_PERMILLE[seed % 4],
                max_outstanding=seed % 3 if self.limited else None,
            )
            for seed, (size, options) in enumerate(shapes)
        ]


GROUPS = [
    Group(contention, limited, family)
    for contention, limited, family in product(
        Contention, (False, True), SCHEDULE_FAMILIES
    )
]
