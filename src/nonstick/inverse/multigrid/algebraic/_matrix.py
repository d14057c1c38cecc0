"""Galerkin matrices in the form of weights and excess.

P interpolates to every row from a few coarse rows (`_interpolation`). Its rows sum to 1. So the weights and
the excess of PᵀFAFP (F: the rows that are not closed) are sums without cancellation:

    w_IJ = Σ_i P_iI (Σ_j w_ij P_jJ - d_i P_iJ),    e_I = Σ_i P_iI (A u)_i,   u = P 1 on F.

Coarse rows are formed by a fixed number of pieces in parallel, so results do not depend on the threads.

One level of an algebraic cycle: Gauss–Seidel in the order of the rows, residuals and transfers, in single precision.

Rows are sorted by colour, and rows of one colour are not coupled. So a pass over one colour may run in parallel and has
the same result as a serial pass over all rows. The residual of a row is

    r_i = b_i - e_i x_i + Σ_j w_ij (x_j - x_i)

with weights w and excess e: differences keep float32 accurate where excesses are small compared with weights. Rows that
are closed, or have no equation, have `dinv` = 0: x stays zero and r is zero.

Kernels of `near_null`.
"""

import numpy as np

from ....kernels import merged, parallel, parallel_sum, prange, serial
from ....kernels._vector import BLOCK
from ._interpolation import PIECES


@serial
def _transpose(first, row, value, cols, vals):
    """Pᵀ by rows: coarse row c has the entries from first[c] to first[c + 1], rows ascending."""
    first[:] = 0
    for i in range(cols.shape[0]):
        for s in range(cols.shape[1]):
            if cols[i, s] >= 0:
                first[cols[i, s] + 1] += 1
    for c in range(first.size - 1):
        first[c + 1] += first[c]
    end = first[1:].copy()
    for i in range(cols.shape[0] - 1, -1, -1):
        for s in range(cols.shape[1] - 1, -1, -1):
            c = cols[i, s]
            if c >= 0:
                end[c] -= 1
                row[end[c]] = i
                value[end[c]] = vals[i, s]


@parallel
def _pattern(length, columns, starts, cols, first, row, indices, indptr):
    """The columns of PᵀAP off the diagonal; with `columns` empty only the length of each row."""
    n = first.size - 1
    fill = columns.size > 0
    for piece in prange(PIECES):
        marker = np.full(n, -1, np.int32)
        for c in range(n * piece // PIECES, n * (piece + 1) // PIECES):
            used = 0
            marker[c] = c
            for m in range(first[c], first[c + 1]):
                i = row[m]
                for q in range(indptr[i] - 1, indptr[i + 1]):
                    j = i if q < indptr[i] else indices[q]
                    for s in range(cols.shape[1]):
                        other = cols[j, s]
                        if other < 0:
                            break
                        if marker[other] != c:
                            marker[other] = c
                            if fill:
                                columns[starts[c] + used] = other
                            used += 1
            length[c] = used


@parallel
def _values(out_weights, out_excess, chosen, columns, starts, closed, d, cols, vals, first, row, value, weights,
            indices, indptr, excess):  # fmt: skip
    """Weights and excess of PᵀFAFP in the given pattern, on the coarse rows `chosen`."""
    count = chosen.size
    for piece in prange(PIECES):
        begin = count * piece // PIECES
        end = count * (piece + 1) // PIECES
        if begin == end:
            continue
        place = np.zeros(first.size - 1, np.int32)
        widest = 0
        for m in range(begin, end):
            widest = max(widest, starts[chosen[m] + 1] - starts[chosen[m]])
        sums = np.empty(widest + 1)
        for k in range(begin, end):
            c = chosen[k]
            size = starts[c + 1] - starts[c]
            for e in range(size):
                place[columns[starts[c] + e]] = e
                sums[e] = 0.0
            place[c] = size  # the diagonal is not used
            own = 0.0
            for m in range(first[c], first[c + 1]):
                i = row[m]
                if closed[i] != 0:
                    continue
                p = np.float64(value[m])
                image = np.float64(excess[i])  # (A u)_i
                for s in range(cols.shape[1]):
                    if cols[i, s] < 0:
                        break
                    sums[place[cols[i, s]]] -= p * d[i] * vals[i, s]
                for q in range(indptr[i], indptr[i + 1]):
                    j = indices[q]
                    if closed[j] != 0 or cols[j, 0] < 0:
                        image += weights[q]
                        continue
                    pw = p * weights[q]
                    for s in range(cols.shape[1]):
                        if cols[j, s] < 0:
                            break
                        sums[place[cols[j, s]]] += pw * vals[j, s]
                own += p * image
            out_excess[c] = own
            for e in range(size):
                out_weights[starts[c] + e] = sums[e]


@serial
def _with_neighbours(found, marked, rows, indices, indptr):
    """The rows and their neighbours; `marked` is zero before and after. Returns their number."""
    count = 0
    for m in range(rows.size):
        i = rows[m]
        for q in range(indptr[i] - 1, indptr[i + 1]):
            j = i if q < indptr[i] else indices[q]
            if marked[j] == 0:
                marked[j] = 1
                found[count] = j
                count += 1
    for m in range(count):
        marked[found[m]] = 0
    return count


@serial
def _reached(found, marked, rows, cols):
    """The coarse rows that the rows are interpolated from; `marked` is zero before and after. Returns their number."""
    count = 0
    for m in range(rows.size):
        for s in range(cols.shape[1]):
            c = cols[rows[m], s]
            if c >= 0 and marked[c] == 0:
                marked[c] = 1
                found[count] = c
                count += 1
    for m in range(count):
        marked[found[m]] = 0
    return count


@parallel
def _diagonals(d, dinv, chosen, closed, weights, indptr, excess):
    """On the rows `chosen`: d = excess + weights, and its inverse; 0 for rows that are closed or have no equation."""
    for m in prange(chosen.size):
        i = chosen[m]
        s = np.float64(excess[i])
        size = abs(s)
        for q in range(indptr[i], indptr[i + 1]):
            s += weights[q]
            size += abs(weights[q])
        d[i] = s
        dinv[i] = 1.0 / s if closed[i] == 0 and s > 1e-12 * size else 0.0


@parallel
def _take_matrix(out_weights, out_indices, out_indptr, out_excess, order, place, scale, data, indices, indptr,
                 shift):  # fmt: skip
    """Weights and excess of S (A + shift) S, its rows in another order; without `out_indices` only values."""
    fill = out_indices.size > 0
    for k in prange(order.size):
        i = order[k]
        at = out_indptr[k]
        s = 0.0
        size = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            v = scale[i] * data[q] * scale[j]
            s += v
            size += abs(v)
            if j != i:
                out_weights[at] = -v
                if fill:
                    out_indices[at] = place[j]
                at += 1
        if not abs(s) > 1e-13 * size:
            s = 0.0
        if shift.size:
            s += scale[i] * shift[i] * scale[i]
        out_excess[k] = s


@parallel
def _assemble(data, columns, starts, symmetric, d, dinv, weights, indices, indptr):
    """The whole matrix, diagonal first; rows without an equation (`dinv` = 0) are those of I.

    The two halves of `weights` of a symmetric matrix differ by rounding, so their mean is taken.
    """
    for i in prange(d.size):
        at = starts[i]
        columns[at] = i
        data[at] = d[i] if dinv[i] > 0.0 else 1.0
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            twin = np.float64(weights[q])
            for p in range(indptr[j], indptr[j + 1] if symmetric else indptr[j]):
                if indices[p] == i:
                    twin = np.float64(weights[p])
                    break
            at += 1
            columns[at] = j
            data[at] = -0.5 * (np.float64(weights[q]) + twin) if dinv[i] > 0.0 and dinv[j] > 0.0 else 0.0


@serial
def _reorder(out_weights, out_indices, out_indptr, order, place, weights, indices, indptr):
    """The rows and columns of a matrix in another order."""
    at = 0
    out_indptr[0] = 0
    for k in range(order.size):
        i = order[k]
        for q in range(indptr[i], indptr[i + 1]):
            out_weights[at] = weights[q]
            out_indices[at] = place[indices[q]]
            at += 1
        out_indptr[k + 1] = at


@merged
def _defect(i, x, b, weights, indices, indptr, excess):
    own = x[i]
    s = b[i] - excess[i] * own
    for q in range(indptr[i], indptr[i + 1]):
        s += weights[q] * (x[indices[q]] - own)
    return s


@parallel
def _sweep_colour(x, b, dinv, weights, indices, indptr, excess, first, last):
    """Gauss–Seidel on the rows of one colour."""
    for i in prange(first, last):
        if dinv[i] > np.float32(0):
            x[i] += dinv[i] * _defect(i, x, b, weights, indices, indptr, excess)


@serial
def _sweep(x, b, dinv, weights, indices, indptr, excess):
    """Gauss–Seidel on all rows, ascending."""
    for i in range(x.size):
        if dinv[i] > np.float32(0):
            x[i] += dinv[i] * _defect(i, x, b, weights, indices, indptr, excess)


@serial
def _sweep_back(x, b, dinv, weights, indices, indptr, excess):
    """The same, descending."""
    for i in range(x.size - 1, -1, -1):
        if dinv[i] > np.float32(0):
            x[i] += dinv[i] * _defect(i, x, b, weights, indices, indptr, excess)


@parallel
def _residual_rows(r, x, b, dinv, weights, indices, indptr, excess):
    for i in prange(x.size):
        r[i] = np.float32(0)
        if dinv[i] > np.float32(0):
            r[i] = _defect(i, x, b, weights, indices, indptr, excess)


@parallel
def _product_rows(out, x, dinv, weights, indices, indptr, excess):
    """out = A x on rows with an equation, zero elsewhere"""
    for i in prange(x.size):
        out[i] = np.float32(0)
        if dinv[i] > np.float32(0):
            own = x[i]
            s = excess[i] * own
            for q in range(indptr[i], indptr[i + 1]):
                s += weights[q] * (own - x[indices[q]])
            out[i] = s


@parallel
def _restrict_rows(coarse, r, first, row, value):
    """coarse = Pᵀ r"""
    for c in prange(coarse.size):
        s = np.float32(0)
        for m in range(first[c], first[c + 1]):
            s += value[m] * r[row[m]]
        coarse[c] = s


@parallel
def _prolong_rows(x, dinv, coarse, cols, vals):
    """x += P coarse on rows with an equation"""
    for i in prange(x.size):
        if dinv[i] > np.float32(0):
            for s in range(cols.shape[1]):
                if cols[i, s] < 0:
                    break
                x[i] += vals[i, s] * coarse[cols[i, s]]


# -- the way in and out: float64 vectors in the order of the user -----------------------------------------------------


@parallel
def _enter(b, r, order, scale, factor):
    """b = factor S r, in the order of the level."""
    for k in prange(b.size):
        b[k] = factor * scale[order[k]] * r[order[k]]


@parallel
def _leave(out, x, order, scale, factor, beta):
    """out = factor S x + beta out"""
    for k in prange(x.size):
        i = order[k]
        out[i] = factor * scale[i] * x[k] + (beta * out[i] if beta != 0.0 else 0.0)


@parallel_sum
def _inner_blocks(partial, b, x, q, order, scale):
    """Blocks of bᵀx and of qᵀS x; the second is left out for an empty q."""
    for k in prange(partial.shape[1]):
        s = 0.0
        t = 0.0
        for m in range(k * BLOCK, min(x.size, (k + 1) * BLOCK)):
            s += np.float64(b[m]) * np.float64(x[m])
            if q.size:
                t += q[order[m]] * scale[order[m]] * np.float64(x[m])
        partial[0, k] = s
        partial[1, k] = t


@serial
def _relax(s, least, d, data, indices, indptr):
    """One sweep towards A s = 0; entries stay above `least`."""
    for i in range(s.size):
        if d[i] > 0.0:
            v = 0.0
            for q in range(indptr[i], indptr[i + 1]):
                if indices[q] != i:
                    v -= data[q] * s[indices[q]]
            s[i] = max(v / d[i], least[i])


@parallel
def _count_off_diagonals(count, indices, indptr):
    for i in prange(count.size):
        m = 0
        for q in range(indptr[i], indptr[i + 1]):
            m += indices[q] != i
        count[i] = m
