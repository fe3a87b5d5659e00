"""A graph as a fusion workload: operators become einsums, views become ranks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from elkhound.model.errors import BadInputError
from elkhound.model.fusion.graph_ranks import Piece, Ranks
from elkhound.model.fusion.graph_steps import Step, Steps, refused, steps_of
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload, WorkloadError
from elkhound.model.graph import Access, Axis, Graph, Home, OperatorKind


@dataclass(frozen=True, slots=True)
class GraphWorkload:
    """A workload, and what of the graph it leaves out.

    Parameters
    ----------
    workload : FusionWorkload
        The einsums.
    folded : tuple of str
        One line per operand whose traffic is not counted.
    """

    workload: FusionWorkload
    folded: tuple[str, ...]


def graph_workload(graph: Graph) -> GraphWorkload:
    """Return the einsums of a graph; streamed tensors persist in their backing store.

    Raises
    ------
    BadInputError
        An operator is no einsum; named, with the reason.
    """
    found = steps_of(graph)
    names = _Names(Ranks(found))
    einsums = names.merged(
        _einsum(names, number, step) for number, step in enumerate(found.steps)
    )
    bits = {names.word(t): stored.dtype.bits for t, stored in found.tensors.items()}
    streamed = [t.name for t in graph.tensors if t.home is Home.HBM]
    persistent = tuple(names.word(t) for t in streamed if t in found.tensors)
    _require_einsums(found, einsums, names.sizes, bits)
    used = dict.fromkeys(rank for einsum in einsums for rank in einsum.ranks)
    try:
        workload = FusionWorkload(
            graph.name,
            tuple((rank, names.sizes[rank]) for rank in used),
            einsums,
            tuple(bits.items()),
            persistent,
        )
    except WorkloadError as error:
        raise BadInputError(str(error), code="no-einsum") from error
    return GraphWorkload(workload, found.folded)


def _require_einsums(
    found: Steps,
    einsums: tuple[FusionEinsum, ...],
    sizes: dict[str, int],
    bits: dict[str, int],
) -> None:
    """Refuse an operator that is no einsum even on its own."""
    for step, einsum in zip(found.steps, einsums, strict=True):
        try:
            FusionWorkload(
                einsum.name,
                tuple((rank, sizes[rank]) for rank in einsum.ranks),
                (einsum,),
                tuple((tensor, bits[tensor]) for tensor in einsum.tensors),
            )
        except WorkloadError as error:
            raise refused(step.operator, str(error)) from error


def _einsum(names: _Names, number: int, step: Step) -> FusionEinsum:
    *inputs, output = names.accesses(number, step)
    copy = (
        step.operator.kind is OperatorKind.COPY
        and len(inputs) == 1
        and inputs[0].axes == output.axes
    )
    return FusionEinsum(names.word(step.name), output, tuple(inputs), copy)


@dataclass(slots=True)
class _Names:
    """Rank variables, shared between operators where they run over one tensor's rank.

    Names of the graph are rewritten as words of letters, digits and underscores.
    """

    ranks: Ranks
    sizes: dict[str, int] = field(default_factory=dict)
    _of: dict[Piece, str] = field(default_factory=dict)
    _ranks_of: dict[str, list[str | None]] = field(default_factory=dict)
    _words: dict[str, str] = field(default_factory=dict)
    _alike: list[tuple[str, str]] = field(default_factory=list)

    def word(self, name: str) -> str:
        """Return a name of the graph as a word, the same one every time."""
        if name not in self._words:
            base = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "t"
            base = f"t{base}" if base[0].isdigit() else base
            self._words[name] = _free(base, set(self._words.values()))
        return self._words[name]

    def accesses(self, number: int, step: Step) -> list[Access]:
        """Return a step's accesses by rank variables, inputs first."""
        pieces = [self.ranks.pieces(number, step, a) for a in step.accesses]
        taken: set[str] = set()
        for access, axes in zip(step.accesses, pieces, strict=True):
            for terms, rank in zip(
                axes, self._ranks_of.get(access.tensor, []), strict=False
            ):
                if len(terms) == 1 and rank is not None:
                    self._take(terms[0][0], rank, taken)
        for axes in (pieces[-1], *pieces[:-1]):
            for terms in axes:
                for piece, _ in terms:
                    self._name(piece)
        named = []
        for access, axes in zip(step.accesses, pieces, strict=True):
            view = tuple(Axis(tuple((self._of[p], c) for p, c in t)) for t in axes)
            plain = [axis.terms[0][0] if axis.plain else None for axis in view]
            self._ranks_of.setdefault(access.tensor, list(plain))
            named.append(Access(self.word(access.tensor), view))
        return named

    def _take(self, piece: Piece, rank: str, taken: set[str]) -> None:
        """Give a piece the name that its tensor's rank has, if it may have it."""
        if self.sizes[rank] != self.ranks.size(piece):
            return  # under a halo, padding aside
        if piece in self._of:
            self._alike.append((self._of[piece], rank))
        elif rank not in taken:
            self._of[piece] = rank
            taken.add(rank)

    def _name(self, piece: Piece) -> None:
        if piece not in self._of:
            base = re.sub(r"\W|\d", "", piece[1], flags=re.ASCII) or "r"
            self._of[piece] = _free(base, set(self.sizes))
            self.sizes[self._of[piece]] = self.ranks.size(piece)

    def merged(self, einsums: Iterable[FusionEinsum]) -> tuple[FusionEinsum, ...]:
        """Return einsums in which ranks that another einsum equates have one name.

        Ranks that meet in some einsum stay apart: K's token there is not Q's.
        """
        found = list(einsums)
        together = [set(einsum.ranks) for einsum in found]
        name = {rank: rank for rank in self.sizes}
        for pair in self._alike:
            kept, gone = (name[rank] for rank in pair)
            if kept == gone or any({kept, gone} <= ranks for ranks in together):
                continue
            name = {rank: kept if n == gone else n for rank, n in name.items()}
            together = [{kept if r == gone else r for r in rs} for rs in together]
        return tuple(_renamed(einsum, name) for einsum in found)


def _renamed(einsum: FusionEinsum, name: dict[str, str]) -> FusionEinsum:
    def by_name(access: Access) -> Access:
        axes = (Axis(tuple((name[r], c) for r, c in a.terms)) for a in access.axes)
        return replace(access, axes=tuple(axes))

    inputs = tuple(by_name(access) for access in einsum.inputs)
    return replace(einsum, inputs=inputs, output=by_name(einsum.output))


def _free(base: str, taken: set[str]) -> str:
    name, number = base, 1
    while name in taken:
        name, number = f"{base}{number}", number + 1
    return name
