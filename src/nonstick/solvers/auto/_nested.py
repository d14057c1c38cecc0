"""Coarse complementarity problems for nested iteration, and interpolation of their solutions."""

import numpy as np

from ...kernels import parallel, prange


@parallel
def _gather_rhs_and_bounds(cb, clower, cupper, b, lower, upper, parent, low_count, high_count, start, groups):
    """b summed over children; bounds averaged over the children that have one (±inf if none has).

    All outputs come in as zero; `groups` end between blocks, so no two threads write the same coarse cell.
    """
    for g in prange(groups.size - 1):
        for t in range(start[groups[g]], start[groups[g + 1]]):
            c = parent[t]
            cb[c] += b[t]
            if lower[t] > -np.inf:
                clower[c] += lower[t]
                low_count[c] += 1
            if upper[t] < np.inf:
                cupper[c] += upper[t]
                high_count[c] += 1
    for c in prange(cb.size):
        clower[c] = clower[c] / low_count[c] if low_count[c] else -np.inf
        cupper[c] = cupper[c] / high_count[c] if high_count[c] else np.inf
        if clower[c] > cupper[c]:
            clower[c] = cupper[c] = 0.5 * (clower[c] + cupper[c])


@parallel
def _interpolate(x, coarse, lower, upper, parent, cells, shape, start, offset, w0, w1, w2, groups):
    """Linear interpolation, one-sided across walls (Lai's barycentric weights, in 2D and 3D).

    A cell has one neighbour outside its block per axis. Along each axis, a quarter of the difference to that block's
    value is added; nothing is added if there is no neighbour or the face between is closed. The result is clipped to
    the box.
    """
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            cell = cells[start[s]]
            k = cell % shape[2]
            row = cell // shape[2]
            i = (row // shape[1]) & 1
            j = (row % shape[1]) & 1
            xm, xp, ym, yp, zm, zp = offset[s]
            for t in range(start[s], start[s + 1]):
                own = coarse[parent[t]]
                v = own
                if i:
                    if w0[t] > 0.0:
                        v += 0.25 * (coarse[parent[t + xp]] - own)
                elif xm != 0 and w0[t + xm] > 0.0:
                    v += 0.25 * (coarse[parent[t + xm]] - own)
                if j:
                    if w1[t] > 0.0:
                        v += 0.25 * (coarse[parent[t + yp]] - own)
                elif ym != 0 and w1[t + ym] > 0.0:
                    v += 0.25 * (coarse[parent[t + ym]] - own)
                if k & 1:
                    if w2[t] > 0.0:
                        v += 0.25 * (coarse[parent[t + zp]] - own)
                elif zm != 0 and w2[t + zm] > 0.0:
                    v += 0.25 * (coarse[parent[t + zm]] - own)
                x[t] = min(max(v, lower[t]), upper[t])
                k += 1
