"""Coarse unknowns from a matrix alone: the first pass of Ruge and Stüben (1987), a sparser choice, and colours.

A matrix is given by its off-diagonal *weights* w_ij = -a_ij. Row i depends strongly on j if w_ij >= theta max_k w_ik.
So coarsening follows an anisotropy, whatever its angle, and stops at jumps. Positive couplings (w < 0) are never
strong. The choice itself is serial: every coarse row changes the weight of the next ones.
"""

import numpy as np
from numba import prange

from ...kernels import merged, parallel, serial

#: kinds of rows: solved by the smoother alone, interpolated, coarse
ALONE, FINE, COARSE = -1, 0, 1
_OPEN = 2


@parallel
def _find_strength(limit, positive, kind, theta, dominant, d, closed, weights, indices, indptr):
    """The least strong weight of each row (infinite: it has none), and the part of positive couplings in all. Rows
    with d >= dominant Σ|w|, and closed rows, are solved alone; couplings to closed rows do not count."""
    for i in prange(limit.size):
        top = 0.0
        total = 0.0
        against = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            if closed[indices[q]] == 0:
                w = np.float64(weights[q])
                top = max(top, w)
                total += abs(w)
                against -= min(w, 0.0)
        positive[i] = against / total if total > 0.0 else 0.0
        kind[i] = ALONE if closed[i] != 0 or d[i] >= dominant * total else _OPEN
        limit[i] = theta * top if top > 0.0 and kind[i] != ALONE else np.inf


@serial
def _count_unfit(data, indices, indptr):
    """Rows that are not like those of an M-matrix: a quarter of the couplings is positive, or the diagonal is smaller
    than nine tenths of them. All rows, if a coupling a_ij has no place a_ji. Columns ascend."""
    n = indptr.size - 1
    unfit = 0
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
            low, high = indptr[j], indptr[j + 1]
            while low < high:
                middle = (low + high) // 2
                if indices[middle] < i:
                    low = middle + 1
                else:
                    high = middle
            if low == indptr[j + 1] or indices[low] != i:
                return n
        unfit += positive > 0.25 * total or d < 0.9 * total
    return unfit


@merged
def _put(list_of, head, after, before, i, size):
    """Row i becomes the first of the rows of this size."""
    list_of[i] = size
    after[i] = head[size]
    before[i] = -1
    if head[size] >= 0:
        before[head[size]] = i
    head[size] = i


@merged
def _take(list_of, head, after, before, i):
    """Row i leaves its list."""
    if before[i] >= 0:
        after[before[i]] = after[i]
    else:
        head[list_of[i]] = after[i]
    if after[i] >= 0:
        before[after[i]] = before[i]


@serial
def _split(kind, limit, natural, weights, indices, indptr):
    """Make every open row coarse or fine; returns the number of coarse ones.

    The next coarse row is the one on which most others depend; rows that fine rows depend on count twice. Ties are
    broken by the order `natural`, because it gives more regular patterns than an order by colours.
    """
    n = kind.size
    most = 0
    for i in range(n):
        most = max(most, indptr[i + 1] - indptr[i])
    head = np.full(2 * most + 2, -1, np.int64)
    list_of, after, before = np.zeros(n, np.int32), np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    for k in range(n - 1, -1, -1):
        i = natural[k]
        if kind[i] == _OPEN:
            size = 0
            for q in range(indptr[i], indptr[i + 1]):
                size += kind[indices[q]] == _OPEN and weights[q] >= limit[indices[q]]
            _put(list_of, head, after, before, i, size)
    top = head.size - 1
    count = 0
    while top >= 0:
        i = head[top]
        if i < 0:
            top -= 1
            continue
        _take(list_of, head, after, before, i)
        kind[i] = COARSE
        if top == 0:  # no open row depends on it
            for q in range(indptr[i], indptr[i + 1]):
                if weights[q] >= limit[i] and kind[indices[q]] == COARSE:
                    kind[i] = FINE
        count += kind[i] == COARSE
        if kind[i] == FINE or top == 0:
            continue
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            if kind[j] == _OPEN and weights[q] >= limit[j]:
                kind[j] = FINE
                _take(list_of, head, after, before, j)
                for p in range(indptr[j], indptr[j + 1]):
                    m = indices[p]
                    if kind[m] == _OPEN and weights[p] >= limit[j] and list_of[m] + 1 < head.size:
                        size = list_of[m] + 1
                        _take(list_of, head, after, before, m)
                        _put(list_of, head, after, before, m, size)
                        top = max(top, size)
        for q in range(indptr[i], indptr[i + 1]):
            m = indices[q]
            if kind[m] == _OPEN and weights[q] >= limit[i] and list_of[m] > 0:
                size = list_of[m] - 1
                _take(list_of, head, after, before, m)
                _put(list_of, head, after, before, m, size)
    return count


@serial
def _thin(kind, limit, natural, weights, indices, indptr):
    """Choose again, far fewer rows; returns their number.

    A row is coarse if none of its strong neighbours is next to an earlier coarse row, as in the first pass of Vaněk,
    Mandel and Brezina (1996). So a fine row has a coarse one within two strong couplings.
    """
    for i in range(kind.size):
        if kind[i] != ALONE:
            kind[i] = _OPEN
    count = 0
    for k in range(kind.size):
        i = natural[k]
        apart = kind[i] == _OPEN
        for q in range(indptr[i], indptr[i + 1]):
            if not apart:
                break
            apart = not weights[q] >= limit[i] or kind[indices[q]] == _OPEN or kind[indices[q]] == ALONE
        if apart:
            kind[i] = COARSE
            count += 1
            for q in range(indptr[i], indptr[i + 1]):
                if weights[q] >= limit[i] and kind[indices[q]] == _OPEN:
                    kind[indices[q]] = FINE
    for i in range(kind.size):
        if kind[i] == _OPEN:
            kind[i] = FINE
    return count


@serial
def _count_strong(limit, weights, indptr):
    """The number of strong couplings of all rows together."""
    count = 0
    for i in range(limit.size):
        for q in range(indptr[i], indptr[i + 1]):
            count += weights[q] >= limit[i]
    return count


@serial
def _colour_rows(colour, indices, indptr):
    """The smallest colour that no coupled row before has; returns the number of colours."""
    most = 0
    for i in range(colour.size):
        most = max(most, indptr[i + 1] - indptr[i])
    taken = np.full(most + 2, -1, np.int64)
    count = 0
    for i in range(colour.size):
        for q in range(indptr[i], indptr[i + 1]):
            if indices[q] < i:
                taken[colour[indices[q]]] = i
        c = 0
        while taken[c] == i:
            c += 1
        colour[i] = c
        count = max(count, c + 1)
    return count
