"""An inter-core-connected chip as an accelerator of the fusion problem."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.chip import Chip
from elkhound.model.fusion.accelerator import Accelerator, Compute, FanOut, Memory

_BITS = 8


@dataclass(frozen=True, slots=True)
class ChipEnergy:
    """Energies of a chip's parts in pJ; 0 where nobody has measured them.

    Parameters
    ----------
    hbm_bit, link_bit, sram_bit : float
        Per bit read or written, of HBM, of other cores' SRAM and of a core's own.
    operation : float
        Per operation of a core.
    """

    hbm_bit: float = 0.0
    link_bit: float = 0.0
    sram_bit: float = 0.0
    operation: float = 0.0


def as_accelerator(
    chip: Chip, *, execute_bytes: int | None = None, energy: ChipEnergy | None = None
) -> Accelerator:
    """Return HBM → distributed SRAM (through links) → core SRAM → units of a core.

    The SRAM of all cores together is one memory, read through their out-ports at the
    payload rate of exchanges and written through their in-ports. Each core runs from
    its own part of its SRAM; links do not multicast. Latencies of links and HBM are
    left out, as everywhere in the fusion problem.

    Parameters
    ----------
    chip : Chip
        Its usable SRAM is split, so that nothing is counted twice.
    execute_bytes : int, optional
        SRAM of each core that tiles in work may use, the rest is distributed; half of
        the usable SRAM if absent.
    energy : ChipEnergy, optional
        All 0 if absent: such an accelerator tells latencies only.

    Raises
    ------
    ValueError
        `execute_bytes` leaves one of the two parts empty.
    """
    usable = chip.core.usable_bytes
    execute = usable // 2 if execute_bytes is None else execute_bytes
    if not 0 < execute < usable:
        raise ValueError(
            f"chip {chip.name}: execute_bytes is {execute}, must be above 0 and below "
            f"the usable {usable}"
        )
    pj = energy or ChipEnergy()

    def per_cycle(bytes_per_second: int) -> float:
        return bytes_per_second * _BITS / chip.clock_hz

    links = chip.links
    hbm = Memory(
        name="HBM",
        size_bits=None,
        read_energy=pj.hbm_bit,
        write_energy=pj.hbm_bit,
        bits_per_cycle=per_cycle(chip.hbm.bytes_per_second),
        keep=("not-intermediates",),
    )
    distributed = Memory(
        name="DistributedSRAM",
        size_bits=(usable - execute) * _BITS * chip.cores,
        read_energy=pj.link_bit,
        write_energy=pj.link_bit,
        read_bits_per_cycle=per_cycle(links.exchange_bytes_per_second) * chip.cores,
        write_bits_per_cycle=per_cycle(links.inbound_bytes_per_second) * chip.cores,
        keep=("not-above",),
    )
    core = Memory(
        name="CoreSRAM",
        size_bits=execute * _BITS,
        read_energy=pj.sram_bit,
        write_energy=pj.sram_bit,
        bits_per_cycle=chip.core.sram_port_bytes_per_cycle * _BITS,
        fan_outs=(FanOut("CoreSRAM", "core", chip.cores),),
        keep=("all",),
        backing=False,
    )
    matmul = Compute("MatmulUnit", pj.operation, chip.core.mac_per_cycle, tensors=3)
    vector = Compute(
        "VectorUnit", pj.operation, chip.core.vector_flop_per_cycle, tensors=2
    )
    return Accelerator(
        chip.name, (hbm, distributed, core), (matmul, vector), chip.clock_hz
    )
