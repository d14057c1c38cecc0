"""Coarse complementarity problems for nested iteration, and interpolation of their solutions."""

from numba import prange

from . import parallel, serial


@serial
def _gather_rhs_and_bounds(cb, clower, cupper, b, lower, upper, parent, low_count, high_count):
    """b summed over children; bounds averaged over the children that have one (±inf where none has)."""
    for t in range(parent.size):
        c = parent[t]
        cb[c] += b[t]
        if lower[t] > -1e300:
            clower[c] += lower[t]
            low_count[c] += 1
        if upper[t] < 1e300:
            cupper[c] += upper[t]
            high_count[c] += 1
    for c in range(cb.size):
        clower[c] = clower[c] / low_count[c] if low_count[c] else -float("inf")
        cupper[c] = cupper[c] / high_count[c] if high_count[c] else float("inf")
        if clower[c] > cupper[c]:
            clower[c] = cupper[c] = 0.5 * (clower[c] + cupper[c])


@serial
def _interpolate(x, coarse, parent, cells, shape, start, offset, w0, w1, w2):
    """Linear interpolation, one-sided across walls (Lai's barycentric weights, in 2D and 3D).

    A cell has one neighbour outside its block per axis; a quarter of the way to that block's value is
    taken along each axis, none where there is no neighbour or the face between is closed.
    """
    for s in range(start.size - 1):
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
            x[t] = v
            k += 1


@parallel
def _coarse_diagonal(d, e, w0, w1, w2, start, offset, groups):
    """d = excess + weights"""
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            xm, xp, ym, yp, zm, zp = offset[s]
            for t in range(start[s], start[s + 1]):
                v = e[t] + (w0[t] + w1[t] + w2[t])
                if xm != 0:
                    v += w0[t + xm]
                if ym != 0:
                    v += w1[t + ym]
                if zm != 0:
                    v += w2[t + zm]
                d[t] = v
