"""The bytes of an ONNX file without its weights, read from the wire format.

protobuf would load every weight before it can be dropped, and takes at most 2 GiB. This
reads the keys and lengths alone and steps over long data fields, so that memory depends
on the number of nodes, not on weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

LONGEST_DATA_BYTES = 64 * 1024  # holds the elements of any constant that is read
WINDOW_BYTES = 16 * 1024
DEEPEST = 30  # graphs in a graph; each takes 3 of the 100 messages protobuf allows

# message -> field number -> message of that field
PARTS: Mapping[str, Mapping[int, str]] = {
    "Model": {7: "Graph", 25: "Function"},
    "Graph": {1: "Node", 5: "Tensor", 15: "Sparse"},
    "Function": {7: "Node"},
    "Node": {5: "Attribute"},
    "Attribute": {5: "Tensor", 6: "Graph", 10: "Tensor", 11: "Graph", 22: "Sparse"},
    "Sparse": {1: "Tensor", 2: "Tensor"},
    "Tensor": {},
}
DATA: Mapping[str, frozenset[int]] = {  # fields left out where they are long
    "Tensor": frozenset({4, 5, 6, 7, 9, 10, 11}),
    "Attribute": frozenset({4}),
}
LEFT_OUT: Mapping[str, frozenset[int]] = {"Model": frozenset({20})}  # training graphs


class WireError(ValueError):
    """The bytes are no protobuf message."""


class NestedError(ValueError):
    """Graphs inside graphs, deeper than protobuf can read."""

    def __init__(self) -> None:
        super().__init__(
            f"Ifs, Loops and Scans are nested more than {DEEPEST} deep, deeper than "
            f"protobuf reads messages"
        )


def without_weights(path: Path) -> bytes:
    """Return the model of a file, its long constants without data.

    Raises
    ------
    WireError
        The file is no protobuf message, or is cut off.
    NestedError
        Its graphs are nested too deep.
    """
    with path.open("rb", buffering=0) as file:
        return b"".join(_message(_Data(file), 0, path.stat().st_size, "Model", -1))


class _Data:
    """A file's bytes, a window at a time.

    Mapping the file would do, but the kernel maps far more than what is touched.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._start = 0
        self._window = b""

    def byte(self, position: int) -> int:
        """Return one byte."""
        offset = position - self._start
        if not 0 <= offset < len(self._window):
            self._file.seek(position)
            self._start, self._window = position, self._file.read(WINDOW_BYTES)
            offset = 0
            if not self._window:
                raise WireError(f"cut off at byte {position}")
        return self._window[offset]

    def cut(self, start: int, end: int) -> bytes:
        """Return the bytes from start to end."""
        offset = start - self._start
        if offset >= 0 and end - self._start <= len(self._window):
            return self._window[offset : end - self._start]
        self._file.seek(start)
        return self._file.read(end - start)


def _message(data: _Data, start: int, end: int, kind: str, depth: int) -> list[bytes]:
    """Return what is kept of a message, in pieces.

    `depth` is that of the graph around it, 0 for the model's own.
    """
    depth += kind == "Graph"
    if depth > DEEPEST:
        raise NestedError
    parts, dropped = PARTS[kind], LEFT_OUT.get(kind, frozenset())
    kept: list[bytes] = []
    copied = position = start  # all before `copied` is in `kept`, or left out
    while position < end:
        field = position
        key, position = _varint(data, position, end)
        number, wire = key >> 3, key & 7
        if wire != 2:
            position = _after_scalar(data, position, end, wire)
            continue
        size, body = _varint(data, position, end)
        position = body + size
        if position > end:
            raise WireError(f"cut off at byte {body}")
        is_long = size > LONGEST_DATA_BYTES and number in DATA.get(kind, ())
        if number in parts or number in dropped or is_long:
            kept.append(data.cut(copied, field))
            copied = position
        if number in parts:
            inner = _message(data, body, position, parts[number], depth)
            kept += [_encoded(key), _encoded(sum(map(len, inner))), *inner]
    kept.append(data.cut(copied, end))
    return kept


def _after_scalar(data: _Data, position: int, end: int, wire: int) -> int:
    if wire == 0:
        return _varint(data, position, end)[1]
    width = {1: 8, 5: 4}.get(wire)
    if width is None or position + width > end:
        raise WireError(f"no protobuf field at byte {position}")
    return position + width


def _varint(data: _Data, position: int, end: int) -> tuple[int, int]:
    """Return a variable-length integer and the position behind it."""
    value = shift = 0
    while position < end and shift < 70:
        byte = data.byte(position)
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise WireError(f"cut off at byte {position}")


def _encoded(value: int) -> bytes:
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)
