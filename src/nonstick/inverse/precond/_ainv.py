"""Factored approximate inverse `A⁻¹ ≈ Wᵀ D⁻¹ W` by incomplete A-orthogonalisation, outer-product form."""

import numpy as np

from ...kernels import inline, serial


@inline
def _add_entry(cols, vals, count, i, k, term, static):
    """w_i[k] += term; a full row drops its smallest entry (static) or returns False. Slot 0 is the diagonal."""
    n = count[i]
    smallest = 1
    for q in range(n):
        if cols[i, q] == k:
            vals[i, q] += term
            return True
        if q > 1 and abs(vals[i, q]) < abs(vals[i, smallest]):
            smallest = q
    if n < cols.shape[1]:
        cols[i, n] = k
        vals[i, n] = term
        count[i] = n + 1
    elif not static:
        return False
    elif n > 1 and abs(term) > abs(vals[i, smallest]):
        cols[i, smallest] = k
        vals[i, smallest] = term
    return True


@serial
def _ainv_rows(cols, vals, count, pivot, data, indices, indptr, d, free, root, drop, static):
    """Rows of W in `cols`, `vals`, `count` and 1/D in `pivot`; False if a row outgrew its slots.

    root[k] scales entries: w_ik is dropped if |w_ik| root[k]/root[i] < drop.
    """
    n = pivot.size
    u = np.zeros(n)
    touched = np.empty(n, np.int64)
    mark = np.zeros(n, np.bool_)
    for i in range(n):
        cols[i, 0] = i
        vals[i, 0] = 1.0
        count[i] = 1
    for j in range(n):
        seen = 0
        for q in range(count[j]):  # u = A w_j
            k, v = cols[j, q], vals[j, q]
            if not mark[k]:
                mark[k] = True
                touched[seen] = k
                seen += 1
            u[k] += d[k] * v
            if free[k]:
                for e in range(indptr[k], indptr[k + 1]):
                    m = indices[e]
                    if m != k and free[m]:
                        if not mark[m]:
                            mark[m] = True
                            touched[seen] = m
                            seen += 1
                        u[m] += data[e] * v
        p = 0.0
        for q in range(count[j]):
            p += vals[j, q] * u[cols[j, q]]
        if not p > 0.0:
            p = d[j]
        pivot[j] = 1.0 / p if p > 0.0 else 0.0
        for t in range(seen):
            i = touched[t]
            if i > j and u[i] != 0.0 and p > 0.0:
                for q in range(count[j]):
                    k = cols[j, q]
                    term = -u[i] / p * vals[j, q]
                    if abs(term) * root[k] >= drop * root[i] and not _add_entry(cols, vals, count, i, k, term, static):
                        return False
            u[i] = 0.0
            mark[i] = False
    return True
