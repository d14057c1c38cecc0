"""Conjugate gradients in the box, many steps in one call."""

import numpy as np

from ...kernels import merged, merged_sum, serial
from ...kernels._active_set import _natural
from ...kernels._csr import _row


@merged_sum
def _dot(x, y):
    s = 0.0
    for i in range(x.size):
        s += x[i] * y[i]
    return s


@merged_sum
def _multiply_full(out, x, A):
    for i in range(x.size):
        s = 0.0
        for j in range(x.size):
            s += A[i, j] * x[j]
        out[i] = s


@merged_sum
def _multiply(out, x, d, full, data, indices, indptr):
    """out = A x, xᵀA x and xᵀD x; `full` holds all numbers of A, or none."""
    curvature = size = 0.0
    if full.size > 0:
        _multiply_full(out, x, full)
    for i in range(x.size):
        if full.size == 0:
            out[i] = _row(x, data, indices, indptr[i], indptr[i + 1])
        curvature += x[i] * out[i]
        size += d[i] * x[i] * x[i]
    return curvature, size


@merged
def _add_column(out, i, factor, full, data, indices, indptr):
    """out += factor times column i of A, which is its row i."""
    if full.size > 0:
        for j in range(out.size):
            out[j] += factor * full[i, j]
        return
    for q in range(indptr[i], indptr[i + 1]):
        out[np.uint32(indices[q])] += factor * data[q]


@merged_sum
def _look(z, free, x, g, Ap, d, lower, upper):
    """z = g/d on the rows that no bound holds, ties among them, and 0 on others; zᵀA p and the largest natural
    residual."""
    peak = s = 0.0
    for i in range(x.size):
        r = abs(_natural(x[i], g[i], d[i], lower[i], upper[i]))
        peak = max(peak, r) if r == r else np.inf
        held = (x[i] <= lower[i] and g[i] > 0.0) or (x[i] >= upper[i] and g[i] < 0.0) or lower[i] == upper[i]
        free[i] = not held
        z[i] = 0.0 if held else g[i] / d[i]
        s += z[i] * Ap[i]
    return s, peak


@merged_sum
def _turn(p, z, g, free, beta):
    """p = z + β p on free rows, and gᵀp."""
    slope = 0.0
    for i in range(p.size):
        p[i] = z[i] + beta * p[i] if free[i] and beta != 0.0 else z[i]
        slope += g[i] * p[i]
    return slope


@merged
def _project(y, x, p, alpha, lower, upper):
    """y = x - α p, cut to the box; True if that changed a row."""
    cut = False
    for i in range(x.size):
        step = x[i] - alpha * p[i]
        y[i] = min(max(step, lower[i]), upper[i])
        cut |= step != y[i]
    return cut


@merged
def _bend(p, Ap, x, y, alpha, lower, upper, full, data, indices, indptr):
    """p = x - y, and A p from that of α p and from the columns of rows that were cut: fewer than a product has."""
    for i in range(x.size):
        Ap[i] *= alpha
    for i in range(x.size):
        whole = alpha * p[i]
        p[i] = x[i] - y[i]
        if p[i] != whole and (y[i] == lower[i] or y[i] == upper[i]):
            _add_column(Ap, i, p[i] - whole, full, data, indices, indptr)


@serial
def _steps(x, g, p, Ap, y, z, free, found, matrix, d, lower, upper, tolerance, flat, limit):
    """Improve x in the box and g = A x - b until no natural residual exceeds `tolerance`; the number of steps.

    `found` holds pᵀA p, or 0 where p is no direction yet; the residual reached, the largest one so far, and the steps
    since then; the least curvature met, as a part of the diagonal's, where it is not above `flat`. Such a step goes as
    far as the box allows; without an end pᵀA p is -1, and it is not made.
    """
    for count in range(limit):
        product, found[1] = _look(z, free, x, g, Ap, d, lower, upper)
        if not found[1] > tolerance:
            return count
        found[3] += 1.0
        if found[1] > found[2]:
            found[2], found[3] = found[1], 0.0
        slope = _turn(p, z, g, free, -product / found[0] if found[0] > 0.0 else 0.0)
        if not slope > 0.0:  # rounding, or rows that left the box
            slope = _turn(p, z, g, free, 0.0)
        curvature, size = _multiply(Ap, p, d, *matrix)
        if not curvature > flat * size:
            found[4] = min(found[4], curvature / size) if size > 0.0 else found[4]
            reach = np.inf
            for i in range(x.size):
                if p[i] > 0.0:
                    reach = min(reach, (x[i] - lower[i]) / p[i])
                elif p[i] < 0.0:
                    reach = min(reach, (x[i] - upper[i]) / p[i])
            if not reach < np.inf:
                found[0] = -1.0
                return count
            for i in range(x.size):
                x[i] = min(max(x[i] - reach * p[i], lower[i]), upper[i])
                g[i] -= reach * Ap[i]
            found[0] = 0.0
            continue
        alpha = slope / curvature
        cut = _project(y, x, p, alpha, lower, upper)
        if cut:  # the projected step is a direction of its own, and the box is convex
            _bend(p, Ap, x, y, alpha, lower, upper, *matrix)
            slope, curvature = _dot(g, p), _dot(p, Ap)
            if not (slope > 0.0 and curvature > 0.0):
                found[0] = 0.0
                continue
            alpha = min(slope / curvature, 1.0)
        found[0] = curvature
        whole = not cut or alpha == 1.0
        for i in range(x.size):
            x[i] = y[i] if whole else min(max(x[i] - alpha * p[i], lower[i]), upper[i])
            g[i] -= alpha * Ap[i]
    _, found[1] = _look(z, free, x, g, Ap, d, lower, upper)
    return limit
