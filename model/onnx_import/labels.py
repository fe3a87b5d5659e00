"""The equation of an Einsum node: one letter per axis, two operands at a time."""

from __future__ import annotations

from collections.abc import Sequence

SPARE = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def labels_of(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """Return the letters of every operand and of the result, ellipses spelt out.

    Parameters
    ----------
    equation : str
        Such as ``bij,bjk->bik``; without an arrow, letters that occur once are kept,
        in alphabetical order.
    ranks : sequence of int
        Axes of every operand.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"equation {equation!r} for {len(ranks)} operands")
    spare = [letter for letter in SPARE if letter not in equation]
    hidden = [
        rank - len(t.replace("...", "")) for t, rank in zip(terms, ranks, strict=True)
    ]
    widest = max(
        [h for t, h in zip(terms, hidden, strict=True) if "..." in t], default=0
    )
    dots = "".join(spare[:widest])
    operands = [
        term.replace("...", dots[len(dots) - count :] if count > 0 else "")
        for term, count in zip(terms, hidden, strict=True)
    ]
    for operand, rank in zip(operands, ranks, strict=True):
        if len(operand) != rank or not all(c.isalpha() for c in operand):
            raise ValueError(f"equation {equation!r} does not fit {rank} axes")
        if len(set(operand)) < len(operand):
            raise ValueError(f"equation {equation!r} takes a diagonal")
    if not arrow:
        every = "".join(operands)
        once = sorted(c for c in set(every) if every.count(c) == 1 and c not in dots)
        return operands, dots + "".join(once)
    result = right.replace("...", dots)
    if len(set(result)) < len(result) or not set(result) <= set("".join(operands)):
        raise ValueError(f"equation {equation!r} makes axes of nothing")
    return operands, result


def pairwise(operands: Sequence[str], result: str) -> list[tuple[str, str | None, str]]:
    """Return steps (left, right, out); letters are summed once nothing needs them."""
    if len(operands) == 1:
        return [(operands[0], None, result)]
    steps: list[tuple[str, str | None, str]] = []
    left = operands[0]
    for index, right in enumerate(operands[1:], start=2):
        needed = set(result).union(*operands[index:])
        last = index == len(operands)
        both = left + "".join(c for c in right if c not in left)
        out = result if last else "".join(c for c in both if c in needed)
        steps.append((left, right, out))
        left = out
    return steps
