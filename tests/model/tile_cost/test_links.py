"""A line per link, and the chip that lines make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from elkhound.model.errors import BadInputError
from elkhound.model.io import load_chip
from elkhound.model.tile_cost.links import (
    Link,
    LinkModel,
    Transfers,
    calibrated,
    chip_transfers,
    fit_link,
    links_of,
    read_transfers,
)
from elkhound.model.tile_cost.tile import Integers

SIZES = 1 << np.arange(8, 34, dtype=np.int64)


def array(*values: int) -> Integers:
    return np.array(values, dtype=np.int64)


def test_a_line_is_latency_and_cycles_per_byte() -> None:
    # 100 + 3 · bytes
    model = fit_link(Transfers(Link.HBM, array(1, 50, 1000), array(103, 250, 3100)))
    assert model.fixed_cycles == pytest.approx(100)
    assert model.cycles_per_byte == pytest.approx(3)
    assert model.cycles(array(7)) == pytest.approx([121])


def test_a_transfer_of_a_chip_has_latency_and_an_exchange_two_synchronisations() -> (
    None
):
    chip = load_chip("ipu-pod4-hbm")
    # 1.325 GHz: 400 ns and 100 ns are 530 and 132.5 cycles. 5.5 GB/s: 0.2409 cycle/B;
    # exchange 0.28 cycle/B, a quarter more across chips; synchronisation 118 cycles.
    size = array(1000)
    cycles = {link: int(chip_transfers(chip, link, size).cycles[0]) for link in Link}
    assert cycles == {
        Link.HBM: 530 + 1,
        Link.INBOUND: 133 + 241,
        Link.EXCHANGE: 133 + 236 + 281,
        Link.ACROSS: 133 + 236 + 351,
    }


@pytest.mark.parametrize("name", ["ipu-pod4-hbm", "ipu-pod4-hbm-mesh", "toy-8"])
def test_a_chip_comes_back_from_its_own_transfers(name: str) -> None:
    chip = load_chip(name)
    models = {
        link: fit_link(chip_transfers(chip, link, SIZES)) for link in links_of(chip)
    }
    found = calibrated(chip, models)
    for old, new in (
        (chip.hbm.bytes_per_second, found.hbm.bytes_per_second),
        (chip.links.bytes_per_second, found.links.bytes_per_second),
        (
            chip.links.exchange_bytes_per_second,
            found.links.exchange_bytes_per_second,
        ),
    ):
        assert new == pytest.approx(old, rel=0.005)
    assert found.hbm.latency_ns == pytest.approx(chip.hbm.latency_ns, abs=2)
    assert found.links.sync_cycles == pytest.approx(chip.links.sync_cycles, abs=1)
    assert found.links.cross_chip_permille == pytest.approx(
        chip.links.cross_chip_permille, abs=2
    )


def test_links_without_a_line_stay_as_they_are() -> None:
    chip = load_chip("ipu-pod4-hbm")
    found = calibrated(chip, {Link.HBM: LinkModel(0.0, 0.001)})
    # 1.325e9 cycles/s over 0.001 cycles/B
    assert found == replace(
        chip, hbm=replace(chip.hbm, bytes_per_second=1_325_000_000_000, latency_ns=0)
    )


def test_only_chips_that_slow_down_across_chips_have_that_link() -> None:
    assert Link.ACROSS in links_of(load_chip("ipu-pod4-hbm"))
    assert Link.ACROSS not in links_of(load_chip("ipu-pod4-hbm-mesh"))
    assert Link.ACROSS not in links_of(load_chip("toy-8"))


def test_lines_that_make_no_chip_are_refused() -> None:
    chip = load_chip("toy-8")
    with pytest.raises(BadInputError, match="do not tell a rate: 0 cycles per byte"):
        calibrated(chip, {Link.HBM: LinkModel(5.0, 0.0)})
    with pytest.raises(BadInputError, match="exchange_bytes_per_second is 10000000000"):
        calibrated(chip, {Link.EXCHANGE: LinkModel(0.0, 0.1)})


def test_transfers_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_text("link,bytes,cycles\nhbm,1,2\ninbound,5,6\nhbm,3,4\ninbound,7,8\n")
    found = read_transfers(path)
    assert list(found) == [Link.HBM, Link.INBOUND]
    assert found[Link.HBM].size_bytes.tolist() == [1, 3]
    assert found[Link.HBM].cycles.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("link,bytes\n", "l.csv:1: column cycles is missing", id="column"),
        pytest.param(
            "link,bytes,cycles\n", "l.csv:1: no measured transfer", id="empty"
        ),
        pytest.param(
            "link,bytes,cycles\nhbn,1,2\n",
            r"l.csv:2: unknown link 'hbn' \(did you mean hbm",
            id="link",
        ),
        pytest.param(
            "link,bytes,cycles\nhbm,1,2\nhbm,0,2\n",
            "l.csv:3: bytes is 0, must be an integer from 1",
            id="zero",
        ),
        pytest.param(
            "link,bytes,cycles\nhbm,8,2\nhbm,8,3\n",
            "l.csv: link hbm is measured at one size, a line needs two",
            id="one size",
        ),
    ],
)
def test_a_bad_file_is_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "l.csv"
    path.write_text(text)
    with pytest.raises(BadInputError, match=message):
        read_transfers(path)
