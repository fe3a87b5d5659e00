"""One look for all figures: colours, markers, sizes, and how they are saved."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart by colour-blind readers too. Lightness, hatches
# and markers differ as well, so that figures survive a black-and-white printer.
BLACK = "#000000"
ORANGE = "#E69F00"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
BLUE = "#0072B2"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#999999"
LIGHT_GREY = "#DDDDDD"

WIDTH_INCHES = 7.0  # the text width of a two-column page
DPI = 200

RC: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.linewidth": 0.4,
    "grid.color": LIGHT_GREY,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "svg.hashsalt": "elkhound",  # the same figure gives the same file
}


@dataclass(frozen=True, slots=True)
class Mark:
    """How a method is drawn everywhere: lines by marker, bars by hatch."""

    color: str
    marker: str
    hatch: str = ""


MARKS: Mapping[str, Mark] = {
    "brute-force": Mark(BLACK, "*"),
    "cp-sat": Mark(BLUE, "o"),
    "milp": Mark(SKY, "s"),
    "dp": Mark(PURPLE, "D", "\\\\\\"),
    "knapsack-dp": Mark(PURPLE, "D"),
    "basic": Mark(GREY, "v"),
    "static": Mark(GREEN, "^", "///"),
    "elk-dyn": Mark(ORANGE, "P", "..."),
    "delta": Mark(ORANGE, "P"),
    "elk-full": Mark(VERMILION, "X", "xxx"),
    "delta-hull-fill": Mark(VERMILION, "X"),
    "ideal": Mark(YELLOW, "h"),
    "pareto-join": Mark(VERMILION, "X"),
    "set": Mark(BLUE, "o"),
    "tileflow": Mark(GREEN, "s"),
    "timeloop": Mark(ORANGE, "^"),
    "transfusion": Mark(PURPLE, "D"),
}
_OTHER_COLORS = (GREEN, PURPLE, SKY, ORANGE, BLUE, VERMILION)
_OTHER_MARKERS = ("<", ">", "p", "d", "8", "H")


def mark_of(method: str) -> Mark:
    """Return a method's mark; a variant keeps the colour, with a marker of its own.

    Examples
    --------
    >>> mark_of("dp:order=window:2").color == mark_of("dp").color
    True
    """
    if method in MARKS:
        return MARKS[method]
    number = zlib.crc32(method.encode())  # the same in every figure and process
    marker = _OTHER_MARKERS[number % len(_OTHER_MARKERS)]
    base = MARKS.get(method.partition(":")[0])
    if base is not None:
        return Mark(base.color, marker)
    return Mark(_OTHER_COLORS[number % len(_OTHER_COLORS)], marker)


@contextmanager
def house_style() -> Iterator[None]:
    """Draw the body's figures in the house style, whatever matplotlib is set to."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(RC)
        yield


def new_figure(height_inches: float) -> Figure:
    """Return an empty page-wide figure; it needs no display."""
    return Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")


def save(figure: Figure, path_stem: Path) -> tuple[Path, Path]:
    """Write ``stem.svg`` and ``stem.png``; return their paths."""
    path_stem.parent.mkdir(parents=True, exist_ok=True)
    svg = path_stem.with_name(path_stem.name + ".svg")
    png = path_stem.with_name(path_stem.name + ".png")
    with house_style():
        figure.savefig(svg, metadata={"Date": None})
        figure.savefig(png, dpi=DPI)
    return svg, png
