from __future__ import annotations

from pathlib import Path

import pytest

from elkhound.model.fusion import cost_of, parse_mapping
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.fusion.chip_accelerator import ChipEnergy, as_accelerator
from elkhound.model.io import chip_document, load_accelerator, load_chip
from elkhound.model.io.text import as_text, write_text
from elkhound.model.referee import judge_fusion


def test_a_chip_is_an_accelerator_of_three_memories() -> None:
    chip = load_chip("toy-8")
    hbm, distributed, core = as_accelerator(chip).memories
    # 16 GB/s at 1 GHz; eight ports of 4 B per cycle; 64,512 usable bytes, half each
    assert hbm.bits_per_cycle == 16 * 8
    assert distributed.write_bits_per_cycle == 8 * 4 * 8
    assert distributed.size_bits == 8 * 32_256 * 8
    assert core.size_bits == 32_256 * 8
    assert core.bits_per_cycle == 16 * 8


def test_a_matmul_spread_over_cores_takes_what_its_slowest_part_takes() -> None:
    accelerator = as_accelerator(load_chip("toy-8"), energy=ChipEnergy(hbm_bit=2.0))
    workload = fusion_workload("matmuls", {"einsums": 1})
    tree = parse_mapping(
        "[HBM] stores T0, W0, T1\n[DistributedSRAM] stores T0, W0, T1\n"
        "spatial-for m tile=8 over CoreSRAM.core\n[CoreSRAM] stores T0, W0, T1\n"
        "for n1 tile=1\nfor n0 tile=1\nfor m tile=1\ncompute Matmul0 on MatmulUnit\n"
    )
    cost = cost_of(accelerator, workload, tree)
    # HBM moves T0, W0 and T1, 32,768 bits each, at 128 bits per cycle: 768 cycles. Each
    # core does 32,768 operations at 64 per cycle, 512 cycles; for each of them its SRAM
    # port reads two operands of 8 bits and T1's 8 to and fro, less 512 first touches,
    # all at 128 bits per cycle. T0's tile of 8 rows (4,096 bits) and W0 come in, T1's
    # tile goes out: 1,085,440 bits, 8,480 cycles.
    bits = 32_768 * 8 * 4 - 512 * 8 + 4_096 + 32_768 + 4_096
    assert bits == 1_085_440
    assert cost.latency == pytest.approx(8_480e-9)
    assert cost.latency_by_component["Matmul0", "HBM"] == pytest.approx(768e-9)
    assert cost.latency_by_component["Matmul0", "MatmulUnit"] == pytest.approx(512e-9)
    assert cost.energy == pytest.approx(3 * 32_768 * 2e-12)
    assert judge_fusion(accelerator, workload, tree).latency == pytest.approx(
        cost.latency
    )


def test_the_sram_of_a_core_is_never_counted_twice() -> None:
    chip = load_chip("toy-8")
    _, distributed, core = as_accelerator(chip, execute_bytes=60_000).memories
    assert distributed.size_bits is not None
    assert core.size_bits is not None
    assert distributed.size_bits // 8 + core.size_bits == chip.core.usable_bytes * 8
    with pytest.raises(ValueError, match="must be above 0 and below the usable 64512"):
        as_accelerator(chip, execute_bytes=64_512)


def test_a_chip_is_loaded_by_name_and_from_its_file(tmp_path: Path) -> None:
    chip = load_chip("toy-8")
    file = tmp_path / "chip.yaml"
    write_text(file, as_text(chip_document(chip)))
    assert load_accelerator("toy-8") == as_accelerator(chip)
    assert load_accelerator(str(file)) == as_accelerator(chip)
