"""What an import decided, for the user to check."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.graph import Graph
from elkhound.model.onnx_import.homes import InputHome
from elkhound.model.onnx_import.symbols import Symbol


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """A group of primitive operators recognised as one.

    Parameters
    ----------
    pattern : str
        What was recognised, such as ``rms-norm``.
    operator : str
        Name of the operator that stands for the group.
    nodes : tuple of str
        Names of the nodes it replaces.
    """

    pattern: str
    operator: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """A graph and how it was read.

    Parameters
    ----------
    graph : Graph
        What is planned.
    homes : tuple of InputHome
        Where each input starts, and why.
    symbols : tuple of Symbol
        Symbolic dimensions, the extents they are bound to, where they come from.
    patterns : tuple of PatternMatch
        Groups recognised as one operator, in execution order.
    unsupported : tuple of str
        Operator types that are not known and went through all the same.
    warnings : tuple of str
        What was odd about the file, or left out.
    """

    graph: Graph
    homes: tuple[InputHome, ...]
    symbols: tuple[Symbol, ...]
    patterns: tuple[PatternMatch, ...]
    unsupported: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def free_symbols(self) -> tuple[str, ...]:
        """Names of the dimensions that the file leaves open."""
        return tuple(symbol.name for symbol in self.symbols)

    @property
    def pattern_counts(self) -> dict[str, int]:
        """How often each pattern was recognised."""
        names = [match.pattern for match in self.patterns]
        return {name: names.count(name) for name in dict.fromkeys(names)}
