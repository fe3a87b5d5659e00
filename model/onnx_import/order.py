"""Nodes in execution order: unique names, no dead ones, producers before readers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush

from elkhound.model.errors import BadInputError
from elkhound.model.io.fields import LONGEST_NAME
from elkhound.model.onnx_import.source import Node

LONGEST_BASE = LONGEST_NAME - 20  # leaves room for a number


def named(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """Give every node a unique, stable name: its own, or that of its first output.

    Names are cut to what a problem file may hold, and control characters replaced.
    """
    taken: set[str] = set()
    result = []
    for node in nodes:
        base = legible(node.name or next((o for o in node.outputs if o), node.op))
        name, number = base, 2
        while name in taken:
            name, number = f"{base}#{number}", number + 1
        taken.add(name)
        result.append(replace(node, name=name))
    return tuple(result)


def legible(name: str) -> str:
    """Return a name that a problem file may hold, cut in the middle if need be."""
    shown = "".join(c if c.isprintable() else "_" for c in name)
    if len(shown) <= LONGEST_BASE:
        return shown
    half = LONGEST_BASE // 2
    return f"{shown[: half - 1]}…{shown[-half:]}"


def refuse_written_twice(nodes: Iterable[Node], given: Iterable[str]) -> None:
    """Refuse a value that two nodes write, or that is given and written as well.

    Parameters
    ----------
    nodes : iterable of Node
        All nodes, those that reach no output too.
    given : iterable of str
        Names of inputs and constants.
    """
    writer = dict.fromkeys(given, "the graph's inputs and constants")
    for node in nodes:
        for output in filter(None, node.outputs):
            if output in writer:
                raise BadInputError(
                    f"{output} is written twice, by {writer[output]} "
                    f"and by node {node.name}",
                    code="duplicate-output",
                )
            writer[output] = f"node {node.name}"


def live(
    nodes: Sequence[Node], outputs: Iterable[str], known: frozenset[str] = frozenset()
) -> tuple[Node, ...]:
    """Return the nodes that reach an output, in the given order.

    Parameters
    ----------
    nodes : sequence of Node
        Any order.
    outputs : iterable of str
        Values that leave the graph.
    known : frozenset of str
        Values known without being computed: what made them is not needed.
    """
    producers: dict[str, list[Node]] = {}  # several where a value is made in parts
    for node in nodes:
        for output in filter(None, node.outputs):
            producers.setdefault(output, []).append(node)
    reached: set[str] = set()
    frontier = [name for name in outputs if name not in known]
    while frontier:
        for node in producers.get(frontier.pop(), ()):
            if node.name not in reached:
                reached.add(node.name)
                frontier.extend(n for n in node.reads if n not in known)
    return tuple(node for node in nodes if node.name in reached)


def topological(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Sort producers before readers, keeping file order where it allows."""
    producer = {
        output: index
        for index, node in enumerate(nodes)
        for output in node.outputs
        if output
    }
    readers: list[list[int]] = [[] for _ in nodes]
    waiting = [0] * len(nodes)
    for index, node in enumerate(nodes):
        for source in {producer[name] for name in node.reads if name in producer}:
            readers[source].append(index)
            waiting[index] += 1
    ready = [index for index, count in enumerate(waiting) if count == 0]
    heapify(ready)
    done: list[Node] = []
    while ready:
        index = heappop(ready)
        done.append(nodes[index])
        for reader in readers[index]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heappush(ready, reader)
    if len(done) < len(nodes):
        stuck = next(n.name for n, count in zip(nodes, waiting, strict=True) if count)
        raise BadInputError(
            f"node {stuck} depends on its own output", code="cyclic-graph"
        )
    return tuple(done)
