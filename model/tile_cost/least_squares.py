"""Least squares with coefficients that must not be negative."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOLERANCE = 1e-10


def non_negative_least_squares(rows: Floats, values: Floats) -> Floats:
    """Return the x ≥ 0 that minimises ‖rows · x − values‖².

    Lawson and Hanson's active set: a coefficient enters where the gradient says that
    raising it helps most; those that the least squares over what has entered would
    make negative leave again on the way there.

    Examples
    --------
    >>> rows = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    >>> non_negative_least_squares(rows, np.array([3.0, 2.0, 1.0])).tolist()
    [2.0, 0.0]
    """
    scale = np.sqrt((rows**2).sum(axis=0))
    scale[scale == 0] = 1.0
    rows = rows / scale
    x = np.zeros(rows.shape[1])
    entered = np.zeros(rows.shape[1], dtype=np.bool_)
    enough = TOLERANCE * max(1.0, float(np.abs(values).sum()))
    for _ in range(3 * rows.shape[1]):
        gradient = np.where(entered, -np.inf, rows.T @ (values - rows @ x))
        if gradient.max() <= enough:
            break
        entered[gradient.argmax()] = True
        x = _towards_least_squares(rows, values, x, entered)
    x[x < 0] = 0.0
    coefficients: Floats = x / scale
    return coefficients


def _towards_least_squares(
    rows: Floats, values: Floats, x: Floats, entered: NDArray[np.bool_]
) -> Floats:
    """Return the least squares of what has entered, after some of it left again."""
    while True:
        wanted = np.zeros_like(x)
        wanted[entered] = np.linalg.lstsq(rows[:, entered], values, rcond=None)[0]
        falling = entered & (wanted <= 0)
        if not falling.any():
            return wanted
        steps = x[falling] / np.maximum(x[falling] - wanted[falling], 1e-300)
        x = x + steps.min() * (wanted - x)
        entered &= ~(falling & (x <= TOLERANCE * x.max(initial=1e-300)))
        if (entered & falling).sum() == falling.sum():
            entered &= ~falling  # no progress: rounding holds it at zero
        x = np.where(entered, x, 0.0)
