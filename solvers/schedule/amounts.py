"""The numbers of a schedule problem in the integer units of a solver's model."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.schedule import Contention, ScheduleProblem
from elkhound.solvers.backends.scaling import FLOAT_LIMIT, Unit, unit_for
from elkhound.solvers.schedule.reduce import stretched_cycles

PLAIN_SUM_LIMIT = 2**28
"""Ticks from which an operator's options are not summed plainly but in steps."""

Table = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Amounts:
    """Sizes in granules and durations in ticks, by operator and option.

    Parameters
    ----------
    bytes_unit, cycles_unit : Unit
        What a granule and a tick are.
    room : tuple of int
        By operator: C − r_i, rounded down.
    own, preload : tuple of tuple of int
        max(execute, preload) bytes, and preload bytes.
    h, y, t, s, x : tuple of tuple of int
        Preload and its link work; execute without and with stretch, and its link
        work.
    """

    bytes_unit: Unit
    cycles_unit: Unit
    room: tuple[int, ...]
    own: Table
    preload: Table
    h: Table
    y: Table
    t: Table
    s: Table
    x: Table

    @property
    def exact(self) -> bool:
        """Whether no size was rounded."""
        return self.bytes_unit.exact

    def rounding_error(self, problem: ScheduleProblem) -> int:
        """Return by how many cycles rounding may lengthen the best schedule.

        A makespan is a longest path over at most one h and one D per operator, and
        under ``charge`` a D is X plus link work that is charged once per preload:
        at most 2N or 3N numbers, each rounded up by less than a tick.
        """
        if self.cycles_unit.exact:
            return 0
        terms = 3 if problem.contention is Contention.CHARGE else 2
        return terms * len(self.t) * (self.cycles_unit.size - 1)

    def serial_horizon(self) -> int:
        """Return ticks within which any schedule ends: everything one by one."""
        preloads = sum(max(h) + max(y) for h, y in zip(self.h, self.y, strict=True))
        return preloads + sum(
            max(s) + max(x) for s, x in zip(self.s, self.x, strict=True)
        )


def amounts_of(problem: ScheduleProblem, *, for_floats: bool = False) -> Amounts:
    """Return the problem's numbers in units in which CP-SAT cannot overflow.

    Sizes divide by their gcd, and so do durations: exact. Only if sums could reach
    2^31 even then are units coarser, and the amounts rounded up. `for_floats` is for
    MILP solvers: sizes keep their gcd whatever the sums, durations get coarser units
    already where the whole schedule could reach `FLOAT_LIMIT`.
    """
    operators = problem.operators
    own = [[o.own_bytes for o in p.options] for p in operators]
    preload = [[o.preload_bytes for o in p.options] for p in operators]
    h = [[o.preload_cycles for o in p.options] for p in operators]
    y = [[o.preload_link_cycles for o in p.options] for p in operators]
    t = [[o.execute_cycles for o in p.options] for p in operators]
    x = [[o.execute_link_cycles for o in p.options] for p in operators]
    if problem.contention is Contention.STRETCH:
        s = [[stretched_cycles(problem, o) for o in p.options] for p in operators]
    else:
        s = t

    sizes = [size for table in (own, preload) for row in table for size in row]
    # The row of step i: its own bytes and every preload's, each at its largest.
    most_bytes = max(map(max, own)) + sum(map(max, preload))
    grain = unit_for(sizes, 0 if for_floats else most_bytes)

    if problem.contention is not Contention.CHARGE:
        x = y = [[0] * len(row) for row in t]
    tables = (h, y, t, s, x)
    cycles = [c for table in tables for row in table for c in row]
    # A row sums a few times of the whole schedule, or all options of one operator,
    # those in steps where their plain sum is large (`GateModel`).
    whole = sum(max(row) for table in (h, y, s, x) for row in table)
    of_options = max(
        max(row) if sum(row) >= PLAIN_SUM_LIMIT else sum(row)
        for table in tables
        for row in table
    )
    if for_floats:
        tick = unit_for(cycles, whole, FLOAT_LIMIT)
    else:
        tick = unit_for(cycles, 4 * whole + of_options)

    def ticks(table: list[list[int]]) -> Table:
        return tuple(tuple(tick.up(cycle) for cycle in row) for row in table)

    def granules(table: list[list[int]]) -> Table:
        return tuple(tuple(grain.up(size) for size in row) for row in table)

    room = (grain.down(problem.sram_bytes - p.resident_bytes) for p in operators)
    return Amounts(
        grain,
        tick,
        tuple(room),
        granules(own),
        granules(preload),
        *(ticks(table) for table in tables),
    )
