"""An einsum as a line of text: ``Name: T1[m,n1] = T0[m,n0] * W0[n0,n1]``."""

from __future__ import annotations

import re

from elkhound.model.fusion.workload import FusionEinsum
from elkhound.model.graph import Access, Axis

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_ACCESS = re.compile(rf"\s*({_NAME})\s*\[([^\]\[]*)\]\s*")
_TERM = re.compile(rf"\s*(?:([0-9]+)\s*\*?\s*)?({_NAME})\s*")
_LABEL = re.compile(rf"\s*({_NAME})\s*:\s*")


def parse_equation(text: str) -> FusionEinsum:
    """Return the einsum of a line.

    An einsum without a name in front is called like its output. A convolution's halo
    reads ``I[2*p+r, c]``; ``O[m] = copy I[m]`` moves a tensor and computes nothing.

    Raises
    ------
    ValueError
        The line has another form; the message quotes the part at fault.

    Examples
    --------
    >>> parse_equation("T1[m,n] = T0[m,k] * W[k,n]").ranks
    ('m', 'n', 'k')
    """
    label = _LABEL.match(text)
    left, equals, right = text[label.end() if label else 0 :].partition("=")
    if not equals:
        raise ValueError(f"{text!r} has no =; write Out[m,n] = A[m,k] * B[k,n]")
    output = _access(left)
    word, _, rest = right.strip().partition(" ")
    copy = word == "copy"
    operands = (rest if copy else right).split("*")
    inputs = tuple(_access(operand) for operand in _joined(operands))
    return FusionEinsum(label[1] if label else output.tensor, output, inputs, copy)


def equation_text(einsum: FusionEinsum) -> str:
    """Return the line; `parse_equation` reads it back."""
    label = "" if einsum.name == einsum.output.tensor else f"{einsum.name}: "
    right = " * ".join(_access_text(access) for access in einsum.inputs)
    copy = "copy " if einsum.copy else ""
    return f"{label}{_access_text(einsum.output)} = {copy}{right}"


def _joined(pieces: list[str]) -> list[str]:
    """Undo the split at a star inside brackets: a coefficient, not a product."""
    operands: list[str] = []
    for piece in pieces:
        if operands and operands[-1].count("[") > operands[-1].count("]"):
            operands[-1] += "*" + piece
        else:
            operands.append(piece)
    return operands


def _access(text: str) -> Access:
    match = _ACCESS.fullmatch(text)
    if not match:
        raise ValueError(f"{text.strip()!r} is no tensor with ranks, such as T0[m,k]")
    ranks = match[2].split(",") if match[2].strip() else []
    return Access(match[1], tuple(_axis(rank) for rank in ranks))


def _axis(text: str) -> Axis:
    terms = []
    for piece in text.split("+"):
        match = _TERM.fullmatch(piece)
        coefficient = int(match[1] or 1) if match else 0
        if not match or coefficient < 1:
            raise ValueError(f"{text.strip()!r} is no rank, such as m or 2*p+r")
        terms.append((match[2], coefficient))
    return Axis(tuple(terms))


def _access_text(access: Access) -> str:
    ranks = (
        "+".join(name if c == 1 else f"{c}*{name}" for name, c in axis.terms)
        for axis in access.axes
    )
    return f"{access.tensor}[{','.join(ranks)}]"
