"""What a simulated program costs, and where the time goes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any


class PhaseKind(StrEnum):
    """What a core does during an execute."""

    DISTRIBUTE = "distribute"
    EXCHANGE = "exchange"
    COMPUTE = "compute"


class Limit(StrEnum):
    """What an operator spends most of its time on."""

    HBM = "hbm"
    LINKS = "links"
    COMPUTE = "compute"
    SRAM_PORT = "sram-port"


@dataclass(frozen=True, slots=True)
class Phase:
    """A core does one thing from `start_cycle` until `end_cycle`."""

    kind: PhaseKind
    start_cycle: int
    end_cycle: int

    @property
    def cycles(self) -> int:
        """Its length."""
        return self.end_cycle - self.start_cycle


@dataclass(frozen=True, slots=True)
class OperatorScore:
    """When one operator was preloaded and executed, on its slowest core.

    Parameters
    ----------
    name : str
        The operator's.
    preload_issue_cycle, preload_start_cycle, preload_end_cycle : int or None
        Request to HBM, first byte, last byte; None where nothing is streamed.
    execute_issue_cycle, execute_start_cycle, execute_end_cycle : int
        Issue by the host, data there, end.
    contention_cycles : int
        How much longer the execute took than with the links to itself.
    stall_cycles : int
        Compute cycles added because peers read the core's SRAM; inside what the
        execute takes with the links to itself.
    phases : tuple of Phase
        From `execute_start_cycle` on; compute and exchange overlap if the chip can.
    preload_limit : Limit
        HBM or LINKS: which of them its preload takes longer for alone.
    """

    name: str
    preload_issue_cycle: int | None
    preload_start_cycle: int | None
    preload_end_cycle: int | None
    execute_issue_cycle: int
    execute_start_cycle: int
    execute_end_cycle: int
    contention_cycles: int
    stall_cycles: int
    phases: tuple[Phase, ...]
    preload_limit: Limit

    @property
    def bound_by(self) -> Limit:
        """What most of the time from issue to end goes to, the first of equals.

        A wait for the preload counts for what limits the preload, distribution and
        exchange for links, reads by peers for the SRAM port. A tile that takes as long
        as its operands need to cross the port counts as compute.
        """
        spent = dict.fromkeys(Limit, 0)
        spent[self.preload_limit] += self.wait_cycles
        for kind in (PhaseKind.DISTRIBUTE, PhaseKind.EXCHANGE):
            spent[Limit.LINKS] += self.phase_cycles(kind)
        spent[Limit.SRAM_PORT] += self.stall_cycles
        spent[Limit.COMPUTE] += self.phase_cycles(PhaseKind.COMPUTE) - self.stall_cycles
        return max(spent, key=lambda limit: spent[limit])

    @property
    def wait_cycles(self) -> int:
        """Cycles the cores stood still for its preload."""
        return self.execute_start_cycle - self.execute_issue_cycle

    @property
    def execute_cycles(self) -> int:
        """D_i as simulated."""
        return self.execute_end_cycle - self.execute_start_cycle

    def phase_cycles(self, kind: PhaseKind) -> int:
        """Return the cycles spent in phases of one kind."""
        return sum(phase.cycles for phase in self.phases if phase.kind is kind)


@dataclass(frozen=True, slots=True)
class TimeSplit:
    """The makespan by what happens (paper figure 18a); the parts add up to it.

    Parameters
    ----------
    preload_only, execute_only : int
        Cycles in which only HBM delivers, or only an execute runs.
    overlapped : int
        Both, without the cycles counted as contention.
    contention : int
        Cycles by which executes took longer because preloads used their ports.
    idle : int
        Neither: latency of HBM that nothing hides.
    """

    preload_only: int
    execute_only: int
    overlapped: int
    contention: int
    idle: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Reserved bytes per core from a cycle on."""

    cycle: int
    executing_bytes: int
    preloaded_bytes: int
    resident_bytes: int

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Executing, preloaded and resident bytes."""
        return self.executing_bytes, self.preloaded_bytes, self.resident_bytes

    @property
    def total_bytes(self) -> int:
        """All of them."""
        return sum(self.sizes)


@dataclass(frozen=True, slots=True)
class CoreScore:
    """What one core, or each core of a class, did.

    Parameters
    ----------
    name : str
        Core or core class.
    multiplicity : int
        Cores it stands for.
    delivered_bytes : int
        What HBM brought to the core.
    link_work_cycles, sent_work_cycles : Fraction
        What flowed through its in-port and its out-port, in cycles of a whole port;
        on a mesh, the mean over the links into it and out of it.
    link_peak_load : Fraction
        Highest load of any link into it; 1 is the capacity.
    compute_cycles : int
        Time spent computing.
    """

    name: str
    multiplicity: int
    delivered_bytes: int
    link_work_cycles: Fraction
    sent_work_cycles: Fraction
    link_peak_load: Fraction
    compute_cycles: int


@dataclass(frozen=True, slots=True)
class LinkScore:
    """What went over one link, or over each of several that carry the same.

    Parameters
    ----------
    name : str
        The link, or the first of them.
    multiplicity : int
        How many there are.
    carried_bytes : int or None
        True bytes over it, preloads and exchanges; None where options do not tell
        what they exchange.
    work_cycles : Fraction
        Cycles of the whole link that took, synchronisation and protocol included.
    peak_load : Fraction
        Its highest load; 1 is the capacity.
    """

    name: str
    multiplicity: int
    carried_bytes: int | None
    work_cycles: Fraction
    peak_load: Fraction


@dataclass(frozen=True, slots=True)
class Score:
    """Everything a simulation tells about a program.

    Parameters
    ----------
    makespan_cycles : int
        End of the last execute.
    operators : tuple of OperatorScore
        By operator index.
    split : TimeSplit
        Where the makespan goes.
    cores : tuple of CoreScore
        By core or core class.
    links : tuple of LinkScore
        By link; those with the same numbers share an entry.
    sram_bytes : int
        Usable bytes per core.
    occupancy : tuple of Occupancy
        Reserved bytes from each cycle at which they change; the same on all cores.
    peak_bytes : int
        Most SRAM reserved at any time.
    hbm_busy_cycles : int
        Cycles in which HBM was delivering, slowed or not.
    hbm_bytes : int or None
        True bytes HBM delivered over all cores; None where options do not tell.
    hbm_utilisation, link_utilisation, compute_utilisation : float or None
        Part of what HBM, in-ports (mean over cores) and cores could have done
        within the makespan; None for a makespan of 0. HBM: bytes over rate where
        both are known, else the preloads' uncontended cycles.
    fidelity : str
        Whether every core was simulated or every class of them.
    contention, latency, efficiency : bool
        What was simulated.
    events : int
        Events the simulation processed.
    """

    makespan_cycles: int
    operators: tuple[OperatorScore, ...]
    split: TimeSplit
    cores: tuple[CoreScore, ...]
    links: tuple[LinkScore, ...]
    sram_bytes: int
    occupancy: tuple[Occupancy, ...]
    peak_bytes: int
    hbm_busy_cycles: int
    hbm_bytes: int | None
    hbm_utilisation: float | None
    link_utilisation: float | None
    compute_utilisation: float | None
    fidelity: str
    contention: bool
    latency: bool
    efficiency: bool
    events: int


def split_time(operators: tuple[OperatorScore, ...], makespan: int) -> TimeSplit:
    """Return where the makespan goes; preloads and executes are disjoint each."""
    preloads = sorted(
        (o.preload_start_cycle, o.preload_end_cycle)
        for o in operators
        if o.preload_start_cycle is not None and o.preload_end_cycle is not None
    )
    executes = [(o.execute_start_cycle, o.execute_end_cycle) for o in operators]
    both = _common_cycles(preloads, executes)
    preloading = sum(end - start for start, end in preloads)
    executing = sum(end - start for start, end in executes)
    contention = sum(operator.contention_cycles for operator in operators)
    return TimeSplit(
        preload_only=preloading - both,
        execute_only=executing - both,
        overlapped=both - contention,
        contention=contention,
        idle=makespan - (preloading + executing - both),
    )


def _common_cycles(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> int:
    common = i = j = 0
    while i < len(left) and j < len(right):
        start = max(left[i][0], right[j][0])
        end = min(left[i][1], right[j][1])
        common += max(0, end - start)
        if left[i][1] <= right[j][1]:
            i += 1
        else:
            j += 1
    return common


def score_document(score: Score) -> dict[str, Any]:
    """Return the score as JSON types.

    Phases are ``[kind, start, end]`` and occupancy steps ``[cycle, executing,
    preloaded, resident]``, because there are many of them.
    """
    document = {
        name: getattr(score, name)
        for name in Score.__dataclass_fields__
        if name not in ("operators", "split", "cores", "links", "occupancy")
    }
    document["occupancy"] = [[step.cycle, *step.sizes] for step in score.occupancy]
    document["split"] = asdict(score.split)
    document["operators"] = [_operator_document(o) for o in score.operators]
    document["cores"] = [_plain(core) for core in score.cores]
    document["links"] = [_plain(link) for link in score.links]
    return document


def _operator_document(operator: OperatorScore) -> dict[str, Any]:
    document = {
        name: getattr(operator, name)
        for name in OperatorScore.__dataclass_fields__
        if name not in ("phases", "preload_limit")
    }
    document["bound_by"] = operator.bound_by.value
    document["wait_cycles"] = operator.wait_cycles
    document["execute_cycles"] = operator.execute_cycles
    for kind in PhaseKind:
        document[f"{kind}_cycles"] = operator.phase_cycles(kind)
    document["phases"] = [
        [phase.kind.value, phase.start_cycle, phase.end_cycle]
        for phase in operator.phases
    ]
    return document


def _plain(part: CoreScore | LinkScore) -> dict[str, Any]:
    """Return a part of the score with its fractions as floats."""
    document = {name: getattr(part, name) for name in part.__dataclass_fields__}
    return {
        name: float(value) if isinstance(value, Fraction) else value
        for name, value in document.items()
    }
