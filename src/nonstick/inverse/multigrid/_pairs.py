"""Aggregates of guaranteed quality (Napov and Notay 2012), from a matrix alone: pairs, pairs of pairs, and so on.

A matrix is given by its off-diagonal *weights* w_ij = -a_ij and the *excess* e_i of each row, its diagonal d_i minus
its weights. The quality of an aggregate G is the smallest k for which

    k A_G - 2 D_G (I - 1 1ᵀD_G / 1ᵀD_G 1)   is positive semidefinite,

where D_G holds the diagonals of A and A_G the couplings inside G and the excess. It bounds how much worse than
constants errors may be inside G. For a pair this is

    2 / (1/d_i + 1/d_j) / (w_ij + 1 / (1/e_i + 1/e_j)).

Weak, negative and one-sided couplings have a bad quality. So aggregates follow anisotropy and stop at jumps.
All loops are serial and in a fixed order.
"""

import numpy as np

from ...kernels import inline, serial

#: quality of a pair that must not merge
_NEVER = 1e300


@inline
def _pair_quality(d_i, d_j, w, e_i, e_j):
    inside = w
    if e_i > 0.0 and e_j > 0.0:
        inside += e_i * e_j / (e_i + e_j)
    if not inside > 0.0:
        return _NEVER
    return 2.0 * d_i * d_j / ((d_i + d_j) * inside)


@serial
def _match(parent, natural, d, weights, indices, indptr, excess, limit):
    """Pairs of unknowns whose quality is at most `limit`, the best first for each unknown; returns their number.

    Rows that the smoother solves alone, because they dominate their couplings, get the parent -1. Rows take their turn
    in the order `natural`, because neighbours in that order give more regular aggregates than an order by colours.
    """
    n = parent.size
    alone = limit / (limit - 2.0)
    for i in range(n):
        s = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            s += abs(weights[q])
        parent[i] = -1 if d[i] >= alone * s else -2
    count = 0
    for i in natural:
        if parent[i] != -2:
            continue
        best, found = limit, -1
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            if parent[j] == -2 and j != i:
                k = _pair_quality(d[i], d[j], weights[q], excess[i], excess[j])
                if k <= best and (k < best or found < 0):
                    best, found = k, j
        parent[i] = count
        if found >= 0:
            parent[found] = count
        count += 1
    return count


@serial
def _match_again(
    parent, d, weights, indices, indptr, excess, limit, first, member,
    fine_d, fine_weights, fine_indices, fine_indptr, fine_excess,
):  # fmt: skip
    """Pairs of aggregates; the quality of what they form is tested in the fine matrix. Returns their number.

    The rows of d, weights and excess are those of the aggregates; aggregate c has the members
    member[first[c]:first[c + 1]].
    """
    n = parent.size
    widest = 0
    for i in range(n):
        widest = max(widest, indptr[i + 1] - indptr[i])
    candidate = np.empty(widest, np.int64)
    quality = np.empty(widest)
    largest = 0
    for c in range(n):
        largest = max(largest, first[c + 1] - first[c])
    group = np.empty(2 * largest, np.int64)
    Z = np.empty((2 * largest, 2 * largest))
    parent[:] = -2
    count = 0
    for i in range(n):
        if parent[i] != -2:
            continue
        found = 0
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            if parent[j] == -2 and j != i:
                k = _pair_quality(d[i], d[j], weights[q], excess[i], excess[j])
                if k < _NEVER:
                    candidate[found] = j
                    quality[found] = k
                    found += 1
        parent[i] = count
        while found > 0:
            best = 0
            for m in range(1, found):
                if quality[m] < quality[best]:
                    best = m
            j = candidate[best]
            size = 0
            for m in range(first[i], first[i + 1]):
                group[size] = member[m]
                size += 1
            for m in range(first[j], first[j + 1]):
                group[size] = member[m]
                size += 1
            if _is_sound(Z, group, size, limit, fine_d, fine_weights, fine_indices, fine_indptr, fine_excess):
                parent[j] = count
                break
            found -= 1
            candidate[best] = candidate[found]
            quality[best] = quality[found]
        count += 1
    return count


@serial
def _is_sound(Z, group, size, limit, d, weights, indices, indptr, excess):
    """True if the quality of the first `size` unknowns of `group` is at most `limit`; Z is work space."""
    total = 0.0
    for a in range(size):
        total += d[group[a]]
    for a in range(size):
        for b in range(size):
            Z[a, b] = 2.0 * d[group[a]] * d[group[b]] / total
    for a in range(size):
        i = group[a]
        own = max(excess[i], 0.0)
        for q in range(indptr[i], indptr[i + 1]):
            for b in range(size):
                if group[b] == indices[q]:
                    Z[a, b] -= limit * weights[q]
                    own += weights[q]
        Z[a, a] += limit * own - 2.0 * d[i]
    # elimination: a negative pivot shows that Z is not semidefinite; a zero pivot must have a zero row
    for k in range(size):
        zero = 1e-9 * limit * d[group[k]]
        if Z[k, k] < -zero:
            return False
        if Z[k, k] <= zero:
            for b in range(k + 1, size):
                if abs(Z[k, b]) > 1e3 * zero:
                    return False
            continue
        for a in range(k + 1, size):
            f = Z[a, k] / Z[k, k]
            for b in range(k + 1, size):
                Z[a, b] -= f * Z[k, b]
    return True


@serial
def _list_members(first, member, parent):
    """The unknowns of aggregate c, ascending: member[first[c]:first[c + 1]]."""
    first[:] = 0
    for i in range(parent.size):
        if parent[i] >= 0:
            first[parent[i] + 1] += 1
    for c in range(first.size - 1):
        first[c + 1] += first[c]
    for i in range(parent.size - 1, -1, -1):
        c = parent[i]
        if c >= 0:
            first[c + 1] -= 1
            member[first[c + 1]] = i
    # first[c + 1] is now the start of c: shift back
    for c in range(first.size - 1):
        first[c] = first[c + 1]
    total = 0
    for i in range(parent.size):
        total += parent[i] >= 0
    first[-1] = total


@serial
def _merge_rows(out_weights, out_indices, out_indptr, out_excess, marker, parent, first, member, weights, indices,
                indptr, excess):  # fmt: skip
    """The matrix TᵀAT of aggregates, T piecewise constant; couplings to rows without a parent go to the excess.

    Outputs have room for as many entries as the matrix has; `marker` is work space, one entry an aggregate. Returns
    the number of entries.
    """
    marker[:] = -1
    used = 0
    out_indptr[0] = 0
    for c in range(first.size - 1):
        begin = used
        own = 0.0
        for m in range(first[c], first[c + 1]):
            i = member[m]
            own += excess[i]
            for q in range(indptr[i], indptr[i + 1]):
                other = parent[indices[q]]
                if other < 0:
                    own += weights[q]
                elif other != c:
                    if marker[other] < begin:
                        marker[other] = used
                        out_indices[used] = other
                        out_weights[used] = weights[q]
                        used += 1
                    else:
                        out_weights[marker[other]] += weights[q]
        out_excess[c] = own
        out_indptr[c + 1] = used
    return used


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
