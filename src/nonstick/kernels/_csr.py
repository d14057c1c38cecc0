"""Products and relaxation for a general sparse matrix in CSR form."""

import numpy as np

from . import merged, parallel, parallel_sum, prange, serial

#: entries that are as much work as an unknown of a five-point stencil, in which work is counted
ENTRIES = 5


@merged
def _row(x, data, indices, begin, end):
    """The product of one row with x, in four sums: one alone would wait for each addition. No column is negative, and
    saying so saves a test of every index."""
    a = b = c = d = 0.0
    q = np.int64(begin)
    while q < end - 3:
        a += data[q] * x[np.uint32(indices[q])]
        b += data[q + 1] * x[np.uint32(indices[q + 1])]
        c += data[q + 2] * x[np.uint32(indices[q + 2])]
        d += data[q + 3] * x[np.uint32(indices[q + 3])]
        q += 4
    s = (a + b) + (c + d)
    while q < end:
        s += data[q] * x[np.uint32(indices[q])]
        q += 1
    return s


@parallel
def _csr_apply(out, x, data, indices, indptr):
    """out = A x"""
    for i in prange(0, out.size, data.size // ENTRIES):
        out[i] = _row(x, data, indices, indptr[i], indptr[i + 1])


@parallel_sum
def _dense_apply(out, x, A):
    """out = A x of a full array"""
    for i in prange(0, out.size, A.size // ENTRIES):
        s = 0.0
        for j in range(x.size):
            s += A[i, j] * x[j]
        out[i] = s


@parallel
def _csr_magnitude(out, x, data, indices, indptr):
    """out = |A||x|"""
    for i in prange(0, out.size, data.size // ENTRIES):
        s = t = 0.0
        q, end = np.int64(indptr[i]), indptr[i + 1]
        while q < end - 1:
            s += abs(data[q] * x[np.uint32(indices[q])])
            t += abs(data[q + 1] * x[np.uint32(indices[q + 1])])
            q += 2
        if q < end:
            s += abs(data[q] * x[np.uint32(indices[q])])
        out[i] = s + t


@parallel
def _csr_residual(out, b, x, data, indices, indptr):
    """out = b - A x"""
    for i in prange(0, out.size, data.size // ENTRIES):
        out[i] = b[i] - _row(x, data, indices, indptr[i], indptr[i + 1])


@serial
def _csr_relax(x, b, lower, upper, d, data, indices, indptr, order, omega, projected):
    """Lexicographic SOR over the rows listed in `order`, in place, clipped to the box if projected."""
    for q in range(order.size):
        i = order[q]
        if d[i] > 0.0:
            new = x[i] + omega * (b[i] - _row(x, data, indices, indptr[i], indptr[i + 1])) / d[i]
            if projected:
                new = min(max(new, lower[i]), upper[i])
            x[i] = new


@merged
def _seek(at, indices, indptr, i, j):
    """Move at[j] to the entry of row j in column i, or behind where it would be; True if it is there."""
    q = at[j]
    while q < indptr[j + 1] and indices[q] < i:
        q += 1
    at[j] = q
    return q < indptr[j + 1] and indices[q] == i


@serial
def _csr_check_pairs(where, values, data, indices, indptr, root, rtol):
    """Check every pair a_ij, a_ji of a matrix with sorted rows; `root` holds sqrt(a_ii).

    Returns 0 if A is symmetric, 1 if a pair differs by more than rtol root_i root_j, and 2 or 3 at the first 2 × 2
    minor that is negative: 2 if the pair is symmetric, 3 if not. `where` gets i, j of the first such pair, and `values`
    a_ij and root_i root_j (2), or a_ij a_ji and a_ii a_jj (3).
    """
    found = 0
    at = indptr[:-1].copy()  # the first entry of every row that no row so far is above: i only grows
    for i in range(indptr.size - 1):
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            twin = data[at[j]] if _seek(at, indices, indptr, i, j) else 0.0
            scale = root[i] * root[j]
            same = abs(data[q] - twin) <= rtol * scale
            if not same:
                found = 1
            if i != j:
                if same and abs(data[q]) > (1.0 + rtol) * scale:
                    where[0], where[1] = i, j
                    values[0], values[1] = data[q], scale
                    return 2
                if not same and (data[q] / scale) * (twin / scale) > 1.0 + rtol:
                    where[0], where[1] = i, j
                    values[0], values[1] = data[q] * twin, scale * scale
                    return 3
    return found


#: rows and columns of a block of a full array that fits into the first cache with its transpose
BLOCK = 32


@serial
def _full_pairs_agree(A, root, rtol):
    """True if a full array is symmetric and has no negative 2 × 2 minor, as `_csr_check_pairs` asks of every pair."""
    n = root.size
    for first in range(0, n, BLOCK):
        for second in range(0, first + 1, BLOCK):
            for i in range(first, min(first + BLOCK, n)):
                for j in range(second, min(second + BLOCK, i)):
                    scale = root[i] * root[j]
                    if not (abs(A[i, j] - A[j, i]) <= rtol * scale and abs(A[i, j]) <= (1.0 + rtol) * scale):
                        return False
    return True


@serial
def _compress(indices, data, indptr, columns, A):
    """The entries of a full array that are not zero, row by row; their number. There is room for one more."""
    q = 0
    for i in range(A.shape[0]):
        indptr[i] = q
        for j in range(columns):
            indices[q], data[q] = j, A[i, j]
            q += A[i, j] != 0.0
    indptr[A.shape[0]] = q
    return q


@serial
def _sort_rows(indices, data, indptr, columns, values, places, begins):
    """The entries of a sparse matrix, row by row with ascending columns, duplicates summed; their number. There is
    room for one more."""
    row, there = np.zeros(columns), np.zeros(columns, np.bool_)
    q = 0
    for i in range(begins.size - 1):
        indptr[i] = q
        for e in range(begins[i], begins[i + 1]):
            row[np.uint32(places[e])] += values[e]
            there[np.uint32(places[e])] = True
        for j in range(columns):
            indices[q], data[q] = j, row[j]
            q += there[j]
            row[j], there[j] = 0.0, False
    indptr[begins.size - 1] = q
    return q


@serial
def _count_unfit(data, indices, indptr):
    """Rows that are not like those of an M-matrix: a quarter of the couplings is positive, or the diagonal is smaller
    than nine tenths of them. All rows, if a coupling a_ij has no place a_ji. Columns ascend."""
    n = indptr.size - 1
    unfit = 0
    at = indptr[:-1].copy()
    for i in range(n):
        d = 0.0
        total = 0.0
        positive = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            if j == i:
                d = data[q]
                continue
            total += abs(data[q])
            positive += max(data[q], 0.0)
            if not _seek(at, indices, indptr, i, j):
                return n
        unfit += positive > 0.25 * total or d < 0.9 * total
    return unfit


@serial
def _csr_distances(distances, sizes, data, indices, indptr):
    """The distances j - i > 0 of couplings a_ij: their count and, ascending, up to as many as there is room for.

    -1 if there are more, or if a coupling is positive, as on no grid. `sizes` gets the smallest and the largest -a_ij.
    """
    count = 0
    sizes[0], sizes[1] = np.inf, 0.0
    for i in range(indptr.size - 1):
        for q in range(indptr[i], indptr[i + 1]):
            step = indices[q] - i
            if step <= 0 or data[q] == 0.0:
                continue
            if data[q] > 0.0:
                return -1
            sizes[0], sizes[1] = min(sizes[0], -data[q]), max(sizes[1], -data[q])
            k = 0
            while k < count and distances[k] < step:
                k += 1
            if k < count and distances[k] == step:
                continue
            if count == distances.size:
                return -1
            for e in range(count, k, -1):
                distances[e] = distances[e - 1]
            distances[k] = step
            count += 1
    return count
