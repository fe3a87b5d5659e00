"""A fusion workload: einsums in order, over rank variables with sizes."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.graph import Access

Place = tuple[str | int, ...]


class WorkloadError(ValueError):
    """A workload that cannot be, with the part of it at fault.

    Parameters
    ----------
    message : str
        What is wrong.
    place : Place
        Keys of the file form that lead to the fault.
    """

    def __init__(self, message: str, place: Place = ()) -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True, slots=True)
class FusionEinsum:
    """One computation step.

    Parameters
    ----------
    name : str
        Unique in the workload.
    output : Access
        The tensor it writes.
    inputs : tuple of Access
        The tensors it reads. The first is *the input*, the others are weights, in the
        sense of an accelerator's `keep` words and fan-out ranks: K and V act as weights
        of attention.
    copy : bool
        Moves its input and computes nothing.
    """

    name: str
    output: Access
    inputs: tuple[Access, ...]
    copy: bool = False

    @property
    def accesses(self) -> tuple[Access, ...]:
        """Inputs, then the output."""
        return (*self.inputs, self.output)

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of the inputs, then of the output."""
        return tuple(access.tensor for access in self.accesses)

    @property
    def ranks(self) -> tuple[str, ...]:
        """Rank variables of its iteration space, in order of appearance."""
        seen: dict[str, None] = {}
        for access in (self.output, *self.inputs):
            for axis in access.axes:
                seen.update(dict.fromkeys(name for name, _ in axis.terms))
        return tuple(seen)

    def access(self, tensor: str) -> Access:
        """Return how it reads or writes one of its tensors."""
        return next(access for access in self.accesses if access.tensor == tensor)


@dataclass(frozen=True, slots=True)
class FusionWorkload:
    """Einsums in order: a tensor is produced before it is read.

    Parameters
    ----------
    name : str
        Name shown in reports.
    sizes : tuple of (str, int)
        Iterations of every rank variable.
    einsums : tuple of FusionEinsum
        In the order they are mapped and run.
    bits : tuple of (str, int)
        Bits per value of every tensor.
    persistent : tuple of str
        Tensors that stay in their backing store from the first einsum to the last.
    """

    name: str
    sizes: tuple[tuple[str, int], ...]
    einsums: tuple[FusionEinsum, ...]
    bits: tuple[tuple[str, int], ...]
    persistent: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.einsums:
            raise WorkloadError(f"{self.name}: has no einsums", ("einsums",))
        _require_sizes(self)
        _require_one_producer(self)
        _require_order(self)
        for index, einsum in enumerate(self.einsums):
            _require_plain_accesses(einsum, index)
        _require_equal_shapes(self)
        _require_bits(self)

    @property
    def size(self) -> dict[str, int]:
        """Iterations by rank variable."""
        return dict(self.sizes)

    @property
    def tensors(self) -> tuple[str, ...]:
        """All tensors, in order of appearance."""
        return tuple(dict.fromkeys(t for e in self.einsums for t in e.tensors))

    @property
    def intermediates(self) -> frozenset[str]:
        """Tensors that one einsum writes and another reads."""
        read = {access.tensor for e in self.einsums for access in e.inputs}
        return frozenset(e.output.tensor for e in self.einsums) & read

    def einsum(self, name: str) -> FusionEinsum:
        """Return the einsum of a name, which exists."""
        return next(einsum for einsum in self.einsums if einsum.name == name)

    def users(self, tensor: str) -> tuple[str, ...]:
        """Return the einsums that read or write a tensor, in order."""
        return tuple(e.name for e in self.einsums if tensor in e.tensors)

    def elements(self, tensor: str) -> int:
        """Return how many values a tensor has."""
        einsum = self.einsum(self.users(tensor)[0])
        return einsum.access(tensor).elements(self.size)


def _require_sizes(workload: FusionWorkload) -> None:
    size = workload.size
    used: set[str] = set()
    for index, einsum in enumerate(workload.einsums):
        used.update(einsum.ranks)
        for rank in einsum.ranks:
            if rank not in size:
                raise WorkloadError(
                    f"einsum {einsum.name}: rank variable {rank} has no size",
                    ("einsums", index),
                )
    for rank, count in workload.sizes:
        if count < 1:
            raise WorkloadError(
                f"size of {rank} is {count}, must be at least 1", ("sizes", rank)
            )
        if rank not in used:
            raise WorkloadError(f"no einsum uses {rank}", ("sizes", rank))


def _require_one_producer(workload: FusionWorkload) -> None:
    names: set[str] = set()
    producer: dict[str, str] = {}
    for index, einsum in enumerate(workload.einsums):
        place = ("einsums", index)
        tensor = einsum.output.tensor
        if tensor in producer:
            raise WorkloadError(
                f"tensor {tensor} is produced twice, by {producer[tensor]} and "
                f"{einsum.name} (einsum {index + 1})",
                place,
            )
        producer[tensor] = einsum.name
        if einsum.name in names:
            raise WorkloadError(f"two einsums are called {einsum.name}", place)
        names.add(einsum.name)


def _require_order(workload: FusionWorkload) -> None:
    step = {e.output.tensor: index for index, e in enumerate(workload.einsums)}
    for index, einsum in enumerate(workload.einsums):
        for access in einsum.inputs:
            if step.get(access.tensor, -1) >= index:
                producer = workload.einsums[step[access.tensor]].name
                raise WorkloadError(
                    f"einsum {einsum.name}: reads {access.tensor} before {producer} "
                    "has produced it: a cycle, or einsums out of order",
                    ("einsums", index),
                )


def _require_plain_accesses(einsum: FusionEinsum, index: int) -> None:
    place = ("einsums", index)
    if not einsum.inputs:
        raise WorkloadError(f"einsum {einsum.name}: reads nothing", place)
    if len(set(einsum.tensors)) < len(einsum.tensors):
        raise WorkloadError(f"einsum {einsum.name}: uses a tensor twice", place)
    for access in einsum.accesses:
        terms = [term for axis in access.axes for term in axis.terms]
        if len({name for name, _ in terms}) < len(terms):
            raise WorkloadError(
                f"einsum {einsum.name}: a rank variable indexes {access.tensor} twice",
                place,
            )
    inputs = {rank for access in einsum.inputs for rank in access.dimensions}
    missing = sorted(einsum.output.dimensions - inputs)
    if missing:
        raise WorkloadError(
            f"einsum {einsum.name}: no input is indexed by {missing[0]}", place
        )
    if einsum.copy and einsum.inputs[0].axes != einsum.output.axes:
        raise WorkloadError(
            f"einsum {einsum.name}: a copy indexes both its tensors alike", place
        )
    if einsum.copy and len(einsum.inputs) > 1:
        raise WorkloadError(f"einsum {einsum.name}: a copy has one input", place)


def _require_equal_shapes(workload: FusionWorkload) -> None:
    """Refuse users that see a tensor in different shapes.

    A halo may reach over the tensor's border, which is padding, or leave a rest.
    """
    shapes: dict[str, tuple[str, tuple[tuple[int, bool], ...]]] = {}
    for index, einsum in enumerate(workload.einsums):
        for access in einsum.accesses:
            shape = tuple((a.extent(workload.size), a.plain) for a in access.axes)
            first, known = shapes.setdefault(access.tensor, (einsum.name, shape))
            agree = len(shape) == len(known) and all(
                extent == other or not (plain and other_plain)
                for (extent, plain), (other, other_plain) in zip(
                    shape, known, strict=True
                )
            )
            if not agree:
                raise WorkloadError(
                    f"tensor {access.tensor}: {[extent for extent, _ in known]} in "
                    f"{first}, {[extent for extent, _ in shape]} in {einsum.name}",
                    ("einsums", index),
                )


def _require_bits(workload: FusionWorkload) -> None:
    bits = dict(workload.bits)
    for tensor in workload.tensors:
        if bits.get(tensor, 0) < 1:
            raise WorkloadError(f"tensor {tensor}: bits must be at least 1", ("bits",))
    for tensor, place in (
        *((tensor, "bits") for tensor in bits),
        *((tensor, "persistent") for tensor in workload.persistent),
    ):
        if tensor not in workload.tensors:
            raise WorkloadError(f"no einsum uses tensor {tensor}", (place,))
