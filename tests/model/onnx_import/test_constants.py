"""Folding of small constants, element by element."""

from __future__ import annotations

import numpy as np
import pytest

from elkhound.model.dtype import DTYPES
from elkhound.model.onnx_import.constants import fold
from elkhound.model.onnx_import.source import Node, Value


def constant(*elements: int) -> Value:
    data = np.array(elements, dtype=np.int64)
    return Value(DTYPES["int64"], data.shape, constant=True, data=data)


@pytest.mark.parametrize(
    ("left", "right", "quotient"),
    [
        pytest.param(7, 2, 3, id="rounds-down"),
        pytest.param(-7, 2, -3, id="rounds-towards-zero"),
        pytest.param(7, -2, -3, id="negative-divisor"),
        pytest.param(-6, 2, -3, id="divides"),
        pytest.param(2**63 - 1, 1, 2**63 - 1, id="end-of-a-slice"),
        pytest.param(2**53 + 1, 1, 2**53 + 1, id="beyond-what-a-double-holds"),
    ],
)
def test_integers_are_divided_exactly(left: int, right: int, quotient: int) -> None:
    result = fold(
        Node("n", "Div", ("a", "b"), ("c",)), [constant(left), constant(right)]
    )
    assert result is not None
    assert result.tolist() == [quotient]
