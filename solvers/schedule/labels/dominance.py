"""Which labels no better schedule can come from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from elkhound.solvers.schedule.labels.stage import Labels


def undominated(labels: Labels) -> npt.NDArray[np.int64]:
    """Return the labels to keep, sorted by (k, mask, EE, R).

    Labels with the same k and mask hold the same bytes for the same preloads. The one
    that is no later in EE and R can do all that the other can, as early. So inside a
    key, in the order of EE, only a smaller R than any before is kept.
    """
    order = np.lexsort((labels.hbm_free, labels.ready, labels.mask, labels.issued))
    issued, mask = labels.issued[order], labels.mask[order]
    hbm_free = labels.hbm_free[order]
    new_key = np.ones(len(order), dtype=bool)
    new_key[1:] = (issued[1:] != issued[:-1]) | (mask[1:] != mask[:-1])
    # Later keys lie below all earlier ones: one running minimum serves all.
    spread = int(hbm_free.max() - hbm_free.min()) + 1
    lowered = (hbm_free - hbm_free.min()) - np.cumsum(new_key) * spread
    least = np.minimum.accumulate(lowered)
    keep = np.ones(len(order), dtype=bool)
    keep[1:] = lowered[1:] < least[:-1]
    return order[keep]
