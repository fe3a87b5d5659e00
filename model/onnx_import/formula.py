"""Extents as users write them: arithmetic over the axes of a node's inputs."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

LONGEST = 200  # characters
LARGEST = 10**15
GRAMMAR = (
    "numbers, 0[1] (axis 1 of input 0), 0[:-1] (several axes), elements(0), "
    "names of attributes, + - * // %, ceil(a, b), min, max"
)

Shapes = Sequence[tuple[int, ...] | None]
OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "ceil": lambda a, b: -(-a // b),
    "max": max,
    "min": min,
}


@dataclass(frozen=True, slots=True)
class Formula:
    """One entry of a shape, not yet a number.

    Parameters
    ----------
    text : str
        As the user wrote it.
    tree : ast.expr
        Its parts; only those of `GRAMMAR`.
    """

    text: str
    tree: ast.expr

    def extents(self, shapes: Shapes, attributes: Mapping[str, object]) -> list[int]:
        """Return the extents it stands for: one, or several where it is a slice.

        Parameters
        ----------
        shapes : sequence
            Of the inputs; None for an absent one.
        attributes : mapping
            Of the node.
        """
        part = _slice_of(self.tree)
        if part is not None:
            return list(_shape(self.tree, shapes)[part])
        return [self._number(self.tree, shapes, attributes)]

    def _number(
        self, tree: ast.expr, shapes: Shapes, attributes: Mapping[str, object]
    ) -> int:
        match tree:
            case ast.Constant(value=int(value)):
                return value
            case ast.UnaryOp(operand=operand):
                return -self._number(operand, shapes, attributes)
            case ast.Name(id=name):
                stated = attributes.get(name)
                if not isinstance(stated, int):
                    raise ValueError(f"{self.text}: no integer attribute {name}")
                return stated
            case ast.BinOp(left=left, op=op, right=right):
                a = self._number(left, shapes, attributes)
                b = self._number(right, shapes, attributes)
                if b == 0 and isinstance(op, (ast.FloorDiv, ast.Mod)):
                    raise ValueError(f"{self.text}: division by zero")
                return _bounded(OPERATIONS[type(op)](a, b), self.text)
            case ast.Call(func=ast.Name(id="elements"), args=[ast.Constant()]):
                return math.prod(_shape(tree.args[0], shapes))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                numbers = [self._number(a, shapes, attributes) for a in arguments]
                if name == "ceil" and numbers[1] == 0:
                    raise ValueError(f"{self.text}: division by zero")
                return FUNCTIONS[name](*numbers)
            case ast.Subscript(slice=place):
                whole, axis = _shape(tree, shapes), int(ast.literal_eval(place))
                if -len(whole) <= axis < len(whole):
                    return whole[axis]
                raise ValueError(f"{self.text}: no such axis of shape {[*whole]}")
        raise ValueError(f"{self.text} cannot be read")


def parse(text: str) -> Formula:
    """Return the formula of a text; a ValueError says what it may hold."""
    try:
        tree = ast.parse(text[:LONGEST].strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"cannot be read; it may hold {GRAMMAR}") from None
    if len(text) > LONGEST:
        raise ValueError(f"is longer than {LONGEST} characters")
    if _slice_of(tree) is None and not _is_number(tree):
        raise ValueError(f"cannot be read; it may hold {GRAMMAR}")
    return Formula(text, tree)


def _is_number(tree: ast.AST) -> bool:
    """Tell whether a tree is made of the grammar's parts alone."""
    match tree:
        case ast.Constant(value=value):
            return type(value) is int and value <= LARGEST
        case ast.Name():
            return True
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return type(op) in OPERATIONS and _is_number(left) and _is_number(right)
        case ast.Call(func=ast.Name(id="elements"), args=[argument], keywords=[]):
            return _is_index(argument)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            enough = len(arguments) == 2 if name == "ceil" else bool(arguments)
            return name in FUNCTIONS and enough and all(map(_is_number, arguments))
        case ast.Subscript(value=value, slice=axis):
            negative = isinstance(axis, ast.UnaryOp) and _is_number(axis)
            return _is_index(value) and (_is_index(axis) or negative)
    return False


def _is_index(tree: ast.AST) -> bool:
    return isinstance(tree, ast.Constant) and type(tree.value) is int


def _slice_of(tree: ast.expr) -> slice | None:
    """Return the axes that ``0[1:-1]`` takes; None for anything else."""
    if not (isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Slice)):
        return None
    ends = (tree.slice.lower, tree.slice.upper)
    known = all(end is None or _is_literal(end) for end in ends)
    if tree.slice.step is not None or not known or not _is_index(tree.value):
        return None
    lower, upper = (None if end is None else ast.literal_eval(end) for end in ends)
    return slice(lower, upper)


def _is_literal(tree: ast.expr) -> bool:
    inner = tree.operand if isinstance(tree, ast.UnaryOp) else tree
    return _is_index(inner) and _is_number(tree)


def _shape(tree: ast.expr, shapes: Shapes) -> tuple[int, ...]:
    place = tree.value if isinstance(tree, ast.Subscript) else tree
    index = int(ast.literal_eval(place))
    shape = shapes[index] if index < len(shapes) else None
    if shape is None:
        raise ValueError(f"{ast.unparse(tree)}: there is no input {index}")
    return shape


def _bounded(value: int, text: str) -> int:
    if abs(value) > LARGEST * LARGEST:
        raise ValueError(f"{text} is beyond 10^30")
    return value
