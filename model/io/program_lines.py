"""The text form of a program: its JSON document, line by line.

    program sram_bytes=100
    op 0 "a" resident_bytes=0 execute_plan=0 …
    buffer "P.a" start_step=0 end_step=1 size_bytes=20 offset=0
    preload_async(op=0)  # a
    execute(op=0)  # a

`chip` and `payload` lines hold a JSON object; blank lines and comments say nothing.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.io.document import Document, KeyPath, show

_WORDS = ("program", "chip", "op", "payload", "buffer", "preload_async", "execute")
_INSTRUCTION = re.compile(r"(preload_async|execute)\(op=(\d{1,15})\)\s*(#.*)?")
_PAIR = re.compile(r"([a-z_]+)=(\d{1,20})")
_DECODER = json.JSONDecoder()


def text_of_document(document: dict[str, Any]) -> str:
    """Return the text of a program's document."""
    lines = [
        "# preload_async asks HBM and goes on; execute waits for its data and blocks",
        f"program sram_bytes={document['sram_bytes']}",
    ]
    if "chip" in document:
        lines.append(f"chip {json.dumps(document['chip'])}")
    lines.append("")
    for k, task in enumerate(document["tasks"]):
        lines.append(f"op {k} {_named(task, without=('payload',))}")
        if "payload" in task:
            lines.append(f"payload {k} {json.dumps(task['payload'])}")
    if "addresses" in document:
        lines.append("")
        lines += [f"buffer {_named(buffer)}" for buffer in document["addresses"]]
        if not document["addresses"]:
            lines.append("buffer none")
    lines.append("")
    for instruction in document["instructions"]:
        k = instruction["op"]
        name = json.dumps(document["tasks"][k]["name"])[1:-1]
        lines.append(f"{instruction['do']}(op={k})  # {name}")
    return "\n".join(lines) + "\n"


def document_of_text(path: str, text: str) -> Document:
    """Return the document that a text stands for, knowing its lines.

    Raises
    ------
    BadInputError
        Names file and line of the first line that is none of the above.
    """
    reader = _Reader(path)
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            reader.read(number, stripped)
    return Document(path, reader.value, text, reader.lines or {("kind",): 1})


class _Reader:
    """Collects the document's values and where each stood."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.value: dict[str, Any] = {
            "kind": "program",
            "tasks": [],
            "instructions": [],
        }
        self.lines: dict[KeyPath, int] = {}

    def read(self, number: int, line: str) -> None:
        where = f"{self.path}:{number}"
        instruction = _INSTRUCTION.fullmatch(line)
        if instruction:
            entry = {"do": instruction[1], "op": int(instruction[2])}
            self._append("instructions", entry, number)
            return
        word, _, rest = line.partition(" ")
        if word == "program":
            self._once("sram_bytes", number, where)
            self.value |= (pairs := _pairs(rest, where))
            self.lines |= {(key,): number for key in pairs}
        elif word == "chip":
            self._once("chip", number, where)
            self.value["chip"] = _json(rest, where)
        elif word == "op":
            rest = self._numbered(rest, len(self.value["tasks"]), where)
            self._append("tasks", _entry(rest, where), number)
        elif word == "payload":
            rest = self._numbered(rest, len(self.value["tasks"]) - 1, where)
            self.value["tasks"][-1]["payload"] = _json(rest, where)
        elif line == "buffer none":
            self.value.setdefault("addresses", [])
        elif word == "buffer":
            self._append("addresses", _entry(rest, where), number)
        else:
            hint = nearest(re.split(r"\W", word)[0], list(_WORDS))
            _refuse(where, f"{show(line)} is no line of a program", hint)

    def _append(self, key: str, entry: dict[str, Any], number: int) -> None:
        entries = self.value.setdefault(key, [])
        self.lines.setdefault((key,), number)
        self.lines[key, len(entries)] = number
        entries.append(entry)

    def _once(self, key: str, number: int, where: str) -> None:
        if key in self.value:
            _refuse(where, f"{key} stands in line {self.lines[key,]} too")
        self.lines[key,] = number

    def _numbered(self, rest: str, expected: int, where: str) -> str:
        number, _, rest = rest.partition(" ")
        if expected < 0 or number != str(expected):
            must = "follow its op" if expected < 0 else f"be {expected}"
            _refuse(where, f"number is {show(number)}, must {must}")
        return rest


def _named(entry: dict[str, Any], without: tuple[str, ...] = ()) -> str:
    pairs = [f"{k}={v}" for k, v in entry.items() if k not in ("name", *without)]
    return " ".join([json.dumps(entry["name"]), *pairs])


def _entry(text: str, where: str) -> dict[str, Any]:
    """Return a quoted name and the key=value pairs behind it."""
    try:
        name, end = _DECODER.raw_decode(text)
    except json.JSONDecodeError:
        _refuse(where, "a name in double quotes is missing")
    return {"name": name, **_pairs(text[end:], where)}


def _pairs(text: str, where: str) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for piece in text.split():
        match = _PAIR.fullmatch(piece)
        if match is None:
            _refuse(where, f"{show(piece)} is not of the form key=number")
        if match[1] in pairs:
            _refuse(where, f"{match[1]} is given twice")
        pairs[match[1]] = int(match[2])
    return pairs


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        _refuse(where, "what follows is no JSON object")


def _refuse(where: str, message: str, hint: str = "") -> NoReturn:
    raise BadInputError(message, code="bad-file", where=where, hint=hint)
