"""Relaxation and residuals on a list of cells of the row layout, near cells that have changed."""

from ...kernels import merged, parallel, prange, serial
from ...kernels._blocks import _neighbour, _segment_of


@serial
def _gather_near(found, segment, marked, around, w0, w1, w2, start, offset):
    """List the cells `around` and those one step from them, and their segments; returns their number.

    `marked` is zero before and after. A step goes through a face with a positive weight: along z the distance alone
    does not show if there is a neighbour.
    """
    end = 0
    for m in range(around.size):
        if marked[around[m]] == 0:
            marked[around[m]] = 1
            found[end] = around[m]
            end += 1
    for m in range(end):
        t = found[m]
        s = _segment_of(start, t)
        for f in range(6):
            o, w = _neighbour(f, t, s, offset, w0, w1, w2)
            if w > 0.0 and marked[t + o] == 0:
                marked[t + o] = 1
                found[end] = t + o
                end += 1
    for m in range(end):
        segment[m] = _segment_of(start, found[m])
        marked[found[m]] = 0
    return end


@merged
def _neighbour_sum(t, x, w0, w1, w2, offsets):
    """Weights times neighbours of unknown t."""
    xm, xp, ym, yp, zm, zp = offsets
    v = w0[t] * x[t + xp] + w1[t] * x[t + yp] + w2[t] * x[t + zp]
    if xm != 0:
        v += w0[t + xm] * x[t + xm]
    if ym != 0:
        v += w1[t + ym] * x[t + ym]
    if zm != 0:
        v += w2[t + zm] * x[t + zm]
    return v


@parallel
def _relax_cells(x, b, lower, upper, w0, w1, w2, d, cells, segment, start, offset, parity, colour):
    """One colour of projected Gauss–Seidel on the cells, in place."""
    for m in prange(cells.size):
        t = cells[m]
        s = segment[m]
        if (parity[s] + t - start[s] + colour) & 1 == 0 and d[t] > 0.0:
            v = b[t] + _neighbour_sum(t, x, w0, w1, w2, offset[s])
            x[t] = min(max(v / d[t], lower[t]), upper[t])


@parallel
def _residual_cells(r, b, x, w0, w1, w2, d, cells, segment, offset):
    """r = b - A x on the cells."""
    for m in prange(cells.size):
        t = cells[m]
        r[t] = (b[t] - d[t] * x[t]) + _neighbour_sum(t, x, w0, w1, w2, offset[segment[m]])


@serial
def _relax_around_bodies(x, c, b, lower, upper, rows, near, weight, d, indptr, column, entry, image):
    """One projected sweep over `rows` of `B + U S Uᵀ`, where every row of a body is coupled to every other.

    c = S Uᵀ x is kept up to date. near, weight: (rows, 6) neighbours of each row and their couplings (0 if there is no
    neighbour); d the diagonal of the whole operator; indptr, column, entry: U by rows; image: U S, entry by entry.
    """
    for e in range(rows.size):
        t = rows[e]
        s = b[t]
        for q in range(6):
            s += weight[e, q] * x[near[e, q]]
        own = 0.0
        for p in range(indptr[e], indptr[e + 1]):
            s -= entry[p] * c[column[p]]
            own += entry[p] * image[p]
        # the effect of the row's own x through the body is part of its diagonal
        new = x[t] if d[t] <= 0.0 else (s + own * x[t]) / d[t]
        new = min(max(new, lower[t]), upper[t])
        step = new - x[t]
        if step != 0.0:
            for p in range(indptr[e], indptr[e + 1]):
                c[column[p]] += image[p] * step
            x[t] = new
