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


@merged
def _multiply(out, x, full, data, indices, indptr):
    """out = A x; `full` holds all numbers of A, or none."""
    if full.size > 0:
        _multiply_full(out, x, full)
    else:
        for i in range(x.size):
            out[i] = _row(x, data, indices, indptr[i], indptr[i + 1])


@merged
def _look(z, free, x, g, d, lower, upper):
    """z = g/d on the rows that no bound holds, ties among them, and 0 on others; the largest natural residual."""
    peak = 0.0
    for i in range(x.size):
        r = abs(_natural(x[i], g[i], d[i], lower[i], upper[i]))
        peak = max(peak, r) if r == r else np.inf
        held = (x[i] <= lower[i] and g[i] > 0.0) or (x[i] >= upper[i] and g[i] < 0.0) or lower[i] == upper[i]
        free[i] = not held
        z[i] = 0.0 if held else g[i] / d[i]
    return peak


@serial
def _steps(x, g, p, Ap, y, z, free, found, matrix, d, lower, upper, tolerance, flat, limit):
    """Improve x in the box and g = A x - b until no natural residual exceeds `tolerance`; the number of steps.

    `found` holds pᵀA p, or 0 where p is no direction yet; the residual reached, the largest one so far, and the steps
    since then; the least curvature met, as a part of the diagonal's, where it is not above `flat`. Such a step goes as
    far as the box allows; without an end pᵀA p is -1, and it is not made.
    """
    for count in range(limit):
        found[1] = _look(z, free, x, g, d, lower, upper)
        if not found[1] > tolerance:
            return count
        found[3] += 1.0
        if found[1] > found[2]:
            found[2], found[3] = found[1], 0.0
        beta = -_dot(z, Ap) / found[0] if found[0] > 0.0 else 0.0
        for i in range(x.size):
            p[i] = z[i] + beta * p[i] if free[i] and beta != 0.0 else z[i]
        slope = _dot(g, p)
        if not slope > 0.0:  # rounding, or rows that left the box
            for i in range(x.size):
                p[i] = z[i]
            slope = _dot(g, p)
        _multiply(Ap, p, *matrix)
        curvature = _dot(p, Ap)
        size = 0.0
        for i in range(x.size):
            size += d[i] * p[i] * p[i]
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
        alpha, cut = slope / curvature, False
        for i in range(x.size):
            y[i] = min(max(x[i] - alpha * p[i], lower[i]), upper[i])
            cut |= y[i] != x[i] and (y[i] == lower[i] or y[i] == upper[i])
        if cut:  # the projected step is a direction of its own, and the box is convex
            for i in range(x.size):
                p[i] = x[i] - y[i]
            _multiply(Ap, p, *matrix)
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
    found[1] = _look(z, free, x, g, d, lower, upper)
    return limit
