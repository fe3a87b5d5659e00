"""The schedule problem and its plans (docs/schedule.md has the mathematics)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Contention(StrEnum):
    """How a preload slows an execute that shares the links with it."""

    NONE = "none"
    STRETCH = "stretch"
    CHARGE = "charge"


@dataclass(frozen=True, slots=True)
class TensorSplit:
    """How one tensor of an operator is cut, rotated and preloaded.

    Parameters
    ----------
    tensor : str
        Name in the graph.
    rotation : tuple of (str, int)
        Rotation factor per dimension, those above 1 only.
    preload_share : int
        g: HBM delivers 1/g of the core's share, peers hold the rest; 1 for
        tensors that are not streamed.
    """

    tensor: str
    rotation: tuple[tuple[str, int], ...] = ()
    preload_share: int = 1


@dataclass(frozen=True, slots=True)
class OptionPayload:
    """What an option means on the chip; schedulers never look inside.

    Parameters
    ----------
    splits : tuple of (str, int)
        Spatial split of every dimension.
    tensors : tuple of TensorSplit
        Rotation and preload state of the inputs.
    cores_used : int
        Product of the splits.
    steps : int
        Compute-shift steps (1: nothing rotates).
    syncs : int
        Synchronisations inside `exchange_cycles`.
    hbm_bytes : int
        True bytes HBM delivers, over all cores.
    exchange_bytes, distribute_bytes : int
        Bytes a core receives from its peers while executing / before it.
    sizes : tuple of (str, int)
        Size of every dimension in `splits`, in the same order; empty: not known.
    members : tuple of MemberWork
        The operators of a fused one, in order: `splits` are those they share, and
        syncs and bytes are sums; empty: one operator.
    chunks : int
        How many times the members run one after another, each time on a part of
        their tiles along one dimension.
    """

    splits: tuple[tuple[str, int], ...]
    tensors: tuple[TensorSplit, ...]
    cores_used: int
    steps: int
    syncs: int
    hbm_bytes: int
    exchange_bytes: int
    distribute_bytes: int
    sizes: tuple[tuple[str, int], ...] = ()
    members: tuple[MemberWork, ...] = ()
    chunks: int = 1

    def __post_init__(self) -> None:
        cut = [name for name, _ in self.splits]
        if self.sizes and [name for name, _ in self.sizes] != cut:
            raise ValueError(
                f"sizes name {[name for name, _ in self.sizes]}, must name the "
                f"dimensions of splits, {cut}"
            )


@dataclass(frozen=True, slots=True)
class MemberWork:
    """What one operator does inside a fused one, all chunks together.

    Parameters
    ----------
    name : str
        Name in the graph.
    compute_cycles, exchange_cycles : int
        Its part of the fused option's phases.
    payload : OptionPayload
        Its own splits, rotations and preload states; `steps` are those of one chunk.
    """

    name: str
    compute_cycles: int
    exchange_cycles: int
    payload: OptionPayload


@dataclass(frozen=True, slots=True)
class ScheduleOption:
    """One way to execute an operator, with one state of its preloaded data.

    Parameters
    ----------
    execute_plan : int
        Options of an operator with the same number are one execute plan in
        different preload states.
    execute_bytes, preload_bytes : int
        Bytes per core while it executes / from its preload's issue on.
    preload_cycles, preload_link_cycles : int
        h, and its link work Y ≤ h.
    execute_cycles, execute_link_cycles : int
        t without contention, and its link work X ≤ t.
    distribute_cycles, compute_cycles, exchange_cycles : int or None
        Phases inside t, for the simulator; None: X cycles of exchange, then
        t − X of compute.
    payload : OptionPayload or None
        Where the option came from.
    """

    execute_plan: int
    execute_bytes: int
    preload_bytes: int
    preload_cycles: int
    preload_link_cycles: int
    execute_cycles: int
    execute_link_cycles: int
    distribute_cycles: int | None = None
    compute_cycles: int | None = None
    exchange_cycles: int | None = None
    payload: OptionPayload | None = None

    def __post_init__(self) -> None:
        for name in (
            "execute_plan",
            "execute_bytes",
            "preload_bytes",
            "preload_cycles",
            "preload_link_cycles",
            "execute_cycles",
            "execute_link_cycles",
        ):
            value = getattr(self, name)
            if value < 0:
                raise ValueError(f"{name} is {value}, must not be negative")
        if self.preload_link_cycles > self.preload_cycles:
            raise ValueError(
                f"preload_link_cycles is {self.preload_link_cycles}, must be at most "
                f"preload_cycles = {self.preload_cycles}"
            )
        if self.execute_link_cycles > self.execute_cycles:
            raise ValueError(
                f"execute_link_cycles is {self.execute_link_cycles}, must be at most "
                f"execute_cycles = {self.execute_cycles}"
            )
        self._check_phases()

    def _check_phases(self) -> None:
        phases = (self.distribute_cycles, self.compute_cycles, self.exchange_cycles)
        if all(phase is None for phase in phases):
            return
        if any(phase is None for phase in phases):
            raise ValueError(
                "distribute_cycles, compute_cycles and exchange_cycles: "
                "give all three or none"
            )
        distribute, compute, exchange = (phase or 0 for phase in phases)
        if min(distribute, compute, exchange) < 0:
            raise ValueError("a phase has negative cycles")
        if distribute + exchange != self.execute_link_cycles:
            raise ValueError(
                f"distribute_cycles + exchange_cycles = {distribute + exchange}, "
                f"must equal execute_link_cycles = {self.execute_link_cycles}"
            )
        total = self.execute_cycles
        serial = distribute + compute + exchange
        overlapped = distribute + max(compute, exchange)
        if total not in (serial, overlapped):
            raise ValueError(
                f"execute_cycles = {total}, must equal the phases one after another "
                f"({serial}) or with compute and exchange overlapped ({overlapped})"
            )

    @property
    def own_bytes(self) -> int:
        """What the operator itself takes of its step, per core.

        The larger of its two SRAM rows: both hold the same outstanding preloads.
        """
        return max(self.execute_bytes, self.preload_bytes)

    @property
    def streams(self) -> bool:
        """Whether this option has anything to preload."""
        return self.preload_bytes > 0 or self.preload_cycles > 0


@dataclass(frozen=True, slots=True)
class ScheduleOperator:
    """One operator: its options, and what else lies in SRAM while it runs.

    Parameters
    ----------
    name : str
        Unique in the problem.
    options : tuple of ScheduleOption
        At least one; all of them stream, or none does.
    resident_bytes : int
        r_i: activations held past their neighbour, per core.
    layer : int or None
        Index of the repeated layer.
    """

    name: str
    options: tuple[ScheduleOption, ...]
    resident_bytes: int = 0
    layer: int | None = None

    def __post_init__(self) -> None:
        if not self.options:
            raise ValueError(f"operator {self.name}: has no options")
        if self.resident_bytes < 0:
            raise ValueError(
                f"operator {self.name}: resident_bytes is {self.resident_bytes}, "
                "must not be negative"
            )
        if len({option.streams for option in self.options}) > 1:
            raise ValueError(
                f"operator {self.name}: some options preload and some do not"
            )

    @property
    def least_bytes(self) -> int:
        """SRAM per core without which it cannot run, resident activations included."""
        return self.resident_bytes + min(option.own_bytes for option in self.options)

    @property
    def streams(self) -> bool:
        """Whether the operator has a preload, and so a gate."""
        return self.options[0].streams


@dataclass(frozen=True, slots=True)
class ScheduleProblem:
    """Choose a gate and an option for every operator; minimise the makespan.

    Parameters
    ----------
    sram_bytes : int
        C: usable bytes per core.
    operators : tuple of ScheduleOperator
        In execution order.
    contention : Contention
        Rule for D_i.
    link_stretch_permille : int
        σ of the stretch rule.
    max_outstanding : int or None
        K: preloads outstanding during any execute; None for no limit.
    name : str
        Name shown in reports.
    """

    sram_bytes: int
    operators: tuple[ScheduleOperator, ...]
    contention: Contention = Contention.STRETCH
    link_stretch_permille: int = 1000
    max_outstanding: int | None = None
    name: str = "problem"

    def __post_init__(self) -> None:
        if self.sram_bytes <= 0:
            raise ValueError(f"sram_bytes is {self.sram_bytes}, must be positive")
        if not self.operators:
            raise ValueError("operators: at least one is needed")
        if self.link_stretch_permille < 0:
            raise ValueError(
                f"link_stretch_permille is {self.link_stretch_permille}, "
                "must not be negative"
            )
        if self.max_outstanding is not None and self.max_outstanding < 0:
            raise ValueError(
                f"max_outstanding is {self.max_outstanding}, must not be negative"
            )
        names = [operator.name for operator in self.operators]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"operators: two are called {twice}")

    @property
    def misfit(self) -> ScheduleOperator | None:
        """The first operator that fits in no option; None if there is a plan.

        A plan exists if and only if every operator fits alone: then issuing each
        preload just before its own execute is one.
        """
        for operator in self.operators:
            if operator.least_bytes > self.sram_bytes:
                return operator
        return None

    @property
    def streaming(self) -> tuple[int, ...]:
        """Indices of the operators that have a preload."""
        return tuple(i for i, o in enumerate(self.operators) if o.streams)


@dataclass(frozen=True, slots=True)
class Schedule:
    """A plan: when each preload is issued and which options are taken.

    Parameters
    ----------
    gates : tuple of (int or None)
        g_j: executes issued before P_j; None for operators that stream nothing.
    options : tuple of int
        o_i: index into each operator's options.
    """

    gates: tuple[int | None, ...]
    options: tuple[int, ...]
