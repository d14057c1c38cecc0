"""Kernels of the row test: the relative error of every row in one pass."""

import numpy as np

from ..kernels import parallel, prange
from ..kernels._active_set import _natural, _row_error
from ..kernels._vector import BLOCK


@parallel
def _block_sizes(plain, scaled, x, d):
    """For each block, the largest |x| and the largest sqrt(d) |x|."""
    for k in prange(0, plain.size, x.size):
        top, energy = 0.0, 0.0
        for t in range(k * BLOCK, min(x.size, (k + 1) * BLOCK)):
            top = max(top, abs(x[t]))
            energy = max(energy, np.sqrt(max(d[t], 0.0)) * abs(x[t]))
        plain[k] = top
        scaled[k] = energy


@parallel
def _block_rows(worst, where, x, g, b, d, lower, upper, v, given, size, exact, plain, scaled, atol):
    """For each block, the largest row error and its row.

    The natural residual is v if it is `given`, and is made from the bounds if not. `size` is |A||x|. Without `exact` it
    is not read, and a lower estimate is made from numbers at hand: d|x| + |A x - d x|. `plain` and `scaled` are the
    largest |x| and sqrt(d) |x| of all rows.
    """
    for k in prange(0, worst.size, x.size):
        top, at = 0.0, -1
        for t in range(k * BLOCK, min(x.size, (k + 1) * BLOCK)):
            m = size[t] if exact else d[t] * abs(x[t]) + abs(g[t] + b[t] - d[t] * x[t])
            r, width = v[t], np.inf
            if not given:
                r, width = _natural(x[t], g[t], d[t], lower[t], upper[t]), upper[t] - lower[t]
            error = _row_error(r, x[t], g[t], b[t], d[t], m, width, plain, scaled, atol)
            if error > top:
                top, at = error, t
        worst[k] = top
        where[k] = at
