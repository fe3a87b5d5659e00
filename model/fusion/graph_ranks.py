"""Ranks of the tensors that operators exchange, though each sees them in its own view.

A view cuts a tensor's storage into axes. Where two operators cut it in different places
(heads · width in one, heads and width in the other), the tensor gets a rank between any
two cuts, and the dimensions that run over several ranks are split. A split reaches
other tensors of that operator, until nothing changes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from elkhound.model.fusion.graph_steps import Step, Steps, Stored, refused
from elkhound.model.graph import Access, Axis

Piece = tuple[int, str, int]
"""Step, dimension, and the stride of the piece inside the dimension."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A run of a tensor's storage that one axis of a view goes through.

    Parameters
    ----------
    stride, extent : int
        In the storage.
    axis : Axis
        Of the access.
    inner : int
        Stride of the run inside the axis's dimension.
    """

    stride: int
    extent: int
    axis: Axis
    inner: int = 1

    @property
    def dimension(self) -> str | None:
        """What indexes the run alone; None for a halo."""
        return self.axis.terms[0][0] if self.axis.plain else None


@dataclass(slots=True)
class Ranks:
    """Where tensors and dimensions are cut: strides, by tensor and by dimension."""

    steps: Steps
    users: Counter[str] = field(init=False)
    tensor_cuts: dict[str, set[int]] = field(default_factory=dict)
    dimension_cuts: dict[tuple[int, str], set[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        accesses = [a for step in self.steps.steps for a in step.accesses]
        self.users = Counter(access.tensor for access in accesses)
        for number, step in enumerate(self.steps.steps):
            for name, size in step.sizes.items():
                self.dimension_cuts[number, name] = {1, size}
        order = list(enumerate(self.steps.steps))
        while self._spread(order):
            order.reverse()  # cuts travel to producers and to consumers
        for (number, name), cuts in self.dimension_cuts.items():
            if any(outer % inner for inner, outer in pairwise(sorted(cuts))):
                raise refused(
                    self.steps.steps[number].operator,
                    f"views of its tensors cut {name} in ways that do not nest",
                )

    def _spread(self, order: list[tuple[int, Step]]) -> bool:
        """Pass cuts on between tensors and dimensions; say whether any was new."""
        news = False
        for number, step in order:
            for access in step.accesses:
                news |= self._exchange(number, step, access)
        return news

    def _exchange(self, number: int, step: Step, access: Access) -> bool:
        cuts = self.tensor_cuts.setdefault(access.tensor, set())
        before = len(cuts)
        news = False
        for block in self.blocks(step, access):
            end = block.stride * block.extent
            cuts |= {block.stride, end}
            name = block.dimension
            inside = [cut for cut in cuts if block.stride < cut < end]
            if name is None:
                if inside:
                    raise refused(
                        step.operator, f"another view cuts {access.tensor}'s halo"
                    )
                continue
            own = self.dimension_cuts[number, name]
            for cut in inside:
                if cut % block.stride or end % cut:
                    raise refused(
                        step.operator,
                        f"views of {access.tensor} cut it in ways that do not nest",
                    )
                inner = block.inner * (cut // block.stride)
                news |= inner not in own
                own.add(inner)
            edges = {block.inner, block.inner * block.extent}
            news |= not edges <= own
            own |= edges
            cuts |= {
                block.stride * (cut // block.inner)
                for cut in own
                if block.inner < cut < block.inner * block.extent
                and cut % block.inner == 0
            }
        return news or len(cuts) > before

    def blocks(self, step: Step, access: Access) -> Iterator[_Block]:
        """Yield what an access's axes go through in the storage, of extents above 1.

        The only user of a tensor may touch a part of it: that part is the tensor then.
        A halo may reach over the border, which is padding, or leave a rest.
        """
        stored = self.steps.tensors[access.tensor]
        own = [axis.extent(step.sizes) for axis in access.axes]
        alone = self.users[access.tensor] == 1
        if access.parts and not alone:
            for axis, parts in zip(access.axes, access.parts, strict=True):
                inner = 1
                for stride, extent in reversed(parts):
                    if stride == 0 or (axis.terms and not axis.plain):
                        raise refused(
                            step.operator,
                            f"it sees {access.tensor} reshaped across its storage",
                        )
                    if axis.terms:
                        yield _Block(stride, extent, axis, inner)
                    inner *= extent
            return
        extents = own if alone else _stored_extents(step, access, own, stored)
        stride = 1
        for axis, extent in zip(reversed(access.axes), reversed(extents), strict=True):
            if axis.terms:
                yield _Block(stride, extent, axis)
            stride *= extent

    def pieces(
        self, number: int, step: Step, access: Access
    ) -> list[tuple[tuple[Piece, int], ...]]:
        """Return the terms of every rank of a tensor, in storage order."""
        found: list[tuple[int, tuple[tuple[Piece, int], ...]]] = []
        for block in self.blocks(step, access):
            name = block.dimension
            if name is None:
                terms = tuple(
                    (self._uncut(number, step, dimension), coefficient)
                    for dimension, coefficient in block.axis.terms
                )
                found.append((block.stride, terms))
                continue
            for cut in sorted(self.dimension_cuts[number, name]):
                if block.inner <= cut < block.inner * block.extent:
                    stride = block.stride * (cut // block.inner)
                    found.append((stride, (((number, name, cut), 1),)))
        found.sort(key=lambda each: -each[0])
        return [terms for _, terms in found]

    def size(self, piece: Piece) -> int:
        """Return the extent of a piece of a dimension."""
        number, name, cut = piece
        return min(c for c in self.dimension_cuts[number, name] if c > cut) // cut

    def _uncut(self, number: int, step: Step, name: str) -> Piece:
        if len(self.dimension_cuts[number, name]) > 2:
            raise refused(step.operator, f"another view cuts {name}, part of a halo")
        return (number, name, 1)


def _stored_extents(
    step: Step, access: Access, own: list[int], stored: Stored
) -> list[int]:
    """Return the extents that give the strides of a view's axes."""
    if math.prod(own) == stored.elements:
        return own
    left = [extent for extent in stored.shape if extent > 1]
    part = refused(step.operator, f"it touches a part of {access.tensor}")
    extents: list[int] = []
    room = 1  # of the storage axis that the view's axes have not filled yet
    for axis, extent in zip(access.axes, own, strict=True):
        taken = 1
        if axis.terms:
            if room == 1:
                if not left:
                    raise part
                room = left.pop(0)
            taken = extent if axis.plain else room
            if room % taken:
                raise part
            room //= taken
        extents.append(taken)
    if left or room > 1:
        raise part
    return extents
