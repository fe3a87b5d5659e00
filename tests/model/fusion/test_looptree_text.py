from __future__ import annotations

import pytest
from hypothesis import given, settings
from oracles.fusion_trees import MATMUL, SECOND, fused_trees, workload_of

from elkhound.model.errors import BadInputError
from elkhound.model.fusion import (
    ComputeNode,
    Loop,
    LoopTree,
    Split,
    Store,
    mapping_text,
    parse_mapping,
)

TWO_MATMULS = workload_of({"m": 4, "n": 3, "k": 5, "l": 2}, MATMUL, SECOND)


def test_a_line_with_several_tensors_is_several_nodes() -> None:
    text = """\
[Main] stores A, B   # comment
(reserve A, B in Main)

spatial-for m tile=4 over PE.rows
for m tile=1, p in QK, q in AV
Sequential
  Nested
    (reserve A in Main)
    compute QK on MAC
  Nested
    compute AV on MAC
"""
    assert parse_mapping(text).nodes == (
        Store("Main", "A"),
        Store("Main", "B"),
        Loop("m", 4, "PE.rows"),
        Loop("m", 1, None, (("QK", "p"), ("AV", "q"))),
        Split(((ComputeNode("QK", "MAC"),), (ComputeNode("AV", "MAC"),))),
    )


@settings(derandomize=True, deadline=None)
@given(tree=fused_trees(TWO_MATMULS))
def test_text_is_read_back(tree: LoopTree) -> None:
    assert parse_mapping(mapping_text(tree)) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "", "m:1: the list ends without Sequential or compute", id="empty"
        ),
        pytest.param(
            "for m tile=1\nfor n tile=1",
            "m:2: the list ends without Sequential or compute",
            id="no-compute",
        ),
        pytest.param(
            "for m tile=1\n  compute A on M",
            "m:2: 'compute A on M' is indented by 2 spaces, must be by 0",
            id="indented-without-a-split",
        ),
        pytest.param(
            "compute A on M\nfor m tile=1",
            "m:2: 'for m tile=1' follows the end of its list: Sequential and compute "
            "end a list, indentation stands at Nested only",
            id="after-compute",
        ),
        pytest.param("Sequential", "m:1: Sequential has no Nested branch", id="bare"),
        pytest.param(
            "Sequential\n    Nested\n    compute A on M",
            "m:2: Nested is indented by 4 spaces, must be by 2",
            id="deep-nested",
        ),
        pytest.param(
            "Sequential\n  Nested\n    compute A on M\n  Neste\n",
            "m:4: 'Neste' follows the end of its list: Sequential and compute end a "
            "list, indentation stands at Nested only",
            id="misspelt-nested",
        ),
    ],
)
def test_a_broken_structure_is_refused_by_line(text: str, message: str) -> None:
    with pytest.raises(BadInputError) as refused:
        parse_mapping(text, "m")
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "line",
    [
        "for m tile=0",
        "for m tile=-1",
        "for m tile=64KB",
        "spatial-for m tile=1",
        "for m tile=1 over PE.rows",
        "[Main] stores",
        "Main stores A",
        "Nested",
        "compute A",
    ],
)
def test_a_line_of_another_form_is_refused_with_the_forms_there_are(line: str) -> None:
    with pytest.raises(BadInputError, match=r"^m:2: .* is no node; nodes are '\[M\]"):
        parse_mapping(f"for k tile=1\n{line}\ncompute A on M", "m")


def test_loops_of_a_consumer_may_have_another_name() -> None:
    loop = Loop("m", 4, None, (("QK", "p"),))
    assert (loop.rank_of("K"), loop.rank_of("QK")) == ("m", "p")
