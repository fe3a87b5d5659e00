from __future__ import annotations

from elkhound.model.placement import Buffer
from elkhound.solvers.placement.cliques import cliques_of


def test_only_maximal_sets_are_kept() -> None:
    # step 0: a; step 1: a, b, c; step 3: c, d (a and b are gone); e has no bytes.
    # {a} lies in {a, b, c}, so two cliques are left. Sizes in units of 2 B.
    cliques = cliques_of(
        (
            Buffer("d", 3, 5, 2),
            Buffer("a", 0, 3, 4),
            Buffer("e", 0, 5, 0),
            Buffer("c", 1, 4, 8),
            Buffer("b", 1, 3, 6),
        )
    )
    assert cliques.unit_bytes == 2
    assert cliques.index == (1, 4, 3, 0)  # a, b, c, d
    assert cliques.size == (2, 3, 4, 1)
    assert cliques.members == ((0, 1, 2), (2, 3))
    assert (cliques.first, cliques.last) == ((0, 0, 0, 1), (1, 1, 2, 2))
    assert cliques.conflicts == ((1, 2), (0, 2), (0, 1, 3), (2,))
    assert cliques.range_mask == (0b01, 0b01, 0b11, 0b10)
    assert cliques.liveness == 9
    assert cliques.of_conflicts[3] is not None
    assert set(cliques.of_conflicts[3]((10, 11, 12, 13))) == {12}


def test_twins_have_range_and_size_in_common() -> None:
    buffers = (
        Buffer("a", 0, 2, 3),
        Buffer("b", 0, 2, 3),
        Buffer("c", 0, 2, 4),
        Buffer("d", 0, 4, 3),
        Buffer("e", 2, 4, 3),
    )
    cliques = cliques_of(buffers)
    named = {buffers[place].name: j for j, place in enumerate(cliques.index)}
    assert cliques.twins[named["a"]] == (named["b"],)
    assert cliques.twins[named["d"]] == ()
    assert cliques.twins[named["e"]] == ()


def test_no_buffers_make_no_cliques() -> None:
    assert cliques_of(()).liveness == 0
