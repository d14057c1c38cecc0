"""Connected parts that reach over the boxes of several ranks."""

from __future__ import annotations

import numpy as np

from .comm import Comm


def united(comm: Comm, pairs: np.ndarray, count: int) -> tuple[int, np.ndarray]:
    """Join `count` labels of all ranks wherever a rank has a pair (m, 2) of them: the number of parts, and the part of
    each label.

    Parts are numbered by their first label, so the numbers are the same on all ranks.
    """
    import scipy.sparse as sp  # slow to load
    from scipy.sparse.csgraph import connected_components

    a, b = comm.joined(np.ascontiguousarray(pairs, np.int64).reshape(-1, 2)).T
    graph = sp.coo_array((np.ones(a.size), (a, b)), shape=(count, count))
    parts, number = connected_components(graph, directed=False)
    return parts, number.astype(np.int64)
