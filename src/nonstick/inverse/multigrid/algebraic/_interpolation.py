"""Coarse unknowns from a matrix alone: the first pass of Ruge and Stüben (1987), a sparser choice, and colours.

A matrix is given by its off-diagonal *weights* w_ij = -a_ij. Row i depends strongly on j if w_ij >= theta max_k w_ik.
So coarsening follows an anisotropy, whatever its angle, and stops at jumps. Positive couplings (w < 0) are never
strong. The choice itself is serial: every coarse row changes the weight of the next ones.

Interpolation from coarse rows: a few of them for each row, with weights that sum to 1.

First "extended+i" (De Sterck, Falgout, Nolting and Yang 2008, Numer. Linear Algebra Appl. 15): the equation of a fine
row is solved for it. Strong fine neighbours are replaced by means of the coarse rows around them and of the row itself;
weak neighbours move with the row. This rule ignores positive couplings, and they matter on triangles. So every fine row
then takes the value that its whole equation gives it, Σ_j w_ij P_j / Σ_j w_ij: one Jacobi step on P. (At 200²,
triangles with anisotropy 1e-3: 28 iterations of conjugate gradients in place of 39.)

Where positive couplings are many, more entries and a sweep of Gauss–Seidel on P before that step bring P nearer to the
ideal -A_FF⁻¹A_FC.

Pieces of rows run in parallel; each row is computed alone, so results do not depend on the threads.
"""

import numpy as np

from ....kernels import merged, parallel, prange, serial

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


#: entries of P in a row, in the end and before the Jacobi step; the second pair where positive couplings matter
NARROW, BROAD = (4, 8), (6, 12)
PIECES = 16
#: fine neighbours with more couplings than this count as weak: a hub must not make the work quadratic
LONG = 300


@parallel
def _extend(cols, vals, kind, number, limit, weights, indices, indptr, count, cut):
    """Extended+i interpolation in slots (n, some); rows without a coarse row nearby have none (-1)."""
    n = kind.size
    for piece in prange(PIECES):
        place = np.full(count, -1, np.int32)
        near = np.empty(count, np.int32)
        part = np.empty(count)
        for i in range(n * piece // PIECES, n * (piece + 1) // PIECES):
            for s in range(cols.shape[1]):
                cols[i, s] = -1
                vals[i, s] = 0.0
            if kind[i] == COARSE:
                cols[i, 0] = number[i]
                vals[i, 0] = 1.0
            if kind[i] == COARSE or kind[i] == ALONE:
                continue
            found = _coarse_around(place, near, part, i, kind, number, limit, weights, indices, indptr)
            if found == 0:
                continue
            for q in range(indptr[i], indptr[i + 1]):
                j = indices[q]
                w = np.float64(weights[q])
                if kind[j] == COARSE and place[number[j]] >= 0:
                    part[place[number[j]]] += w
                    continue
                total = 0.0
                strong = w >= limit[i] and kind[j] != ALONE and indptr[j + 1] - indptr[j] <= LONG
                if strong:
                    for p in range(indptr[j], indptr[j + 1]):
                        m = indices[p]
                        if weights[p] > 0.0 and (m == i or (kind[m] == COARSE and place[number[m]] >= 0)):
                            total += weights[p]
                if not total > 0.0:  # it moves with the row, so it has no part in the weights
                    continue
                for p in range(indptr[j], indptr[j + 1]):
                    m = indices[p]
                    if weights[p] > 0.0 and kind[m] == COARSE and place[number[m]] >= 0:
                        part[place[number[m]]] += w * weights[p] / total
            for at in range(found):
                place[near[at]] = -1
            _keep_largest(cols, vals, i, near, part, found, cut)


@merged
def _coarse_around(place, near, part, i, kind, number, limit, weights, indices, indptr):
    """Coarse rows that row i, or a fine row it depends on, depends on; returns their number."""
    found = 0
    for q in range(indptr[i], indptr[i + 1]):
        j = indices[q]
        if not weights[q] >= limit[i] or kind[j] == ALONE:
            continue
        if kind[j] == COARSE:
            if place[number[j]] < 0:
                place[number[j]] = found
                near[found] = number[j]
                part[found] = 0.0
                found += 1
        elif indptr[j + 1] - indptr[j] <= LONG:
            for p in range(indptr[j], indptr[j + 1]):
                m = indices[p]
                if weights[p] >= limit[j] and kind[m] == COARSE and place[number[m]] < 0:
                    place[number[m]] = found
                    near[found] = number[m]
                    part[found] = 0.0
                    found += 1
    return found


@parallel
def _average(cols, vals, kind, wide_cols, wide_vals, weights, indices, indptr, count, cut):
    """One Jacobi step: fine rows take Σ_j w_ij P_j, cut to fewer slots and scaled; without a sense, what they have."""
    n = kind.size
    for piece in prange(PIECES):
        place = np.full(count, -1, np.int32)
        near = np.empty(count, np.int32)
        part = np.empty(count)
        for i in range(n * piece // PIECES, n * (piece + 1) // PIECES):
            for s in range(cols.shape[1]):
                cols[i, s] = -1
                vals[i, s] = 0.0
            if kind[i] == ALONE:
                continue
            found = 0
            if kind[i] != COARSE:
                for q in range(indptr[i], indptr[i + 1]):
                    found = _gather(place, near, part, found, wide_cols, wide_vals, indices[q], np.float64(weights[q]))
                for at in range(found):
                    place[near[at]] = -1
            if found == 0 or not _keep_largest(cols, vals, i, near, part, found, cut):
                found = _gather(place, near, part, 0, wide_cols, wide_vals, i, 1.0)
                for at in range(found):
                    place[near[at]] = -1
                _keep_largest(cols, vals, i, near, part, found, cut)


@parallel
def _relax_rows(cols, vals, places, kind, weights, indices, indptr, begin, end, cut):
    """Gauss–Seidel on P: fine rows from `begin` to `end`, of one colour, take Σ_j w_ij P_j, cut to their slots and
    scaled; without a sense they stay. `places` (PIECES, coarse rows) is -1 before and after."""
    n = end - begin
    for piece in prange(PIECES):
        place = places[piece]
        near = np.empty(0, np.int32)
        part = np.empty(0)
        for i in range(begin + n * piece // PIECES, begin + n * (piece + 1) // PIECES):
            if kind[i] == COARSE or kind[i] == ALONE:
                continue
            room = (indptr[i + 1] - indptr[i]) * cols.shape[1]
            if near.size < room:
                near = np.empty(room, np.int32)
                part = np.empty(room)
            found = 0
            for q in range(indptr[i], indptr[i + 1]):
                found = _gather(place, near, part, found, cols, vals, indices[q], np.float64(weights[q]))
            total = 0.0
            top = 0.0
            for at in range(found):
                place[near[at]] = -1
                total += part[at]
                top = max(top, abs(part[at]))
            if found == 0 or not total > 0.2 * top:
                continue
            for s in range(cols.shape[1]):
                cols[i, s] = -1
                vals[i, s] = 0.0
            _keep_largest(cols, vals, i, near, part, found, cut)


@merged
def _gather(place, near, part, found, cols, vals, j, w):
    """part += w times row j of P; returns the number of entries so far."""
    for s in range(cols.shape[1]):
        c = cols[j, s]
        if c < 0:
            break
        if place[c] < 0:
            place[c] = found
            near[found] = c
            part[found] = 0.0
            found += 1
        part[place[c]] += w * vals[j, s]
    return found


@merged
def _keep_largest(cols, vals, i, near, part, found, cut):
    """The largest entries, scaled to the sum 1. If they cancel, none, and False."""
    top = 0.0
    total = 0.0
    kept = 0
    while kept < cols.shape[1]:
        best = -1
        for at in range(found):
            if part[at] != 0.0 and (best < 0 or abs(part[at]) > abs(part[best])):
                best = at
        if best < 0 or abs(part[best]) < cut * top:
            break
        cols[i, kept] = near[best]
        vals[i, kept] = part[best]
        top = max(top, abs(part[best]))
        total += part[best]
        part[best] = 0.0
        kept += 1
    sound = total > 0.2 * top
    for s in range(kept):
        if sound:
            vals[i, s] /= total
        else:
            cols[i, s] = -1
            vals[i, s] = 0.0
    return sound
