"""Element types: stored width and the type partial sums are kept in."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.units import ceil_div


@dataclass(frozen=True, slots=True)
class DType:
    """A type of tensor elements.

    Parameters
    ----------
    name : str
        Lower-case name, such as ``float16``.
    bits : int
        Stored width of one element.
    """

    name: str
    bits: int

    @property
    def accumulator_bytes(self) -> int:
        """Bytes of one partial sum: fp32 for floats, int32 for integers."""
        return max(4, ceil_div(self.bits, 8))

    def size_bytes(self, elements: int) -> int:
        """Return ⌈elements · bits / 8⌉.

        Examples
        --------
        >>> DTYPES["int4"].size_bytes(3)
        2
        """
        return ceil_div(elements * self.bits, 8)


DTYPES: dict[str, DType] = {
    name: DType(name, bits)
    for name, bits in {
        "bool": 8,
        "int2": 2,
        "uint2": 2,
        "int4": 4,
        "uint4": 4,
        "int8": 8,
        "uint8": 8,
        "int16": 16,
        "uint16": 16,
        "int32": 32,
        "uint32": 32,
        "int64": 64,
        "uint64": 64,
        "float4e2m1": 4,
        "float8e4m3fn": 8,
        "float8e4m3fnuz": 8,
        "float8e5m2": 8,
        "float8e5m2fnuz": 8,
        "float8e8m0": 8,
        "float16": 16,
        "bfloat16": 16,
        "float32": 32,
        "float64": 64,
        "complex64": 64,
        "complex128": 128,
    }.items()
}
