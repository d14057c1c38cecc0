"""Transfers vectors and bounds between a fine and a coarse level.

A transfer is either a sparse interpolation matrix P in CSR form or a list of parents (one coarse
unknown for each fine one, -1 for none). `first` and `child` list the children of each coarse unknown
in ascending order, so restriction gathers instead of scattering: parallel and deterministic.
"""

import numpy as np
from numba import prange

from ..kernels import parallel, serial


@serial
def _children(first, child, parent):
    """Counting sort of the fine unknowns by parent; `first` has one more entry than there are parents."""
    first[:] = 0
    for t in range(parent.size):
        if parent[t] >= 0:
            first[parent[t] + 1] += 1
    for c in range(first.size - 1):
        first[c + 1] += first[c]
    for t in range(parent.size):
        if parent[t] >= 0:
            child[first[parent[t]]] = t
            first[parent[t]] += 1
    for c in range(first.size - 1, 0, -1):
        first[c] = first[c - 1]
    first[0] = 0


@parallel
def _sum_children(out, fine, first, child, free, scale):
    """out_c = scale * sum of fine over the free children of c; an empty `free` means all are."""
    for c in prange(out.size):
        s = 0.0
        for q in range(first[c], first[c + 1]):
            t = child[q]
            if free.size == 0 or free[t]:
                s += fine[t]
        out[c] = scale * s


@parallel
def _copy_parent(out, coarse, parent, free, keep):
    """out_t = keep * out_t + coarse[parent_t] where t is free and has a parent."""
    zero = out.dtype.type(0)
    for t in prange(out.size):
        old = out[t] if keep else zero
        if parent[t] >= 0 and (free.size == 0 or free[t]):
            old += coarse[parent[t]]
        out[t] = old


@serial
def _restrict_bounds(out_lower, out_upper, lower, upper, x, parent):
    """Bounds on a coarse correction: the tightest that keep every child of a coarse unknown in its box."""
    out_lower[:] = -np.inf
    out_upper[:] = np.inf
    for t in range(parent.size):
        c = parent[t]
        if c >= 0:
            out_lower[c] = max(out_lower[c], lower[t] - x[t])
            out_upper[c] = min(out_upper[c], upper[t] - x[t])


@parallel
def _interpolate(out, coarse, data, indices, indptr, free, keep):
    """out = keep * out + P coarse on free rows; out = keep * out on the other rows."""
    zero = out.dtype.type(0)
    for t in prange(out.size):
        s = out[t] if keep else zero
        if free.size == 0 or free[t]:
            for q in range(indptr[t], indptr[t + 1]):
                s += data[q] * coarse[indices[q]]
        out[t] = s


@parallel
def _gather(out, fine, data, indices, indptr, free, scale):
    """out = scale * Pᵀ (free * fine), given Pᵀ in CSR form."""
    for c in prange(out.size):
        s = 0.0
        for q in range(indptr[c], indptr[c + 1]):
            t = indices[q]
            if free.size == 0 or free[t]:
                s += data[q] * fine[t]
        out[c] = scale * s
