"""An accelerator as fusion sees it: memories from outer to inner, and compute units."""

from __future__ import annotations

import math
from dataclasses import dataclass

TENSOR_SETS = (
    "all",
    "nothing",
    "intermediates",
    "not-intermediates",
    "not-above",
    "input",
    "output",
    "weight",
)
"""Words of `keep` and `may_keep`; several of them mean their union."""


@dataclass(frozen=True, slots=True)
class FanOut:
    """Parallel units of a component along one of its dimensions.

    Parameters
    ----------
    component : str
        The component that stands there several times, or the container around it.
    dimension : str
        Name of the dimension, unique in the component.
    size : int
        Units along it.
    multicast : bool
        Whether one read above serves all units that need the same data.
    reduction : bool
        Whether partial results of the units are summed on the way up.
    ranks : str
        Ranks that mappers may lay along it: ``any``, ``not-input`` (ranks that do not
        index the input: units share it) or ``not-output``.
    min_usage : float
        Least share of the units that mappers must use, if the ranks allow it.
    """

    component: str
    dimension: str
    size: int
    multicast: bool = False
    reduction: bool = False
    ranks: str = "any"
    min_usage: float = 0.0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"{self.label}: size is {self.size}, must be at least 1")
        if self.ranks not in ("any", "not-input", "not-output"):
            raise ValueError(
                f"{self.label}: ranks is {self.ranks!r}, must be any, not-input or "
                "not-output"
            )
        if not 0 <= self.min_usage <= 1:
            raise ValueError(
                f"{self.label}: min_usage is {self.min_usage}, must be in [0, 1]"
            )

    @property
    def label(self) -> str:
        """`Component.dimension`, as mappings write it."""
        return f"{self.component}.{self.dimension}"


@dataclass(frozen=True, slots=True)
class Memory:
    """One level of storage; numbers are of one unit unless said otherwise.

    Parameters
    ----------
    name : str
        Unique in the accelerator.
    size_bits : int or None
        Capacity; None: unlimited.
    read_energy, write_energy : float
        Per bit.
    bits_per_cycle : float or None
        Rate of reads and writes together; None: unlimited, or separate ports.
    read_bits_per_cycle, write_bits_per_cycle : float or None
        Rates of separate ports; None: unlimited.
    leak : float
        Energy per cycle of all its units together.
    fan_outs : tuple of FanOut
        How many of it stand under one unit of the level above.
    keep, may_keep : tuple of str
        Tensors that mappers must and may hold there: words of `TENSOR_SETS`.
    backing : bool
        Whether it may be the first memory that holds a tensor.
    """

    name: str
    size_bits: int | None
    read_energy: float
    write_energy: float
    bits_per_cycle: float | None = None
    read_bits_per_cycle: float | None = None
    write_bits_per_cycle: float | None = None
    leak: float = 0.0
    fan_outs: tuple[FanOut, ...] = ()
    keep: tuple[str, ...] = ("nothing",)
    may_keep: tuple[str, ...] = ("all",)
    backing: bool = True

    def __post_init__(self) -> None:
        _require_energies(self, "read_energy", "write_energy", "leak")
        separate = (self.read_bits_per_cycle, self.write_bits_per_cycle)
        rates = (self.bits_per_cycle, *separate)
        if any(rate is not None and not rate > 0 for rate in rates):
            raise ValueError(f"{self.name}: a bits_per_cycle is not above 0")
        if self.bits_per_cycle is not None and separate != (None, None):
            raise ValueError(
                f"{self.name}: bits_per_cycle is shared by reads and writes, "
                "read_bits_per_cycle and write_bits_per_cycle are not; give one kind"
            )
        for field in ("keep", "may_keep"):
            for word in getattr(self, field):
                if word not in TENSOR_SETS:
                    raise ValueError(
                        f"{self.name}: {field} holds {word!r}, must be among "
                        f"{', '.join(TENSOR_SETS)}"
                    )

    def cycles(self, read_bits: int, write_bits: int) -> float:
        """Return how long its ports need; separate ports work at the same time."""
        if self.bits_per_cycle is not None:
            return (read_bits + write_bits) / self.bits_per_cycle
        read, write = self.read_bits_per_cycle, self.write_bits_per_cycle
        return max(
            0.0 if read is None else read_bits / read,
            0.0 if write is None else write_bits / write,
        )


@dataclass(frozen=True, slots=True)
class Compute:
    """A compute unit.

    Parameters
    ----------
    name : str
        Unique in the accelerator.
    energy : float
        Per operation: one point of an einsum's iteration space.
    ops_per_cycle : float or None
        Rate of one unit; None: unlimited.
    tensors : int or None
        Einsums of this many tensors run here; None: all.
    leak : float
        Energy per cycle of all its units together.
    fan_outs : tuple of FanOut
        How many of it stand under one unit of the memory above.
    below : str or None
        The memory it stands under; None: the innermost.
    """

    name: str
    energy: float
    ops_per_cycle: float | None
    tensors: int | None = None
    leak: float = 0.0
    fan_outs: tuple[FanOut, ...] = ()
    below: str | None = None

    def __post_init__(self) -> None:
        _require_energies(self, "energy", "leak")
        if self.ops_per_cycle is not None and not self.ops_per_cycle > 0:
            raise ValueError(
                f"{self.name}: ops_per_cycle is {self.ops_per_cycle}, must be above 0"
            )

    def cycles(self, operations: int) -> float:
        """Return how long one unit needs."""
        return 0.0 if self.ops_per_cycle is None else operations / self.ops_per_cycle


@dataclass(frozen=True, slots=True)
class Accelerator:
    """Memories from outer to inner, and compute units under them.

    Parameters
    ----------
    name : str
        Name shown in reports.
    memories : tuple of Memory
        The first is main memory.
    compute : tuple of Compute
        At least one.
    clock_hz : int or None
        With a clock, energies of the parts are in pJ, and costs come in J and s;
        without one, in the energies' own unit and in cycles.
    """

    name: str
    memories: tuple[Memory, ...]
    compute: tuple[Compute, ...]
    clock_hz: int | None = None

    def __post_init__(self) -> None:
        if not self.memories or not self.compute:
            raise ValueError(f"{self.name}: needs at least one memory and one compute")
        names = [part.name for part in self.parts]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"{self.name}: two parts are called {twice[0]}")
        if self.memories[0].fan_outs or not self.memories[0].backing:
            raise ValueError(
                f"{self.memories[0].name}: main memory stands once and backs tensors"
            )
        labels = [fan_out.label for fan_out, _ in self.fan_outs]
        if len(set(labels)) < len(labels):
            label = next(label for label in labels if labels.count(label) > 1)
            raise ValueError(f"{self.name}: two fan-outs are called {label}")
        for unit in self.compute:
            if unit.below not in (None, *(memory.name for memory in self.memories)):
                raise ValueError(f"{unit.name}: below names no memory: {unit.below}")

    @property
    def parts(self) -> tuple[Memory | Compute, ...]:
        """Memories, then compute units."""
        return (*self.memories, *self.compute)

    @property
    def fan_outs(self) -> tuple[tuple[FanOut, int], ...]:
        """Every fan-out with the level it enters: a memory's index, or their count."""
        last = len(self.memories)
        return tuple(
            (fan_out, min(level, last))
            for level, part in enumerate(self.parts)
            for fan_out in part.fan_outs
        )

    def fan_out(self, label: str) -> FanOut:
        """Return the fan-out of a label, which exists."""
        return next(f for f, _ in self.fan_outs if f.label == label)

    def memory(self, name: str) -> Memory:
        """Return the memory of a name, which exists."""
        return next(memory for memory in self.memories if memory.name == name)

    def unit(self, name: str) -> Compute:
        """Return the compute unit of a name, which exists."""
        return next(unit for unit in self.compute if unit.name == name)

    def level(self, memory: str) -> int:
        """Return how many memories lie outside one that exists."""
        return [m.name for m in self.memories].index(memory)

    def level_above(self, unit: str) -> int:
        """Return the level of the memory that a compute unit stands under."""
        below = self.unit(unit).below
        return len(self.memories) - 1 if below is None else self.level(below)

    @property
    def has_energy(self) -> bool:
        """Whether anything takes energy."""
        energies = [part.leak for part in self.parts]
        energies += [unit.energy for unit in self.compute]
        for memory in self.memories:
            energies += [memory.read_energy, memory.write_energy]
        return any(energies)

    @property
    def has_rate(self) -> bool:
        """Whether anything takes time."""
        memories = (
            (m.bits_per_cycle, m.read_bits_per_cycle, m.write_bits_per_cycle)
            for m in self.memories
        )
        rates = [rate for own in memories for rate in own]
        rates += [unit.ops_per_cycle for unit in self.compute]
        return any(rate is not None for rate in rates)

    @property
    def energy_scale(self) -> float:
        """What one unit of the parts' energy is in the unit of costs."""
        return 1.0 if self.clock_hz is None else 1e-12

    @property
    def cycle_time(self) -> float:
        """What one cycle is in the unit of costs."""
        return 1.0 if self.clock_hz is None else 1 / self.clock_hz

    @property
    def units(self) -> tuple[str, str]:
        """Units of energy and latency of costs; empty energy unit: the parts' own."""
        return ("", "cycles") if self.clock_hz is None else ("J", "s")


def _require_energies(part: Memory | Compute, *fields: str) -> None:
    for field in fields:
        value = getattr(part, field)
        if not (value >= 0 and math.isfinite(value)):
            raise ValueError(
                f"{part.name}: {field} is {value}, must be at least 0 and finite"
            )
