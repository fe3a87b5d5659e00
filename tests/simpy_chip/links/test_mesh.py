"""Meshes small enough to follow every flow; the arithmetic stands beside it."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from elkhound.model.chip import Chip, Core, Hbm, Mesh2D
from elkhound.model.program import Execute, PreloadAsync, Program, Task
from elkhound.model.schedule import OptionPayload, ScheduleOption
from elkhound.simpy_chip import Fidelity, Score, simulate
from elkhound.simpy_chip.links.mesh import MeshLinks


def mesh(rows: int, columns: int) -> Mesh2D:
    return Mesh2D(rows, columns, 4_000_000_000, 4_000_000_000, 0, 0)


def chip(rows: int, columns: int) -> Chip:
    return Chip(
        name="mesh",
        chips=1,
        cores_per_chip=rows * columns,
        clock_hz=1_000_000_000,
        core=Core(1000, 0, 16, 64, 64),
        links=mesh(rows, columns),
        hbm=Hbm(4_000_000_000, 0, 1),
    )


def beside(preload: int, preload_link: int, on: Chip, fidelity: Fidelity) -> Score:
    """E0 exchanges 6 and computes 2 cycles; P1 is issued at 0; E1 takes 1 cycle."""
    first = Task("a", ScheduleOption(0, 0, 0, 0, 0, 8, 6), 0)
    second = Task("b", ScheduleOption(0, 0, 1, preload, preload_link, 1, 0), 0)
    order = (PreloadAsync(1), Execute(0), Execute(1))
    return simulate(Program(order, (first, second), 1000, on), fidelity=fidelity)


def test_bytes_go_along_the_row_first() -> None:
    # links of core (column, row): 4 · (3 row + column) + 0 east 1 west 2 south 3 north
    links = MeshLinks(mesh(2, 3))
    assert links.route((0, 0), (2, 1)) == (0, 4, 10)
    assert links.route((2, 1), (0, 0)) == (21, 17, 15)
    assert links.route((1, 1), (1, 1)) == ()


def test_a_corner_has_two_neighbours_and_a_link_from_hbm() -> None:
    links = MeshLinks(mesh(2, 3))
    # into (0, 0): west from (1, 0), north from (0, 1), edge link 4 · 6 + 0
    assert links.incoming(0) == (5, 15, 24)
    assert links.outgoing(0) == (0, 2)
    # into (1, 0): east from (0, 0), west from (2, 0), north from (1, 1)
    assert links.incoming(1) == (0, 9, 19)


@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (5, 3), (4, 4), (1, 7), (7, 1)])
def test_consecutive_cores_are_neighbours(rows: int, columns: int) -> None:
    links = MeshLinks(mesh(rows, columns))
    places = links._places
    assert len(set(places)) == rows * columns
    for before, core in pairwise(places):
        assert len(links.route(before, core)) == 1


@pytest.mark.parametrize(
    ("rows", "columns", "edge_links"), [(2, 5, 4), (5, 2, 4), (3, 3, 6), (1, 1, 1)]
)
def test_hbm_feeds_the_two_short_edges(
    rows: int, columns: int, edge_links: int
) -> None:
    links = MeshLinks(mesh(rows, columns))
    routes = links._inbound
    assert len({route[0] for route in routes}) == edge_links
    # the busier end serves ⌈long side / 2⌉ cores, the farthest that many links away
    assert max(len(route) for route in routes) == mesh(rows, columns).reach


@pytest.mark.parametrize("fidelity", list(Fidelity))
def test_on_two_by_two_nothing_meets(fidelity: Fidelity) -> None:
    # every core is on an edge and has its own link from HBM
    score = beside(9, 9, chip(2, 2), fidelity)
    assert score.operators[0].contention_cycles == 0
    assert score.operators[1].preload_end_cycle == 9
    assert score.makespan_cycles == 10


@pytest.mark.parametrize("fidelity", list(Fidelity))
def test_in_a_row_of_four_one_preload_takes_half_of_the_inner_link(
    fidelity: Fidelity,
) -> None:
    score = beside(9, 9, chip(1, 4), fidelity)
    # Left edge link: cores 0 and 1 at ½ each, 4½ of its cycles, done at 9. Link 0 → 1:
    # core 1's ½ beside the exchange's ½, 4½ of 6 done at 9; 1½ more alone: 10½, told at
    # 11. The same on 3 → 2, which the bytes from core 3 back to core 0 take.
    assert score.operators[1].preload_end_cycle == 9
    assert score.operators[0].contention_cycles == 11 - 6
    assert score.makespan_cycles == 11 + 2 + 1


@pytest.mark.parametrize("fidelity", list(Fidelity))
@pytest.mark.parametrize(
    ("preload", "preload_link", "exchange_end", "preload_end"),
    [
        # Link 0 → 1: two preloads and the exchange at ⅓ each; at 9 the exchange has 3
        # of 6, the rest alone: 12. On 1 → 2 it has ⅔ and ends at 9.
        pytest.param(9, 9, 12, 9, id="full"),
        # Y/h = ½: each preload asks for ⅙; the exchange has ⅔ and ends at 9
        pytest.param(18, 9, 9, 18, id="half"),
        # until 3: ⅓ each, the exchange has 1 of 6; the rest alone: 8
        pytest.param(3, 3, 8, 3, id="short"),
    ],
)
def test_in_a_row_of_six_the_link_next_to_the_edge_is_the_slowest(
    preload: int,
    preload_link: int,
    exchange_end: int,
    preload_end: int,
    fidelity: Fidelity,
) -> None:
    score = beside(preload, preload_link, chip(1, 6), fidelity)
    assert score.operators[0].contention_cycles == exchange_end - 6
    assert score.operators[1].preload_end_cycle == preload_end
    assert score.makespan_cycles == max(exchange_end + 2, preload_end) + 1


def test_a_high_mesh_is_fed_from_above_and_below() -> None:
    wide = beside(9, 9, chip(2, 6), Fidelity.CORE)
    high = beside(9, 9, chip(6, 2), Fidelity.CORE)
    assert wide.makespan_cycles == high.makespan_cycles == 15


def test_every_link_carries_what_its_routes_bring() -> None:
    score = beside(9, 9, chip(1, 4), Fidelity.CORE)
    # into core 0: 9 from HBM (its own 4½ and core 1's), 6 from core 1 (core 3's bytes
    # on their way); into core 1: 6 + 4½ from core 0, 6 from core 2
    # the same, mirrored, into cores 3 and 2; means over the links into each
    assert [
        (core.multiplicity, float(core.link_work_cycles)) for core in score.cores
    ] == [
        (2, (9 + 6) / 2),
        (2, (6 + 4.5 + 6) / 2),
    ]


def test_without_contention_the_mesh_takes_the_planned_cycles() -> None:
    first = Task("a", ScheduleOption(0, 0, 0, 0, 0, 8, 6), 0)
    second = Task("b", ScheduleOption(0, 0, 1, 9, 9, 1, 0), 0)
    program = Program(
        (PreloadAsync(1), Execute(0), Execute(1)), (first, second), 1000, chip(1, 6)
    )
    for fidelity in Fidelity:
        # P1 0–9 beside E0 0–8; E1 9–10
        score = simulate(program, fidelity=fidelity, contention=False)
        assert score.makespan_cycles == 10


def told(exchanged: int, streamed: int) -> OptionPayload:
    return OptionPayload((("m", 4),), (), 4, 1, 0, streamed, exchanged, 0, (("m", 4),))


def test_every_link_of_a_mesh_tells_its_bytes() -> None:
    # E0: 6 cycles of exchange at 4 B per cycle, 24 B. P1: 9 cycles of an edge link
    # shared by two cores, 18 B for each.
    sends = ScheduleOption(0, 24, 0, 0, 0, 8, 6, 0, 2, 6, told(24, 0))
    loads = ScheduleOption(0, 18, 18, 9, 9, 1, 0, 0, 1, 0, told(0, 72))
    order = (PreloadAsync(1), Execute(0), Execute(1))
    tasks = (Task("a", sends, 0), Task("b", loads, 0))
    score = simulate(Program(order, tasks, 1000, chip(1, 4)), fidelity=Fidelity.CORE)
    carried = {
        (link.name, link.multiplicity): link.carried_bytes for link in score.links
    }
    # core 3's bytes return to core 0 over all three links west
    assert carried == {
        ("link (0, 0)→(1, 0) and 1 like it", 2): 24 + 18,
        ("link (1, 0)→(2, 0) and 3 like it", 4): 24,
        ("link HBM→(0, 0) and 1 like it", 2): 18 + 18,
    }


def test_bytes_of_links_are_unknown_where_options_hide_what_they_exchange() -> None:
    score = beside(9, 9, chip(1, 4), Fidelity.CORE)
    assert {link.carried_bytes for link in score.links} == {None}
    assert max(link.work_cycles for link in score.links) == 6 + Fraction(9, 2)
