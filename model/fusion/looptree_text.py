"""A LoopTree as text, indented at splits only.

    [MainMemory] stores T0, W0          # as many storage nodes, in this order
    for m tile=16
    for m tile=4, p in QK               # the rank variable is p in einsum QK
    spatial-for n tile=1 over PE.rows
    Sequential
      Nested
        compute Matmul0 on MAC

Lines ``(reserve T0 in MainMemory)`` say what follows from the rest, and are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from elkhound.model.errors import BadInputError
from elkhound.model.fusion.mapping import (
    ComputeNode,
    Loop,
    LoopTree,
    Node,
    Split,
    Store,
)

_WORD = r"[\w.-]+"
_STORE = re.compile(rf"\[({_WORD})\] stores ({_WORD}(?:\s*,\s*{_WORD})*)")
_RESERVE = re.compile(rf"\(reserve {_WORD}(?:\s*,\s*{_WORD})* in {_WORD}\)")
_LOOP = re.compile(
    rf"(spatial-)?for ({_WORD}) tile=([0-9]{{1,15}})(?: over ({_WORD}))?"
    rf"((?:, {_WORD} in {_WORD})*)"
)
_COMPUTE = re.compile(rf"compute ({_WORD}) on ({_WORD})")
_DEEPEST = 200


def parse_mapping(text: str, name: str = "mapping") -> LoopTree:
    """Return the mapping of a text.

    Raises
    ------
    BadInputError
        A line has another form or indentation, with its number.
    """
    lines = _Lines(text, name)
    nodes = lines.node_list(0)
    lines.require_end()
    return LoopTree(nodes, name)


def is_mapping_text(text: str) -> bool:
    """Whether some line of a text is a storage or compute node."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return any(_STORE.fullmatch(line) or _COMPUTE.fullmatch(line) for line in lines)


def mapping_text(tree: LoopTree) -> str:
    """Return a mapping as text; `parse_mapping` reads it back."""
    return "\n".join(_node_lines(tree.nodes, "")) + "\n"


class _Lines:
    """The lines that say something, taken one at a time."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines: list[tuple[int, int, str]] = []  # number, indentation, words
        self.last_number = 1
        for number, line in enumerate(text.splitlines(), start=1):
            content = line.partition("#")[0].rstrip()
            words = content.strip()
            if words and not _RESERVE.fullmatch(words):
                indent = len(content) - len(content.lstrip())
                self.lines.append((number, indent, words))
                self.last_number = number
        self.next = 0

    def refuse(self, message: str, number: int) -> BadInputError:
        return BadInputError(message, code="bad-mapping", where=f"{self.name}:{number}")

    def require_end(self) -> None:
        if self.next < len(self.lines):
            number, _, words = self.lines[self.next]
            raise self.refuse(
                f"{words[:60]!r} follows the end of its list: Sequential and compute "
                "end a list, indentation stands at Nested only",
                number,
            )

    def node_list(self, indent: int) -> tuple[Node, ...]:
        """Take nodes of one indentation, up to the Sequential or compute at the end."""
        if indent > 4 * _DEEPEST:
            raise self.refuse("is nested too deeply", self.lines[self.next][0])
        nodes: list[Node] = []
        while True:
            number, words = self.take(indent)
            if words == "Sequential":
                nodes.append(Split(self.branches(indent)))
                return tuple(nodes)
            nodes += _nodes_of(words) or self.unknown(words, number)
            if isinstance(nodes[-1], ComputeNode):
                return tuple(nodes)

    def take(self, indent: int) -> tuple[int, str]:
        if self.next == len(self.lines):
            raise self.refuse(
                "the list ends without Sequential or compute", self.last_number
            )
        number, found, words = self.lines[self.next]
        if found != indent:
            raise self.refuse(
                f"{words[:60]!r} is indented by {found} spaces, must be by {indent}",
                number,
            )
        self.next += 1
        return number, words

    def branches(self, indent: int) -> tuple[tuple[Node, ...], ...]:
        branches: list[tuple[Node, ...]] = []
        while self.next < len(self.lines):
            number, found, words = self.lines[self.next]
            if words != "Nested" or (found <= indent and branches):
                break
            if found != indent + 2:
                raise self.refuse(
                    f"Nested is indented by {found} spaces, must be by {indent + 2}",
                    number,
                )
            self.next += 1
            branches.append(self.node_list(indent + 4))
        if not branches:
            number = self.lines[self.next - 1][0]
            raise self.refuse("Sequential has no Nested branch", number)
        return tuple(branches)

    def unknown(self, words: str, number: int) -> list[Node]:
        raise self.refuse(
            f"{words[:60]!r} is no node; nodes are '[M] stores A, B', 'for r tile=t', "
            "'spatial-for r tile=t over Component.dim', 'Sequential', 'Nested', "
            "'compute E on U'",
            number,
        )


def _nodes_of(words: str) -> list[Node]:
    """Return the nodes of a line, none if it has another form."""
    if match := _STORE.fullmatch(words):
        return [Store(match[1], tensor.strip()) for tensor in match[2].split(",")]
    if match := _COMPUTE.fullmatch(words):
        return [ComputeNode(match[1], match[2])]
    match = _LOOP.fullmatch(words)
    if not match or bool(match[1]) != bool(match[4]) or int(match[3]) < 1:
        return []
    pieces = (piece.split(" in ") for piece in match[5].split(", ")[1:])
    renamed = tuple((einsum, rank) for rank, einsum in pieces)
    return [Loop(match[2], int(match[3]), match[4], renamed)]


def _node_lines(nodes: tuple[Node, ...], indent: str) -> Iterator[str]:
    stored: list[Store] = []
    for node in nodes:
        if stored and not (isinstance(node, Store) and node.memory == stored[0].memory):
            yield indent + _store_line(stored)
            stored = []
        match node:
            case Store():
                stored.append(node)
            case Loop():
                yield indent + _loop_line(node)
            case ComputeNode():
                yield f"{indent}compute {node.einsum} on {node.unit}"
            case Split():
                yield f"{indent}Sequential"
                for branch in node.branches:
                    yield f"{indent}  Nested"
                    yield from _node_lines(branch, indent + "    ")


def _store_line(stored: list[Store]) -> str:
    return f"[{stored[0].memory}] stores {', '.join(store.tensor for store in stored)}"


def _loop_line(loop: Loop) -> str:
    word, over = "for", ""
    if loop.over is not None:
        word, over = "spatial-for", f" over {loop.over}"
    renamed = "".join(f", {rank} in {einsum}" for einsum, rank in loop.renamed)
    return f"{word} {loop.rank} tile={loop.tile_size}{over}{renamed}"
