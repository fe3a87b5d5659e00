"""A LoopTree as the paper draws it (figures 2 and 10).

Loops are rectangles (spatial ones grey and dashed), storage cylinders in the colour of
their memory, compute ovals; branches stand side by side in order of running.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, Patch, Rectangle

from elkhound.experiments.looptree_picture import Labelled, bits_text, labelled
from elkhound.experiments.plots.style import (
    BLACK,
    GREEN,
    GREY,
    LIGHT_GREY,
    ORANGE,
    PURPLE,
    SKY,
    YELLOW,
    house_style,
    save,
)
from elkhound.model.fusion import FusionWorkload, LoopTree
from elkhound.model.fusion.physics import REFERENCE, Physics

_COLUMN = 1.75  # inches; every einsum has one
_BOX = 1.55  # a box over one column
_LINE = 0.13  # of text
_GAP = 0.15  # between boxes, bridged by a line
_LID = 0.09  # height of a cylinder's ellipses
_CHARACTERS = 26  # of a text line in a box over one column
_WIDEST = 3  # columns that a shared box may fill
_MEMORY_COLORS = (SKY, ORANGE, GREEN, PURPLE, GREY)

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Box:
    """A box at its place, in inches: the middle of its top; y goes down.

    Parameters
    ----------
    kind, memory : str, str or None
        As of `Labelled`.
    lines : tuple of str
        Its text.
    x, y, width : float
        Where it is.
    above : Point or None
        The bottom of the box that it hangs from.
    """

    kind: str
    memory: str | None
    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    above: Point | None

    @property
    def height(self) -> float:
        """Room for its text."""
        return _LINE * (len(self.lines) + 1)

    @property
    def bottom(self) -> Point:
        """Where what is below hangs."""
        return (self.x, self.y + self.height)


def plot_looptree(
    path_stem: Path,
    workload: FusionWorkload,
    tree: LoopTree,
    physics: Physics = REFERENCE,
) -> tuple[Path, Path]:
    """Write the picture of a legal mapping as SVG and PNG; return the two paths."""
    return save(looptree_figure(workload, tree, physics), path_stem)


def looptree_figure(
    workload: FusionWorkload, tree: LoopTree, physics: Physics = REFERENCE
) -> Figure:
    """Return the picture; it is as wide as there are einsums."""
    items = labelled(workload, tree, physics)
    boxes = tuple(_placed(items, 0.0, 0.0, None))
    width = _COLUMN * _columns(items)
    height = max(box.bottom[1] for box in boxes)
    memories = dict.fromkeys(box.memory for box in boxes if box.memory is not None)
    colors = {
        memory: _MEMORY_COLORS[number % len(_MEMORY_COLORS)]
        for number, memory in enumerate(memories)
    }
    with house_style():
        figure = Figure(figsize=(width + 0.2, height + 0.3))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(-0.1, width + 0.1)
        axes.set_ylim(height + 0.15, -0.15)
        axes.set_axis_off()
        for box in boxes:
            _draw(axes, box, colors)
    return figure


def _columns(items: tuple[Labelled, ...]) -> int:
    branches = items[-1].branches
    return sum(_columns(branch) for branch in branches) if branches else 1


def _placed(
    items: tuple[Labelled, ...], left: float, top: float, above: Point | None
) -> Iterator[_Box]:
    """Yield the boxes of a node list, then those of its branches."""
    columns = _columns(items)
    room = min(columns, _WIDEST)
    for kind, memory, text in _texts(items):
        lines = tuple(textwrap.wrap(text, _CHARACTERS * room))
        longest = max(len(line) for line in lines)
        width = _BOX * min(room, -(-longest // _CHARACTERS))
        box = _Box(kind, memory, lines, left + columns * _COLUMN / 2, top, width, above)
        yield box
        above = box.bottom
        top = above[1] + _GAP
    for branch in items[-1].branches:
        yield from _placed(branch, left, top, above)
        left += _COLUMN * _columns(branch)


def _texts(items: tuple[Labelled, ...]) -> Iterator[tuple[str, str | None, str]]:
    """Yield kind, memory and text of every box; storage of one memory shares one."""
    for (kind, memory), group in groupby(items, lambda i: (i.kind, i.memory)):
        if memory is None:
            for item in group:
                if not item.branches:
                    words = "" if kind == "compute" else f"{kind} "
                    yield kind, None, words + _breakable(item.text)
            continue
        tiles = (
            f"{item.text.removeprefix(f'{memory}: ')} ({bits_text(item.bits or 0)})"
            for item in group
        )
        spaced = ", ".join(tile.replace(" ", "\N{NO-BREAK SPACE}") for tile in tiles)
        yield kind, memory, f"{memory}: {spaced}"


def _breakable(text: str) -> str:
    """Return a label whose longest words may break behind a dot."""
    fits = all(len(word) <= _CHARACTERS for word in text.split())
    return text if fits else text.replace(".", ". ")


def _draw(axes: Axes, box: _Box, colors: dict[str, str]) -> None:
    if box.above is not None:
        (x, y), bend = box.above, box.above[1] + _GAP / 2
        xs, ys = (x, x, box.x, box.x), (y, bend, bend, box.y)
        axes.plot(xs, ys, color=BLACK, linewidth=0.7, zorder=0)
    for patch in _patches(box, colors):
        patch.set_edgecolor(BLACK)
        patch.set_linewidth(0.6)
        axes.add_patch(patch)
    if box.memory is not None:  # the body, over the bottom's upper edge
        left, right = box.x - box.width / 2, box.x + box.width / 2
        top, bottom = box.y, box.y + box.height
        color = colors[box.memory]
        axes.fill_between(
            (left, right), top, bottom, color=color, linewidth=0, zorder=2
        )
        for side in (left, right):
            axes.plot((side, side), (top, bottom), color=BLACK, linewidth=0.6, zorder=2)
    axes.text(
        box.x,
        box.y + (box.height + (_LID / 2 if box.memory is not None else 0)) / 2,
        "\n".join(box.lines),
        ha="center",
        va="center",
        fontsize=6.5,
        zorder=4,
    )


def _patches(box: _Box, colors: dict[str, str]) -> tuple[Patch, ...]:
    corner = (box.x - box.width / 2, box.y)
    if box.memory is not None:
        color = colors[box.memory]
        bottom = Ellipse(box.bottom, box.width, _LID, facecolor=color, zorder=1)
        lid = Ellipse((box.x, box.y), box.width, _LID, facecolor=color, zorder=3)
        return bottom, lid
    if box.kind == "compute":
        middle = (box.x, box.y + box.height / 2)
        return (Ellipse(middle, box.width, box.height, facecolor=YELLOW),)
    spatial = box.kind == "spatial-for"
    return (
        Rectangle(
            corner,
            box.width,
            box.height,
            facecolor=LIGHT_GREY if spatial else "white",
            linestyle="--" if spatial else "-",
        ),
    )
