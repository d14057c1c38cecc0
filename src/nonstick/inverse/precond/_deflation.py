"""Pressures around rigid bodies, several columns at once: computed by relaxation, used to deflate a preconditioner.

Rows near bodies are listed body by body, `start[b] <= m < start[b + 1]`, with their number `rows[m]` among all
unknowns. near[m, q] is the place of neighbour q in the list (-1: no neighbour, or one that belongs to no body),
weight[m, q] its coupling.
"""

import numpy as np

from ...kernels import merged, parallel, prange, serial
from ...kernels._blocks import _segment_of


@serial
def _segment(t, s, first):
    """The segment of the row layout that holds unknown t; s is a guess."""
    return s if first[s] <= t < first[s + 1] else _segment_of(first, t)


@merged
def _coupling(t, n, q, w0, w1, w2):
    """The coupling of unknown t with its neighbour n in direction q: -x +x -y +y -z +z."""
    here = min(t, n)
    return w0[here] if q < 2 else (w1[here] if q < 4 else w2[here])


@serial
def _grow(queue, owner, count, layers, first, offset, w0, w1, w2):
    """Assign the unknowns within `layers` links of those that bodies touch; an unknown goes to the nearest body.

    queue[:count] holds the touched unknowns, whose owner is set; returns the final number.
    """
    begin, end, s = 0, count, 0
    for _ in range(layers):
        for e in range(begin, end):
            t = queue[e]
            s = _segment(t, s, first)
            for q in range(6):
                step = offset[s, q]
                n = t + step
                if step != 0 and owner[n] < 0 and _coupling(t, n, q, w0, w1, w2) > 0.0:
                    owner[n] = owner[t]
                    queue[count] = n
                    count += 1
        begin, end = end, count
    return count


@serial
def _links(near, weight, inner, rows, place, owner, first, offset, w0, w1, w2):
    """Neighbours and weights of the listed rows; inner[m] = 0 if a neighbour belongs to no body or to another body.

    place and owner map all unknowns to the list and to bodies (-1: none); `first` and `offset` are the segments of
    the row layout.
    """
    s = 0
    for m in range(rows.size):
        t = rows[m]
        s = _segment(t, s, first)
        inner[m] = 1
        for q in range(6):
            near[m, q] = -1
            weight[m, q] = 0.0
            step = offset[s, q]
            n = t + step
            if step == 0:
                continue
            w = _coupling(t, n, q, w0, w1, w2)
            if w == 0.0:
                continue
            if owner[n] != owner[t]:
                inner[m] = 0
            else:
                near[m, q] = place[n]
                weight[m, q] = w


@parallel
def _improve(Y, G, near, weight, d, live, start, omega, sweeps):
    """SOR sweeps for A Y = G on the live rows; the others stay zero. Bodies are treated independently."""
    columns = Y.shape[1]
    for b in prange(start.size - 1):
        value = np.empty(columns)
        for sweep in range(sweeps):
            for e in range(start[b + 1] - start[b]):
                # forwards and backwards, so that values spread in both directions
                m = start[b] + e if sweep % 2 == 0 else start[b + 1] - 1 - e
                if live[m] == 0 or d[m] <= 0.0:
                    for j in range(columns):
                        Y[m, j] = 0.0
                    continue
                for j in range(columns):
                    value[j] = G[m, j]
                for q in range(6):
                    n = near[m, q]
                    if n >= 0:
                        w = weight[m, q]
                        for j in range(columns):
                            value[j] += w * Y[n, j]
                scale = omega / d[m]
                for j in range(columns):
                    Y[m, j] += scale * value[j] - omega * Y[m, j]


@parallel
def _image(AY, YAY, Y, near, weight, d, free, start):
    """AY = A Y on the free rows of each body's list, and the products YAY[b] = Yᵀ A Y."""
    columns = Y.shape[1]
    for b in prange(start.size - 1):
        YAY[b] = 0.0
        for m in range(start[b], start[b + 1]):
            if free[m] == 0:
                for j in range(columns):
                    AY[m, j] = 0.0
                continue
            for j in range(columns):
                AY[m, j] = d[m] * Y[m, j]
            for q in range(6):
                n = near[m, q]
                if n >= 0:
                    for j in range(columns):
                        AY[m, j] -= weight[m, q] * Y[n, j]
            for i in range(columns):
                for j in range(columns):
                    YAY[b, i, j] += Y[m, i] * AY[m, j]


@parallel
def _gather_columns(out, X, rows, x, start):
    """out[b] = Xᵀ x over the rows of body b."""
    columns = X.shape[1]
    for b in prange(start.size - 1):
        total = np.zeros(columns)
        for m in range(start[b], start[b + 1]):
            v = x[rows[m]]
            for j in range(columns):
                total[j] += v * X[m, j]
        for j in range(columns):
            out[b, j] = total[j]


@parallel
def _spread_columns(x, X, rows, c, start):
    """x[rows] += X c[b]; no row is listed twice."""
    columns = X.shape[1]
    for b in prange(start.size - 1):
        for m in range(start[b], start[b + 1]):
            v = 0.0
            for j in range(columns):
                v += X[m, j] * c[b, j]
            x[rows[m]] += v
