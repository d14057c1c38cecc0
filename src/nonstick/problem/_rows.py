"""Kernels of the row test: the relative error of every row in one pass."""

import numpy as np

from ..kernels import parallel, prange
from ..kernels._vector import BLOCK

#: rounding of a row, in units of the machine's precision: products, their sum, and the last bit of x
ULPS = 8 * 2.0**-52


@parallel
def _block_sizes(plain, scaled, x, d):
    """For each block, the largest |x| and the largest sqrt(d) |x|."""
    for k in prange(plain.size):
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
    for k in prange(worst.size):
        top, at = 0.0, -1
        for t in range(k * BLOCK, min(x.size, (k + 1) * BLOCK)):
            own = d[t] * abs(x[t])
            m = size[t] if exact else own + abs(g[t] + b[t] - d[t] * x[t])
            floor = ULPS * min(d[t] * plain, np.sqrt(max(d[t], 0.0)) * scaled)
            width = np.inf
            r = v[t] if given else g[t]
            if not given:
                width = upper[t] - lower[t]
                if lower[t] > -np.inf:
                    r = min(r, d[t] * (x[t] - lower[t]))
                if upper[t] < np.inf:
                    r = max(r, d[t] * (x[t] - upper[t]))
            r = abs(r)
            error = 0.0
            if not (r <= atol or abs(g[t]) <= ULPS * (m + abs(b[t])) + floor or r <= ULPS * own + floor):
                allowed = m
                if width < np.inf and d[t] > 0.0:
                    allowed = min(m, d[t] * width)
                error = r / allowed if allowed > 0.0 and r == r else np.inf
            if error > top:
                top, at = error, t
        worst[k] = top
        where[k] = at
