from __future__ import annotations

from pathlib import Path

import pytest

from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError
from elkhound.model.io import chip_document, chip_names, load_chip
from elkhound.model.io.text import as_text, write_text

TOY = """\
chip: toy
chips: 1
cores_per_chip: 8
sram_bytes: 65536
reserved_bytes: 1024
clock_hz: 1000000000
links: {topology: all-to-all,
        bytes_per_second: 4000000000}
hbm: {bytes_per_second: 16000000000,
      latency_ns: 400, controllers: 1}
compute: {mac_per_cycle: 64}
"""


def refusal(tmp_path: Path, text: str | bytes, name: str = "c.yaml") -> str:
    """Return the one line with which a chip file is refused, without its folder."""
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadInputError) as refused:
        load_chip(str(file))
    message = str(refused.value)
    assert "\n" not in message
    return message.removeprefix(f"{tmp_path}/")


def test_the_default_preset_is_the_emulated_pod() -> None:
    chip = load_chip("ipu-pod4-hbm")
    assert chip.cores == 5888
    assert chip.core.usable_bytes == 616 * 1024
    # 0.28 cycle/B at 1.325 GHz: ten bytes take 2.8 cycles, crossing chips 3.5.
    assert chip.exchange_cycles(1000, cores_used=1472) == 281  # rate rounded down
    assert chip.exchange_cycles(1000, cores_used=1473) == 351
    # u = 16e12 / (5888 · 5.5e9) = 0.494; σ = u / (1 − u) = 0.9766, rounded up
    assert chip.link_stretch_permille == 977


def test_the_mesh_preset_is_fed_through_its_short_edges() -> None:
    mesh = load_chip("ipu-pod4-hbm-mesh")
    assert mesh.cores == 5888
    # an edge link of 22 GB/s serves 92 / 2 = 46 cores: 478,260,869 B/s each
    assert mesh.links.inbound_bytes_per_second == 478_260_869
    # ⌈1000 · 1.325e9 / 478,260,869⌉ = ⌈2770.5⌉
    assert mesh.inbound_cycles(1000) == 2771
    # to a neighbour 4 times as fast as on all-to-all links: ⌈1000 · 0.07⌉, rate rounded
    # down; no factor for crossing chips
    assert mesh.exchange_cycles(1000, cores_used=5888) == 71
    # HBM fills 128 edge links of 22 GB/s entirely: σ = 1
    assert mesh.link_stretch_permille == 1000


def test_one_chip_is_a_quarter_of_the_pod() -> None:
    pod, one = load_chip("ipu-pod4-hbm"), load_chip("ipu-mk2-hbm")
    assert pod.cores == 4 * one.cores
    assert pod.hbm.bytes_per_second == 4 * one.hbm.bytes_per_second
    assert pod.core == one.core


def test_toy_64_has_the_proportions_of_the_pod() -> None:
    pod, toy = load_chip("ipu-pod4-hbm"), load_chip("toy-64")

    def share(chip: Chip) -> float:
        ports = chip.cores * chip.links.bytes_per_second
        return chip.hbm.bytes_per_second / ports

    assert share(toy) == pytest.approx(share(pod), rel=0.01)


@pytest.mark.parametrize("name", chip_names())
def test_a_chip_written_and_read_is_the_same(name: str, tmp_path: Path) -> None:
    chip = load_chip(name)
    file = tmp_path / "again.json"
    write_text(file, as_text(chip_document(chip)))
    assert load_chip(str(file)) == chip


def test_scientific_notation_is_an_integer_rate(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(TOY.replace("16000000000", "8.0e12"))
    assert load_chip(str(file)).hbm.bytes_per_second == 8_000_000_000_000


def test_what_is_left_out_of_the_links_costs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(TOY)
    links = load_chip(str(file)).links
    assert links.exchange_bytes_per_second == links.bytes_per_second
    assert (links.latency_ns, links.sync_cycles, links.cross_chip_permille) == (
        0,
        0,
        1000,
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "sram_bytes: 65536",
            "sram_bytez: 65536",
            "c.yaml:4: unknown key sram_bytez (did you mean sram_bytes?)",
            id="unknown key rather than the key it leaves missing",
        ),
        pytest.param(
            "latency_ns: 400",
            "latency_us: 400",
            "c.yaml:10: unknown key hbm.latency_us (did you mean latency_ns?)",
            id="unknown key inside",
        ),
        pytest.param(
            "sram_bytes: 65536",
            "sram_bytes: 64KB",
            "c.yaml:4: sram_bytes is '64KB', must be an integer from 1 to 10^15",
            id="unit in the value",
        ),
        pytest.param(
            "cores_per_chip: 8",
            "cores_per_chip: -8",
            "c.yaml:3: cores_per_chip is -8, must be an integer from 1 to 10^15",
            id="negative",
        ),
        pytest.param(
            "cores_per_chip: 8",
            "cores_per_chip: true",
            "c.yaml:3: cores_per_chip is true, must be an integer from 1 to 10^15",
            id="bool",
        ),
        pytest.param(
            "mac_per_cycle: 64",
            "mac_per_cycle: 0",
            "c.yaml:11: compute.mac_per_cycle is 0, must be an integer from 1 to 10^15",
            id="zero",
        ),
        pytest.param(
            "clock_hz: 1000000000",
            "clock_hz: 1.5",
            "c.yaml:6: clock_hz is 1.5, must be an integer from 1 to 10^18",
            id="fraction",
        ),
        pytest.param(
            "clock_hz: 1000000000",
            "clock_hz: .inf",
            "c.yaml:6: clock_hz is inf, must be an integer from 1 to 10^18",
            id="infinity",
        ),
        pytest.param(
            "clock_hz: 1000000000",
            "clock_hz: 1:30",
            "c.yaml:6: clock_hz is '1:30', must be an integer from 1 to 10^18",
            id="sexagesimal",
        ),
        pytest.param(
            "clock_hz: 1000000000\n",
            "",
            "c.yaml:1: clock_hz is missing, must be an integer from 1 to 10^18",
            id="missing key",
        ),
        pytest.param(
            "{mac_per_cycle: 64}",
            "64",
            "c.yaml:11: compute is 64, must be a mapping",
            id="number for a mapping",
        ),
        pytest.param(
            "reserved_bytes: 1024",
            "reserved_bytes: 65536",
            "c.yaml:5: reserved_bytes is 65536, must be from 0 to 65535, below "
            "sram_bytes = 65536",
            id="nothing usable",
        ),
        pytest.param(
            "bytes_per_second: 4000000000",
            "bytes_per_second: 4, exchange_bytes_per_second: 5",
            "c.yaml:8: links.exchange_bytes_per_second is 5, "
            "must be at most bytes_per_second = 4",
            id="exchange above the port",
        ),
        pytest.param(
            "topology: all-to-all",
            "topology: ring",
            "c.yaml:7: links.topology is 'ring', must be all-to-all or mesh",
            id="topology that does not exist",
        ),
        pytest.param(
            "topology: all-to-all",
            "topology: all-to-all, rows: 2",
            "c.yaml:7: links.rows has no effect with topology all-to-all; leave it out",
            id="mesh key without a mesh",
        ),
        pytest.param(
            "topology: all-to-all",
            "topology: mesh, rows: 2",
            "c.yaml:7: links.columns is missing, topology mesh needs it",
            id="mesh without columns",
        ),
        pytest.param(
            "topology: all-to-all",
            "topology: mesh, rows: 2, columns: 4, cross_chip_permille: 1250",
            "c.yaml:7: links.cross_chip_permille has no effect with topology mesh; "
            "leave it out",
            id="all-to-all key with a mesh",
        ),
        pytest.param(
            "topology: all-to-all",
            "topology: mesh, rows: 2, columns: 5",
            "c.yaml:7: links: 2 rows of 5 are 10 cores, must be chips · cores_per_chip "
            "= 8",
            id="mesh of other cores",
        ),
        pytest.param(
            "topology: all-to-all",
            "topology: all-to-all, cross_chip_permille: 1250",
            "c.yaml:7: links.cross_chip_permille has no effect where chips is 1; "
            "leave it out",
            id="crossing with one chip",
        ),
        pytest.param(
            "controllers: 1",
            "controllers: 1, stripe_bytes: 64",
            "c.yaml:10: hbm.stripe_bytes has no effect where hbm.controllers is 1; "
            "leave it out",
            id="stripes over one controller",
        ),
        pytest.param(
            "chips: 1",
            "chip: twice",
            "c.yaml:2: key 'chip' appears twice",
            id="repeated key",
        ),
        pytest.param(
            "chips: 1",
            "1: 1",
            "c.yaml:2: key '1' is not text; put it in quotes",
            id="number as a key",
        ),
        pytest.param(
            "chips: 1",
            "chips: &one 1",
            None,
            id="an anchor alone does no harm",
        ),
        pytest.param(
            "chips: 1",
            "chips: !!python/name:os.system x",
            "c.yaml:2: tag 'tag:yaml.org,2002:python/name:os.system' is not accepted; "
            "write the plain value",
            id="tag",
        ),
    ],
)
def test_a_bad_chip_file_is_refused_in_one_line(
    tmp_path: Path, old: str, new: str, message: str | None
) -> None:
    assert old in TOY
    text = TOY.replace(old, new)
    if message is None:
        (tmp_path / "c.yaml").write_text(text)
        assert load_chip(str(tmp_path / "c.yaml")).chips == 1
    else:
        assert refusal(tmp_path, text) == message


def test_crossing_factor_below_one_is_refused(tmp_path: Path) -> None:
    text = TOY.replace("chips: 1", "chips: 2").replace(
        "all-to-all", "all-to-all, cross_chip_permille: 999"
    )
    assert "cross_chip_permille is 999, must be at least 1000" in refusal(
        tmp_path, text
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [1\nb: 2", "c.yaml:2: is not YAML: ", id="syntax"),
        pytest.param("- 1\n- 2", "c.yaml:1: holds a list, must be a", id="list"),
        pytest.param("'}'", "c.yaml:1: holds '}', must be a mapping", id="text"),
        pytest.param("", "c.yaml:1: holds nothing, must be a mapping", id="empty"),
        pytest.param("a: 1\n--- \nb: 2", "c.yaml:2: holds a second", id="documents"),
        pytest.param("a: &x 1\nb: *x", "c.yaml:2: alias 'x' is not", id="alias"),
        pytest.param("[" * 100, "c.yaml:1: is nested more than", id="nested"),
        pytest.param("[" * 100_000, "c.yaml:1: is not YAML: exc", id="nested deeply"),
        pytest.param("- " * 500, "c.yaml:1: is nested more than", id="nested block"),
        pytest.param("? [a]\n: 1", "c.yaml:1: a key is a list or", id="list as key"),
        pytest.param("a: \x01", "c.yaml:1: is not YAML: ", id="control character"),
        pytest.param(b"\xff\xfe\x00\x01", "c.yaml: is not text: byte 0", id="binary"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    assert refusal(tmp_path, text).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('{\n"a": 1,\n}', "c.json:3: is not JSON: ", id="syntax"),
        pytest.param(
            '{"a": {"b": 1},\n "c": [{"x": 1,\n  "x": 2}]}',
            "c.json:3: key 'x' appears twice",
            id="repeated key",
        ),
        pytest.param('{"a": NaN}', "c.json: is not JSON: NaN is not", id="NaN"),
        pytest.param('{"a": ' + "9" * 5000 + "}", "c.json: is not JSON", id="digits"),
        pytest.param("[" * 100_000, "c.json: is nested too deeply", id="nested"),
        pytest.param('{"chip": "a",\n"chipz": 1}', "c.json:2: unknown key", id="key"),
    ],
)
def test_a_bad_json_file_is_refused_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    assert refusal(tmp_path, text, "c.json").startswith(message)


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"none\.yaml: no such file"):
        load_chip(str(tmp_path / "none.yaml"))
    with pytest.raises(BadInputError, match="is a directory, not a file"):
        load_chip(str(tmp_path))


def test_a_misspelt_preset_names_the_nearest() -> None:
    with pytest.raises(BadInputError, match="did you mean ipu-pod4-hbm"):
        load_chip("ipu-pod4-hmb")
    with pytest.raises(
        BadInputError, match="legal: ipu-mk2-hbm, ipu-pod4-hbm, ipu-pod4-hbm-mesh"
    ):
        load_chip("x")
