"""YAML as plain values with lines: the core types, no tags, anchors or surprises.

PyYAML follows YAML 1.1, where ``1:30`` is 90, ``010`` is 8, ``no`` is false and
``8.0e12`` is text. Only its parser is used here; plain scalars are resolved as YAML 1.2
does, with ``_`` allowed between digits.
"""

from __future__ import annotations

import re
from typing import NoReturn

import yaml

from elkhound.model.errors import BadInputError

_DEEPEST = 64
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", "+.inf"), float("inf")),
    "-.inf": float("-inf"),
    ".nan": float("nan"),
}

_Path = tuple[str | int, ...]


def parse_yaml(path: str, text: str) -> tuple[object, dict[_Path, int]]:
    """Return what a YAML text holds, and the line of each key and list item.

    Raises
    ------
    BadInputError
        The syntax is broken, a key repeats or is not text, or the file uses tags,
        anchors, several documents or deep nesting.
    """
    builder = _Builder(path)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        if (mark := error.problem_mark) is not None:
            builder.line = mark.line + 1
        builder.refuse(f"is not YAML: {error.problem or error.context}")
    except yaml.reader.ReaderError as error:
        builder.line = text.count("\n", 0, error.position) + 1
        builder.refuse(f"is not YAML: {error.reason}")
    return builder.value, builder.lines


class _Builder:
    """Turns parser events into values, without recursion."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.line = 1
        self.value: object = None
        self.lines: dict[_Path, int] = {}
        self._open: list[dict[str, object] | list[object]] = []
        self._keys: list[str | None] = []  # the key awaiting its value
        self._place: list[str | int] = []  # key or index of each open container
        self._documents = 0

    def refuse(self, message: str, code: str = "syntax") -> NoReturn:
        raise BadInputError(message, code=code, where=f"{self.path}:{self.line}")

    def take(self, event: yaml.Event) -> None:
        mark = event.start_mark
        self.line = mark.line + 1 if mark else self.line
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self.refuse("holds a second document; one is expected")
        elif isinstance(event, yaml.AliasEvent):
            self.refuse(f"alias {event.anchor!r} is not accepted; write the value out")
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.NodeEvent):
            self._node(event)

    def _node(self, event: yaml.NodeEvent) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None and tag != "!":
            self.refuse(f"tag {tag!r} is not accepted; write the plain value")
        awaits_key = bool(self._open) and (
            isinstance(self._open[-1], dict) and self._keys[-1] is None
        )
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0]  # not quoted
            value = _resolve(event.value) if plain else event.value
            if awaits_key:
                self._key(value, event.value)
            else:
                self._attach(value)
            return
        if awaits_key:
            self.refuse("a key is a list or a mapping, must be text")
        if len(self._open) >= _DEEPEST:
            self.refuse(f"is nested more than {_DEEPEST} deep")
        mapping = isinstance(event, yaml.MappingStartEvent)
        container: dict[str, object] | list[object] = {} if mapping else []
        place = self._attach(container)
        self._open.append(container)
        self._keys.append(None)
        if place is not None:
            self._place.append(place)

    def _key(self, key: object, written: str) -> None:
        container = self._open[-1]
        if not isinstance(key, str):
            self.refuse(f"key {written!r} is not text; put it in quotes")
        if key in container:
            self.refuse(f"key {key!r} appears twice", code="repeated-key")
        self._keys[-1] = key
        self.lines[(*self._place, key)] = self.line

    def _attach(self, value: object) -> str | int | None:
        """Put a value where it belongs; return its key or index there."""
        if not self._open:
            self.value = value
            return None
        container = self._open[-1]
        if isinstance(container, list):
            container.append(value)
            self.lines[(*self._place, len(container) - 1)] = self.line
            return len(container) - 1
        key = self._keys[-1]
        if key is None:
            self.refuse("a value without a key")
        container[key] = value
        self._keys[-1] = None
        return key

    def _close(self) -> None:
        self._open.pop()
        self._keys.pop()
        if self._place:
            self._place.pop()


def _resolve(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > 400:  # no number we accept is that long
        return text
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
