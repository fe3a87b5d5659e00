from __future__ import annotations

from pathlib import Path

from matplotlib.patches import Ellipse, Rectangle

from elkhound.experiments.plots import plot_looptree
from elkhound.experiments.plots.looptree import looptree_figure
from elkhound.model.fusion import parse_mapping
from elkhound.model.fusion.catalogue import fusion_workload

MATVECS = fusion_workload("matvecs")
TREE = parse_mapping(
    """\
[MainMemory] stores A, B, C, Z
for ny tile=2
[GlobalBuffer] stores Y
Sequential
  Nested
    [GlobalBuffer] stores A
    for ny tile=1
    spatial-for na tile=1 over ProcessingElement.reuse_output
    compute Y on MAC
  Nested
    for ny tile=1
    for nz tile=1
    compute Z on MAC
"""
)


def test_every_node_is_drawn_with_its_iterations_and_bits() -> None:
    (axes,) = looptree_figure(MATVECS, TREE).axes
    labels = [" ".join(text.get_text().split()) for text in axes.texts]
    assert labels == [
        "MainMemory: A (32 bit), B (96 bit), C (96 bit), Z (32 bit)",
        "for ny in 1 × 2 + 1",
        "GlobalBuffer: Y (16 bit)",
        "GlobalBuffer: A (32 bit)",
        "for ny in 2 × 1",
        "spatial-for na in 4 × 1 over ProcessingElement. reuse_output",
        "Y on MAC",
        "for ny in 2 × 1",
        "for nz in 4 × 1",
        "Z on MAC",
    ]
    loops = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert len(loops) == 5
    assert [loop.get_linestyle() for loop in loops].count("--") == 1  # in space
    # two ends of each of three cylinders, and two compute nodes
    assert len([p for p in axes.patches if isinstance(p, Ellipse)]) == 3 * 2 + 2


def test_branches_stand_side_by_side_under_their_split() -> None:
    (axes,) = looptree_figure(MATVECS, TREE).axes
    at = {t.get_text(): t.get_position() for t in axes.texts}
    first, second = at["Y on MAC"], at["Z on MAC"]
    assert first[0] < at["for ny in 1 × 2 + 1"][0] < second[0]
    assert at["for nz in 4 × 1"][0] == second[0]


def test_the_same_mapping_gives_the_same_file(tmp_path: Path) -> None:
    once, _ = plot_looptree(tmp_path / "once", MATVECS, TREE)
    again, png = plot_looptree(tmp_path / "again", MATVECS, TREE)
    assert once.read_bytes() == again.read_bytes()
    assert png.is_file()
