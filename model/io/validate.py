"""Checks a document against its model; one fault, one line, with its place."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from elkhound.model.errors import nearest
from elkhound.model.io.document import Document, KeyPath, show

Schema = dict[str, Any]
Model = TypeVar("Model", bound=BaseModel)
Noun = TypeVar("Noun")


def validated(document: Document, model: type[Model]) -> Model:
    """Return the document as `model`.

    Raises
    ------
    BadInputError
        Names file and line, key, value, legal range or nearest legal key.
    """
    try:
        return model.model_validate(document.value)
    except ValidationError as error:
        _refuse(document, model, _worst(error.errors(include_url=False)))


def built(
    document: Document,
    key_path: KeyPath,
    make: Callable[[], Noun],
    *,
    anonymous: bool = False,
) -> Noun:
    """Return the noun `make` builds; its ValueError gets the place it is about.

    The nouns' messages name the field at fault, so its line is looked up under
    `key_path`. An anonymous noun does not say which one it is: the path does.
    """
    try:
        return make()
    except ValueError as error:
        message = str(error)
        if anonymous:
            message = f"{document.spell(key_path)}: {message}"
        _refuse_built(document, key_path, message)


def _refuse_built(document: Document, key_path: KeyPath, message: str) -> NoReturn:
    place = document.at(key_path)
    keys = place if isinstance(place, dict) else {}
    named = [word for word in re.findall(r"\w+", message) if word in keys]
    document.refuse(message, (*key_path, *named[:1]), code="bad-value")


def _worst(faults: list[ErrorDetails]) -> ErrorDetails:
    """Return the first fault; a misspelt key rather than the one it leaves missing."""
    first = faults[0]
    if first["type"] == "missing":
        for fault in faults:
            unknown = fault["type"] == "extra_forbidden"
            if unknown and fault["loc"][:-1] == first["loc"][:-1]:
                return fault
    return first


def _refuse(
    document: Document, model: type[BaseModel], fault: ErrorDetails
) -> NoReturn:
    key_path = _plain_path(document, fault)
    spelt = document.spell(key_path) or "the document"
    if fault["type"] == "extra_forbidden":
        legal = _legal_keys(model, key_path[:-1])
        document.refuse(
            f"unknown key {spelt}",
            key_path,
            hint=nearest(str(key_path[-1]), legal),
            code="unknown-key",
        )
    must_be = f"must be {_legal(model, key_path)}"
    if fault["type"] == "missing":
        document.refuse(f"{spelt} is missing, {must_be}", key_path, code="missing-key")
    held = fault["input"]
    shown = f"has {len(held)} entries" if _is_too_short(fault) else f"is {show(held)}"
    document.refuse(f"{spelt} {shown}, {must_be}", key_path, code="bad-value")


def _is_too_short(fault: ErrorDetails) -> bool:
    return fault["type"] in ("too_short", "too_long")


def _plain_path(document: Document, fault: ErrorDetails) -> KeyPath:
    """Return the fault's path without the tags that pydantic adds for unions."""
    loc = fault["loc"]
    path: KeyPath = ()
    for depth, key in enumerate(loc, start=1):
        place = document.at(path)
        absent = depth == len(loc) and fault["type"] == "missing"
        in_mapping = isinstance(place, dict) and key in place
        in_list = isinstance(place, list) and isinstance(key, int)
        if absent or in_mapping or in_list:
            path = (*path, key)
    return path


def _legal_keys(model: type[BaseModel], key_path: KeyPath) -> list[str]:
    keys: list[str] = []
    for schema in _schemas_at(model, key_path):
        keys += [key for key in schema.get("properties", {}) if key not in keys]
    return keys


def _legal(model: type[BaseModel], key_path: KeyPath) -> str:
    spelt: list[str] = []
    for schema in _schemas_at(model, key_path):
        words = _in_words(schema)
        if words not in spelt:
            spelt.append(words)
    return " or ".join(spelt)


def _in_words(schema: Schema) -> str:
    """Return what a JSON schema without alternatives accepts."""
    if "const" in schema:
        return str(schema["const"])
    if "enum" in schema:
        *first, last = (str(word) for word in schema["enum"])
        return f"{', '.join(first)} or {last}" if first else last
    kind = schema.get("type")
    if kind in ("integer", "number") and "maximum" not in schema:
        return "an integer" if kind == "integer" else "a number"
    if kind == "integer":
        return f"an integer from {schema['minimum']} to {_short(schema['maximum'])}"
    if kind == "number":
        return _number_in_words(schema)
    if kind == "array":
        least = schema.get("minItems", 0)
        return f"a list of at least {least}" if least else "a list"
    if kind == "string":
        low, high = schema.get("minLength"), schema.get("maxLength")
        return "text" if low is None else f"text of {low} to {high} characters"
    words = {"object": "a mapping", "null": "null", "boolean": "true or false"}
    return words.get(str(kind), str(kind))


def _number_in_words(schema: Schema) -> str:
    most = _short(int(schema["maximum"]))
    if "exclusiveMinimum" in schema:
        return f"a number above {schema['exclusiveMinimum']:g} and at most {most}"
    return f"a number from {schema['minimum']:g} to {most}"


def _short(number: int) -> str:
    """Return 10^15 for the round limits, the digits for other numbers."""
    digits = str(number)
    if len(digits) > 6 and digits == "1" + "0" * (len(digits) - 1):
        return f"10^{len(digits) - 1}"
    return digits


def _schemas_at(model: type[BaseModel], key_path: KeyPath) -> list[Schema]:
    """Return the alternatives that the model's JSON schema allows at a path."""
    root = _json_schema(model)
    here = list(_alternatives(root, root))
    for key in key_path:
        deeper: list[Schema] = []
        for schema in here:
            if isinstance(key, int):
                below = schema.get("items")
            else:
                below = schema.get("properties", {}).get(
                    key, schema.get("additionalProperties")
                )
            if isinstance(below, dict):
                deeper += _alternatives(root, below)
        here = deeper
    return here


def _alternatives(root: Schema, schema: Schema) -> Iterator[Schema]:
    """Yield a schema's branches, with references into `root` resolved."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield from _alternatives(root, root["$defs"][name])
        return
    for word in ("anyOf", "oneOf"):
        for branch in schema.get(word, ()):
            yield from _alternatives(root, branch)
    if "anyOf" not in schema and "oneOf" not in schema:
        yield schema


@functools.cache
def _json_schema(model: type[BaseModel]) -> Schema:
    return model.model_json_schema()
