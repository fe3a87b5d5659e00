"""What the allocator may choose from: the intra-operator trade-offs of §4.3."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from elkhound.heuristics.schedule.shapes import shape_numbers
from elkhound.model.allocation import AllocationItem, AllocationOption, pareto
from elkhound.model.schedule import Contention, ScheduleOption, ScheduleProblem
from elkhound.model.units import stretched


@dataclass(frozen=True, slots=True)
class Front:
    """An allocation item, and the operator's option behind each of its points.

    Parameters
    ----------
    number : int
        Items with equal points have the same number.
    """

    number: int
    item: AllocationItem
    options: tuple[int, ...]

    @property
    def least_bytes(self) -> int:
        """The smallest point; points run from large to small."""
        return self.item.options[-1].size_bytes


class Fronts:
    """Makes every trade-off of a problem once per shape of operator."""

    def __init__(self, problem: ScheduleProblem) -> None:
        self._problem = problem
        self._shapes = shape_numbers(problem)
        self._made: dict[tuple[int, ...], Front] = {}
        self._numbers: dict[tuple[AllocationOption, ...], int] = {}

    def execute(self, i: int) -> Front:
        """Return E_i's bytes against t, each execute plan in its best preload state.

        Bytes are the larger of execute and preload bytes: what both rows ask for.
        """
        key = (self._shapes[i],)
        if key not in self._made:
            options = self._problem.operators[i].options
            points = [
                (option.own_bytes, option.execute_cycles, k)
                for k, option in enumerate(options)
            ]
            self._made[key] = self._front("execute", options, points)
        return self._made[key]

    def preload(self, j: int, option: int, booked_bytes: int, slowed: bool) -> Front:
        """Return P_j's bytes against the time each state costs.

        That time is E_j's, which distributes what was not preloaded, plus the link
        time that the preload adds where the rule charges it to an execute.

        Parameters
        ----------
        option : int
            The option taken so far: only smaller states of its plan are offered.
        booked_bytes : int
            What E_j was allotted: a state that needs more is not offered.
        slowed : bool
            Whether E_j is stretched by preloads outstanding beside it.
        """
        key = (self._shapes[j], option, booked_bytes, int(slowed))
        if key not in self._made:
            options = self._problem.operators[j].options
            taken = options[option]
            points = [
                (state.preload_bytes, self._cycles(state, slowed), k)
                for k, state in enumerate(options)
                if state.execute_plan == taken.execute_plan
                and state.preload_bytes <= taken.preload_bytes
                and state.own_bytes <= booked_bytes
            ]
            self._made[key] = self._front("preload", options, points)
        return self._made[key]

    def _cycles(self, state: ScheduleOption, slowed: bool) -> int:
        if self._problem.contention is Contention.CHARGE:
            return state.execute_cycles + state.preload_link_cycles
        if not slowed:
            return state.execute_cycles
        return stretched(
            state.execute_cycles,
            state.execute_link_cycles,
            self._problem.link_stretch_permille,
        )

    def _front(
        self,
        name: str,
        options: tuple[ScheduleOption, ...],
        points: Iterable[tuple[int, int, int]],
    ) -> Front:
        """Keep the Pareto points (bytes, cycles, option).

        Of equal points the one with the smaller, then shorter, preload stays.
        """
        ranked = sorted(
            points,
            key=lambda p: (options[p[2]].preload_bytes, options[p[2]].preload_cycles),
        )
        every = tuple(AllocationOption(size, cycles) for size, cycles, _ in ranked)
        kept = pareto(AllocationItem(name, every))
        item = AllocationItem(name, tuple(every[place] for place in kept))
        return Front(
            number=self._numbers.setdefault(item.options, len(self._numbers)),
            item=item,
            options=tuple(ranked[place][2] for place in kept),
        )
