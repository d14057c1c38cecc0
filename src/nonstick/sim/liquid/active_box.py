"""The active box: the cells that a step works on. It follows the liquid, so that a step costs what its liquid costs.

Every array of a step covers the active box and nothing else (`parallel.partition.Partition.hold`). Outside there is no
liquid: φ is that of air, and pressure and velocity are zero. The box holds all particles and the sources that flow,
with as many layers around them as a stage of the step reads or a particle moves; a step with faster particles makes it
wider before they move (`Liquid._make_room`).

The box depends on positions, time and the last step alone: a resumed run has the same boxes. It begins at multiples of
`align`, so that it seldom changes, and so that blocks of cells, and blocks of blocks, are those of the domain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

import numpy as np

from ...grid.box import IndexBox
from .settings import BOX


def active_box(parts: Iterable[IndexBox], margin: int, domain: Sequence[int]) -> IndexBox:
    """The box around parts of a domain of this many cells, with at least `margin` layers around them.

    Without parts it is a corner of the domain. A box that fills most of the domain is the domain.

    Examples
    --------
    >>> active_box([IndexBox((40, 21), (50, 30))], 6, (200, 100))
    IndexBox(low=(32, 8), high=(56, 40))
    >>> active_box([IndexBox((40, 21), (190, 95))], 6, (200, 100))
    IndexBox(low=(0, 0), high=(200, 100))
    """
    whole = IndexBox.whole(domain)
    found = [box for box in (part.intersection(whole) for part in parts) if box.size]
    around = reduce(IndexBox.union, found).grown(margin, domain) if found else IndexBox(whole.low, (1,) * len(domain))
    low = tuple(l // BOX.align * BOX.align for l in around.low)
    high = tuple(min(-(-h // BOX.align) * BOX.align, n) for h, n in zip(around.high, domain))
    box = IndexBox(low, high)
    return whole if box.size > BOX.most * whole.size else box


def cells_between(
    low: Sequence[float] | np.ndarray, high: Sequence[float] | np.ndarray, domain: Sequence[int]
) -> IndexBox:
    """The cells of a domain between two corners, in cells, which may be infinite."""
    ends = np.array(domain, float)
    first = np.floor(np.clip(low, 0.0, ends - 1.0)).astype(int)
    last = np.floor(np.clip(high, 0.0, ends - 1.0)).astype(int) + 1
    return IndexBox(tuple(first.tolist()), tuple(last.tolist()))
