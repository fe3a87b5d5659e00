"""A regression tree with a linear model in every leaf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elkhound.model.tile_cost.least_squares import Floats, non_negative_least_squares
from elkhound.model.tile_cost.tile import Integers

DEEPEST = 12
THRESHOLDS = 24
LEAST_GAIN = 0.01
GOOD_ENOUGH = 0.002  # root mean square of the relative error below which no split helps
RIDGE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class LinearTree:
    """A tree over key columns with a linear model over term columns in every leaf.

    Nodes are numbered with the root first; all arrays are by node.

    Parameters
    ----------
    key : array
        Column that the node compares; −1 in a leaf.
    threshold : array
        Rows with more in that column go right, the others left.
    left, right : array
        Child nodes; a leaf is its own child.
    coefficients : array
        One row per node: the model of its leaf, none negative; zeros elsewhere.
    """

    key: Integers
    threshold: Floats
    left: Integers
    right: Integers
    coefficients: Floats

    @property
    def leaves(self) -> int:
        """Linear models in the tree."""
        return int((self.key < 0).sum())

    def leaf(self, keys: Floats) -> Integers:
        """Return the leaf that every row falls into."""
        node = np.zeros(len(keys), dtype=np.int64)
        row = np.arange(len(keys))
        while True:
            column = self.key[node]
            if (column < 0).all():
                return node
            right = keys[row, column] > self.threshold[node]
            node = np.where(right, self.right[node], self.left[node])

    def predict(self, keys: Floats, terms: Floats) -> Floats:
        """Return the prediction of every row; none is negative if no term is."""
        predicted: Floats = (self.coefficients[self.leaf(keys)] * terms).sum(axis=1)
        return predicted


def fit_tree(keys: Floats, terms: Floats, values: Floats, least: int) -> LinearTree:
    """Fit a tree that minimises the sum of squared relative errors, greedily.

    A node is cut at the threshold whose two sides, each with a least-squares model of
    its own, have the least error; it stays whole where that gains too little. The
    model of a leaf is least squares without negative coefficients: no prediction is
    negative, and none falls where a term grows inside the leaf.

    Parameters
    ----------
    keys : array
        Columns a node may compare.
    terms : array
        Columns of the linear models, none negative; a constant must be one of them.
    values : array
        What to predict, positive.
    least : int
        Rows a leaf has at least.
    """
    rows = terms / values[:, None]
    nodes: list[_Node] = [_Node()]
    waiting = [(0, np.arange(len(values)), 0)]
    while waiting:
        number, members, depth = waiting.pop()
        node = nodes[number]
        cut = (
            _best_cut(keys[members], rows[members], least) if depth < DEEPEST else None
        )
        if cut is None:
            ones = np.ones(len(members))
            node.coefficients = non_negative_least_squares(rows[members], ones)
            continue
        node.key, node.threshold = cut
        node.children = (len(nodes), len(nodes) + 1)
        nodes += [_Node(), _Node()]
        right = keys[members, node.key] > node.threshold
        waiting.append((node.children[0], members[~right], depth + 1))
        waiting.append((node.children[1], members[right], depth + 1))
    return _tree(nodes, terms.shape[1])


class _Node:
    """A node while the tree grows."""

    def __init__(self) -> None:
        self.key = -1
        self.threshold = 0.0
        self.children: tuple[int, int] | None = None
        self.coefficients: Floats | None = None


def _tree(nodes: list[_Node], terms: int) -> LinearTree:
    itself = [(number, number) for number in range(len(nodes))]
    children = [n.children or own for n, own in zip(nodes, itself, strict=True)]
    none = np.zeros(terms)
    return LinearTree(
        key=np.array([n.key for n in nodes], dtype=np.int64),
        threshold=np.array([n.threshold for n in nodes], dtype=np.float64),
        left=np.array([left for left, _ in children], dtype=np.int64),
        right=np.array([right for _, right in children], dtype=np.int64),
        coefficients=np.array(
            [none if n.coefficients is None else n.coefficients for n in nodes]
        ),
    )


def _best_cut(keys: Floats, rows: Floats, least: int) -> tuple[int, float] | None:
    """Return column and threshold of the best cut, None where none is worth it."""
    count = len(rows)
    if count < 2 * least:
        return None
    whole = float(_error(*_sums(rows)))
    if whole <= count * GOOD_ENOUGH**2:
        return None
    best = None
    bar = (1 - LEAST_GAIN) * whole
    for column in range(keys.shape[1]):
        order = np.argsort(keys[:, column], kind="stable")
        ordered = keys[order, column]
        place, error = _best_place(ordered, rows[order], least)
        if error < bar:
            bar = error
            best = (column, float(ordered[place - 1] + ordered[place]) / 2)
    return best


def _best_place(ordered: Floats, rows: Floats, least: int) -> tuple[int, float]:
    """Return how many rows a cut leaves on the left, and the error it leaves.

    Of all places between different values some are tried, then those around the best
    of them, until there is none between.
    """
    places = np.flatnonzero(np.diff(ordered)) + 1
    places = places[(places >= least) & (places <= len(ordered) - least)]
    best, least_error = 0, np.inf
    while len(places):
        picks = np.arange(len(places))
        if len(places) > THRESHOLDS:
            picks = np.linspace(0, len(places) - 1, THRESHOLDS).round().astype(np.int64)
        errors = _errors_of_cuts(rows, places[picks])
        first = int(errors.argmin())
        if errors[first] < least_error:
            best, least_error = int(places[picks[first]]), float(errors[first])
        if len(picks) == len(places):
            break
        places = places[
            picks[max(first - 1, 0)] : picks[min(first + 1, len(picks) - 1)] + 1
        ]
    return best, least_error


def _errors_of_cuts(rows: Floats, places: Integers) -> Floats:
    """Return the summed least-squares errors of both sides of every cut.

    Each side adds up its own pieces: a difference to the sum of all would lose the
    small rows beside the large.
    """
    starts, ends = [0, *places], [*places, len(rows)]
    pieces = [_sums(rows[a:b]) for a, b in zip(starts, ends, strict=True)]
    sums = [np.array(column) for column in zip(*pieces, strict=True)]
    left = _error(*(column.cumsum(axis=0)[:-1] for column in sums))
    right = _error(*(column[::-1].cumsum(axis=0)[-2::-1] for column in sums))
    return left + right


def _sums(rows: Floats) -> tuple[Floats, Floats, float]:
    """Return what the least squares of `rows · x = 1` needs of the rows."""
    return rows.T @ rows, rows.sum(axis=0), float(len(rows))


def _error(
    squares: Floats, sides: Floats, counts: Floats | float
) -> NDArray[np.float64]:
    """Return min_x ‖rows · x − 1‖² = count − side · (squares⁻¹ side)."""
    scale = np.sqrt(np.maximum(np.diagonal(squares, axis1=-2, axis2=-1), 1e-300))
    matrix = squares / (scale[..., :, None] * scale[..., None, :])
    matrix = matrix + RIDGE * np.eye(matrix.shape[-1])
    side = sides / scale
    solved = np.linalg.solve(matrix, side[..., None])[..., 0]
    error: Floats = np.maximum(counts - (side * solved).sum(axis=-1), 0.0)
    return error
