"""Many labels at once: a dataclass of arrays, one entry of each per label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


class Columns(ABC):
    """Labels of one kind of order; a subclass is a slotted dataclass of its arrays.

    Parameters
    ----------
    ready, hbm_free : array
        EE_{i−1}, and R ≥ EE_{i−1}.
    """

    __slots__: tuple[str, ...] = ()
    ready: IntArray
    hbm_free: IntArray

    def __len__(self) -> int:
        return len(self.ready)

    @property
    @abstractmethod
    def strata(self) -> IntArray:
        """What a beam keeps apart."""

    def take(self, index: npt.NDArray[np.int64] | npt.NDArray[np.bool_]) -> Self:
        """Return some of the labels."""
        return type(self)(*(getattr(self, name)[index] for name in self.__slots__))

    @classmethod
    def join(cls, parts: list[Self]) -> Self:
        """Return the labels of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            *(
                np.concatenate([getattr(p, name) for p in parts])
                for name in cls.__slots__
            )
        )
