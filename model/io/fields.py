"""Field types that every file format shares: strict integers with a legal range."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

LARGEST = 10**15
"""Largest count of bytes or cycles in a file; sums of thousands still fit 64 bits."""
LARGEST_RATE = 10**18
"""Largest rate, in bytes or cycles per second."""
LONGEST_NAME = 200
"""Most characters of a name in a file."""


class FileModel(BaseModel):
    """A mapping of a file: unknown keys and converted types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def whole(value: object) -> object:
    """Turn 8.0e12 into 8000000000000; anything else goes on as it is."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


Name = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME)]
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
ChipCount = Annotated[Count, BeforeValidator(whole)]
ChipPositive = Annotated[Positive, BeforeValidator(whole)]
Rate = Annotated[int, Field(ge=1, le=LARGEST_RATE), BeforeValidator(whole)]
