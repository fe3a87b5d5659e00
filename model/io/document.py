"""A JSON or YAML file as plain values that still know their lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from elkhound.model.errors import BadInputError
from elkhound.model.io.yaml_reader import parse_yaml

KeyPath = tuple[str | int, ...]
_PLAIN_KEY = re.compile(r"[\w.-]{1,60}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Document:
    """What a file holds, and where.

    Parameters
    ----------
    path : str
        The file, as the user named it.
    value : object
        Mappings, lists, strings, numbers, booleans and None.
    text : str
        The file's text; lines of JSON are looked up in it, only when needed.
    lines : dict of KeyPath to int
        Line of every key and list item of a YAML file; empty for JSON.
    prefix : KeyPath
        Where `value` lies inside the file, for a document inside another one.
    """

    path: str
    value: object
    text: str = field(repr=False)
    lines: dict[KeyPath, int] = field(repr=False)
    prefix: KeyPath = ()

    def part(self, key: str) -> Document:
        """Return the document under a top-level key."""
        value = self.value[key] if isinstance(self.value, dict) else None
        return Document(self.path, value, self.text, self.lines, (*self.prefix, key))

    def where(self, key_path: KeyPath = ()) -> str:
        """Return ``file:line`` of a key path, or of its nearest known ancestor."""
        full = (*self.prefix, *key_path)
        lines = self.lines or _json_lines_up_to(self.text, full)
        while full and full not in lines:
            full = full[:-1]
        return f"{self.path}:{lines.get(full, 1)}"

    def refuse(
        self,
        message: str,
        key_path: KeyPath = (),
        *,
        hint: str = "",
        code: str = "bad-file",
    ) -> NoReturn:
        """Raise the error of what stands at a key path, as one line."""
        raise BadInputError(
            _one_line(message), code=code, where=self.where(key_path), hint=hint
        )

    def at(self, key_path: KeyPath) -> object:
        """Return the value at a key path, None where there is none."""
        value = self.value
        for key in key_path:
            if isinstance(value, dict):
                value = value.get(key)
            elif isinstance(value, list) and isinstance(key, int):
                value = value[key] if key < len(value) else None
            else:
                return None
        return value

    def spell(self, key_path: KeyPath) -> str:
        """Return a key path as users read it: ``operators[1] 'q'.options[0].bytes``."""
        spelt = ""
        for depth, key in enumerate(key_path, start=1):
            if isinstance(key, str):
                word = key if _PLAIN_KEY.fullmatch(key) else show(key)
                spelt += f".{word}" if spelt else word
                continue
            spelt += f"[{key}]"
            item = self.at(key_path[:depth])
            if isinstance(item, dict) and isinstance(item.get("name"), str):
                spelt += f" {show(item['name'])}"
        return spelt


def show(value: object) -> str:
    """Return a value as one short line of a message."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    text = {"None": "null", "True": "true", "False": "false"}.get(text, text)
    return text if len(text) <= 60 else text[:57] + "..."


def _one_line(message: str) -> str:
    """Escape what names in a message may hold: line breaks, lone surrogates."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)


def read_document(path: str | Path) -> Document:
    """Read a file as JSON if it looks like it, else as YAML.

    Raises
    ------
    BadInputError
        The file cannot be read, is not text, breaks the syntax, repeats a key, is
        nested too deeply, or holds no mapping.
    """
    text = read_text(path)
    name = str(path)
    is_json = Path(path).suffix.lower() == ".json"
    document = None
    if is_json or text.lstrip().startswith("{"):
        document = _parse_json(name, text, must_be_json=is_json)
    if document is None:
        value, lines = parse_yaml(name, text)
        document = Document(name, value, text, lines)
    if not isinstance(document.value, dict):
        held = "nothing" if document.value is None else show(document.value)
        document.refuse(f"holds {held}, must be a mapping of keys to values")
    return document


def read_text(path: str | Path) -> str:
    """Return the text of a file, or say in one line why it has none."""
    file = Path(path)
    try:
        if file.is_dir():
            raise BadInputError("is a directory, not a file", where=str(path))
        if file.exists() and not file.is_file():
            raise BadInputError("is not a regular file", where=str(path))
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise BadInputError(
            "no such file", code="missing-file", where=str(path)
        ) from None
    except UnicodeDecodeError as error:
        raise BadInputError(
            f"is not text: byte {error.start} is not UTF-8", where=str(path)
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInputError(f"cannot be read: {reason}", where=str(path)) from None


class _RepeatedKeyError(Exception):
    """Ends the JSON parser at the first mapping that holds a key twice."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise _RepeatedKeyError
    return mapping


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number JSON knows")


def _parse_json(path: str, text: str, *, must_be_json: bool) -> Document | None:
    """Return the document, or None for what may still be YAML in flow style."""
    try:
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
    except _RepeatedKeyError:
        place, line = next(_repeated_json_keys(text))
        raise BadInputError(
            f"key {show(place[-1])} appears twice", code="repeated-key",
            where=f"{path}:{line}",
        ) from None  # fmt: skip
    except json.JSONDecodeError as error:
        if not must_be_json:
            return None
        raise BadInputError(
            f"is not JSON: {error.msg} at column {error.colno}",
            code="syntax", where=f"{path}:{error.lineno}",
        ) from None  # fmt: skip
    except RecursionError:
        raise BadInputError("is nested too deeply", where=path) from None
    except ValueError as error:  # NaN, or an integer of thousands of digits
        if not must_be_json:
            return None
        reason = str(error).partition(";")[0]
        raise BadInputError(
            f"is not JSON: {reason}", code="syntax", where=path
        ) from None
    return Document(path, value, text, {})


_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]|[^\s{}\[\],:"]+|\n')


def _json_keys(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Yield path and line of every key and list item of valid JSON, in order."""
    line = 1
    stack: list[str | int] = []  # the key or index being filled, per open container
    expects_key: list[bool] = []
    for match in _JSON_TOKEN.finditer(text):
        token = match[0]
        if token == "\n":
            line += 1
        elif token in "}]":
            stack.pop()
            expects_key.pop()
        elif token == ",":
            last = stack[-1]
            if isinstance(last, int):
                stack[-1] = last + 1
            else:
                expects_key[-1] = True
        else:
            if expects_key and expects_key[-1]:
                stack[-1] = json.loads(token)
                expects_key[-1] = False
                yield tuple(stack), line
                continue
            if stack and isinstance(stack[-1], int):
                yield tuple(stack), line
            if token == "{":
                stack.append("")
                expects_key.append(True)
            elif token == "[":
                stack.append(0)
                expects_key.append(False)


def _json_lines_up_to(text: str, key_path: KeyPath) -> dict[KeyPath, int]:
    """Return the lines of a path and its ancestors."""
    wanted = {key_path[:depth] for depth in range(1, len(key_path) + 1)}
    lines: dict[KeyPath, int] = {}
    if not wanted:
        return lines
    for path, line in _json_keys(text):
        if path in wanted:
            lines[path] = line
            if path == key_path:
                break
    return lines


def _repeated_json_keys(text: str) -> Iterator[tuple[KeyPath, int]]:
    seen: set[KeyPath] = set()
    for path, line in _json_keys(text):
        if path in seen:
            yield path, line
        seen.add(path)
