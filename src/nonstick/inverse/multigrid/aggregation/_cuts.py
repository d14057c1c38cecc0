"""Cuts aggregates that are held together too weakly (see `multigrid.aggregation.TopologyAware`).

A part of a block with members S ∪ T is cut into S and T if

    sum of couplings between S and T  <  cut · min(outside(S), outside(T)),

where outside(·) sums the couplings to unknowns that do not belong to the part: both halves are then coupled more to
their own surroundings than to each other, and a constant on S ∪ T approximates neither. A full block of a grid has the
ratio 4 : 12 at its weakest cut; two pairs of cells in a row that belong to different rooms have 1 : 6.

A bound shows that most parts need no cut: every cut is at least (edge connectivity) · (weakest coupling inside), and
the smaller outside is at most half of the total. For the other parts all bipartitions are tried. Parts with more than
MANY members are first contracted along their strongest couplings; parts with more than TOO_MANY members are not cut.
"""

import numpy as np

from ....kernels import inline, serial

MANY = 10
TOO_MANY = 64


@inline
def _survey(root, links, weakest, outside, i, j, a):
    p = root[i]
    q = root[j]
    if p == q:
        links[p] += 1
        weakest[p] = min(weakest[p], a)
    else:
        outside[p] += a
        outside[q] += a


@serial
def _survey_stencil(links, weakest, outside, root, w0, w1, w2, start, offset):
    """Couplings inside each part, the weakest of them, and the sum of those that leave it, at index root."""
    for s in range(start.size - 1):
        xp, yp, zp = offset[s, 1], offset[s, 3], offset[s, 5]
        for t in range(start[s], start[s + 1]):
            if w0[t] != 0.0:
                _survey(root, links, weakest, outside, t, t + xp, abs(w0[t]))
            if w1[t] != 0.0:
                _survey(root, links, weakest, outside, t, t + yp, abs(w1[t]))
            if w2[t] != 0.0:
                _survey(root, links, weakest, outside, t, t + zp, abs(w2[t]))


@serial
def _survey_csr(links, weakest, outside, root, data, indices, indptr):
    for i in range(root.size):
        for q in range(indptr[i], indptr[i + 1]):
            if indices[q] > i and data[q] != 0.0:
                _survey(root, links, weakest, outside, i, indices[q], abs(data[q]))


@serial
def _doubtful(slot, root, links, weakest, outside, cut):
    """slot[r] = number of the part with root r among those the bound does not settle, or -1; returns the count.

    links[r] of a doubtful part becomes the number of its members.
    """
    size = np.zeros(root.size, np.int32)
    for i in range(root.size):
        size[root[i]] += 1
    count = 0
    for r in range(root.size):
        slot[r] = -1
        m = size[r]
        if m > 1 and m <= TOO_MANY and outside[r] > 0.0:
            connectivity = 3 if m == 8 and links[r] == 12 else (2 if m == 4 and links[r] == 4 else 1)
            if connectivity * weakest[r] < (1.0 - 1e-9) * cut * 0.5 * outside[r]:
                slot[r] = count
                links[r] = m
                count += 1
    return count


@inline
def _gather_link(inside, outside, slot, root, place, first, i, j, a):
    """Fill the small dense matrices of doubtful parts, stored one after the other in `inside`."""
    p = slot[root[i]]
    q = slot[root[j]]
    if root[i] == root[j]:
        if p >= 0:
            m = first[p + 1, 0] - first[p, 0]
            inside[first[p, 1] + place[i] * m + place[j]] += a
            inside[first[p, 1] + place[j] * m + place[i]] += a
    else:
        if p >= 0:
            outside[first[p, 0] + place[i]] += a
        if q >= 0:
            outside[first[q, 0] + place[j]] += a


@serial
def _gather_stencil(inside, outside, slot, root, place, first, w0, w1, w2, start, offset):
    for s in range(start.size - 1):
        xp, yp, zp = offset[s, 1], offset[s, 3], offset[s, 5]
        for t in range(start[s], start[s + 1]):
            if w0[t] != 0.0:
                _gather_link(inside, outside, slot, root, place, first, t, t + xp, abs(w0[t]))
            if w1[t] != 0.0:
                _gather_link(inside, outside, slot, root, place, first, t, t + yp, abs(w1[t]))
            if w2[t] != 0.0:
                _gather_link(inside, outside, slot, root, place, first, t, t + zp, abs(w2[t]))


@serial
def _gather_csr(inside, outside, slot, root, place, first, data, indices, indptr):
    for i in range(root.size):
        for q in range(indptr[i], indptr[i + 1]):
            if indices[q] > i and data[q] != 0.0:
                _gather_link(inside, outside, slot, root, place, first, i, indices[q], abs(data[q]))


@serial
def _members(member, place, first, slot, root, links):
    """Members of each doubtful part in ascending order, their place in it, and where its lists begin."""
    first[0, 0] = 0
    first[0, 1] = 0
    for r in range(root.size):
        p = slot[r]
        if p >= 0:
            m = links[r]
            first[p + 1, 0] = first[p, 0] + m
            first[p + 1, 1] = first[p, 1] + m * m
            links[r] = 0
    for i in range(root.size):
        p = slot[root[i]]
        if p >= 0:
            place[i] = links[root[i]]
            member[first[p, 0] + place[i]] = i
            links[root[i]] += 1


@serial
def _weakest_cut(K, out, m):
    """The least (cut of S)/min(outside of S and of the rest) over subsets S with member 0, and S as bits."""
    total = 0.0
    for a in range(m):
        total += out[a]
    best = np.inf
    best_bits = 0
    bits = 1
    cut = 0.0
    held = out[0]
    for b in range(1, m):
        cut += K[0, b]
    everything = (1 << m) - 1
    for step in range(1, (1 << (m - 1)) + 1):
        if bits != everything:
            smaller = min(held, total - held)
            if smaller > 1e-12 * total and cut < best * smaller:
                best = cut / smaller
                best_bits = bits
        flip = 1  # Gray code: one member changes from one half to the other
        while not (step >> (flip - 1)) & 1:
            flip += 1
        if flip >= m:
            break
        leaves = (bits >> flip) & 1
        for b in range(m):
            if b != flip:
                same = (bits >> b) & 1
                cut += K[flip, b] if same == leaves else -K[flip, b]
        bits ^= 1 << flip
        held += -out[flip] if leaves else out[flip]
    return best, best_bits


@serial
def _contract(K, out, group, m):
    """Merge strongest couplings, relative to the smaller boundary, until MANY groups are left; group[a] is a's."""
    for a in range(m):
        group[a] = a
    for _ in range(m - MANY):
        best = -1.0
        first = 0
        second = 0
        for a in range(m):
            if group[a] == a:
                for b in range(a + 1, m):
                    if group[b] == b and K[a, b] > 0.0:
                        # K[a, a] holds the sum of the row: the boundary inside the part
                        strength = K[a, b] / min(out[a] + K[a, a], out[b] + K[b, b])
                        if strength > best:
                            best, first, second = strength, a, b
        if best < 0.0:
            return
        shared = K[first, second]
        for c in range(m):
            if group[c] == c and c != first and c != second:
                K[first, c] += K[second, c]
                K[c, first] = K[first, c]
        K[first, first] += K[second, second] - 2.0 * shared
        out[first] += out[second]
        for c in range(m):
            if group[c] == second:
                group[c] = first


@serial
def _split_parts(root, member, first, inside, outside, cut):
    """Cut doubtful parts until no cut is weak; root[i] becomes the smallest member of i's new part."""
    K, out = np.zeros((TOO_MANY, TOO_MANY)), np.zeros(TOO_MANY)
    L, rim = np.zeros((MANY, MANY)), np.zeros(MANY)
    group, part = np.zeros(TOO_MANY, np.int64), np.zeros(TOO_MANY, np.int64)
    lead, sub = np.zeros(MANY, np.int64), np.zeros(MANY, np.int64)
    for p in range(first.shape[0] - 1):
        low = first[p, 0]
        m = first[p + 1, 0] - low
        for a in range(m):
            out[a] = outside[low + a]
            K[a, a] = 0.0
            group[a] = a
            for b in range(m):
                if a != b:
                    K[a, b] = inside[first[p, 1] + a * m + b]
                    K[a, a] += K[a, b]
        if m > MANY:
            _contract(K, out, group, m)
        n = 0
        for a in range(m):
            if group[a] == a:
                if n == MANY:
                    break
                lead[n] = a
                n += 1
        parts = 1
        for g in range(n):
            part[g] = 0
        current = 0
        while current < parts:
            k = 0
            for g in range(n):
                if part[g] == current:
                    sub[k] = g
                    k += 1
            for a in range(k):
                rim[a] = out[lead[sub[a]]]
                for g in range(n):
                    if part[g] != current:
                        rim[a] += K[lead[sub[a]], lead[g]]
                for b in range(k):
                    L[a, b] = K[lead[sub[a]], lead[sub[b]]] if a != b else 0.0
            best, bits = _weakest_cut(L, rim, k) if k > 1 else (np.inf, 0)
            if best < cut:
                for a in range(k):
                    if not (bits >> a) & 1:
                        part[sub[a]] = parts
                parts += 1
            else:
                current += 1
        for a in range(m):
            mine = -1
            for g in range(n):
                if lead[g] == group[a]:
                    mine = part[g]
            for b in range(m):  # the smallest member of the same part
                other = -1
                for g in range(n):
                    if lead[g] == group[b]:
                        other = part[g]
                if other == mine:
                    root[member[low + a]] = member[low + b]
                    break
