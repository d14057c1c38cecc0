"""When is a coupling strong, and when is a part held together too weakly? The one rule
of all topology-aware aggregation, and what it says about blocks of a grid.

    The coupling of unknowns i and j is strong if  |a_ij| >= theta min(max_k |a_ik|, max_k |a_jk|),  k off the diagonal.

So it is enough if a coupling is strong for one of the two, the one with the smaller couplings: a cut cell merges with
its only neighbour. With theta = 0 every coupling is strong, which is Takahashi–Batty's rule (§4.2). Across an
anisotropy larger than 1/theta cells do not merge, because errors are not smooth there. This gives semicoarsening.

`_merge` applies the rule to any matrix. The kernels here are for blocks of a row layout, and take the largest weight of
each unknown from `_peaks`.

The second part cuts aggregates that are held together too weakly (see `TopologyAware`). A part
of a block with members S ∪ T is cut into S and T if

    sum of couplings between S and T  <  cut · min(outside(S), outside(T)),

where outside(·) sums the couplings to unknowns that do not belong to the part: both halves are then coupled more to
their own surroundings than to each other, and a constant on S ∪ T approximates neither. A full block of a grid has the
ratio 4 : 12 at its weakest cut; two pairs of cells in a row that belong to different rooms have 1 : 6.

A bound shows that most parts need no cut: every cut is at least (edge connectivity) · (weakest coupling inside), and
the smaller outside is at most half of the total. For the other parts all bipartitions are tried. Parts with more than
MANY members are first contracted along their strongest couplings; parts with more than TOO_MANY members are not cut.
"""

import numpy as np

from ....kernels import merged, parallel, prange, serial
from ....kernels._blocks import _neighbour, _segment_of
from ....kernels._components import _find, _unite


@merged
def _strong(a, theta, strongest_i, strongest_j):
    """The rule: True if a coupling of size a is strong."""
    return a >= theta * min(strongest_i, strongest_j)


@parallel
def _peaks(peak, w0, w1, w2, start, offset, groups):
    """peak[t] = the largest weight of the faces of unknown t."""
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            xm, xp, ym, yp, zm, zp = offset[s]
            for t in range(start[s], start[s + 1]):
                peak[t] = max(w0[t] if xp != 0 else 0.0, w0[t + xm] if xm != 0 else 0.0)
            for t in range(start[s], start[s + 1]):
                peak[t] = max(peak[t], max(w1[t] if yp != 0 else 0.0, w1[t + ym] if ym != 0 else 0.0))
            for t in range(start[s], start[s + 1]):
                peak[t] = max(peak[t], max(w2[t] if zp != 0 else 0.0, w2[t + zm] if zm != 0 else 0.0))


@merged
def _holds(w, theta, peak, t, u):
    """True if the face of weight w between unknowns t and u is strong."""
    return w > 0.0 and _strong(w, theta, peak[t], peak[u])


@parallel
def _merge_blocks(root, parts, theta, peak, w0, w1, w2, cells, shape, start, offset, groups):
    """root[t] = smallest unknown strongly connected with t inside its 2x2x2 block.

    Inside a block the three predecessors of a cell usually have one common root, which the cell takes: sets are united
    only if the roots differ. parts[g] counts the roots of group g.
    """
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            xm, xp, ym, yp, zm, zp = offset[s]
            cell = cells[start[s]]
            k = cell % shape[2]
            j = (cell // shape[2]) % shape[1]
            i = cell // (shape[2] * shape[1])
            x_inside = (i & 1) == 1 and xm != 0
            y_inside = (j & 1) == 1 and ym != 0
            for t in range(start[s], start[s + 1]):
                r = np.int64(t)
                root[t] = t
                if x_inside and _holds(w0[t + xm], theta, peak, t, t + xm):
                    r = np.int64(root[t + xm])
                    root[t] = r
                if y_inside and _holds(w1[t + ym], theta, peak, t, t + ym):
                    if r == t:
                        r = np.int64(root[t + ym])
                        root[t] = r
                    elif root[t + ym] != r:
                        _unite(root, t, t + ym)
                if (k & 1) == 1 and zm != 0 and _holds(w2[t + zm], theta, peak, t, t + zm):
                    if r == t:
                        root[t] = root[t + zm]
                    elif root[t + zm] != r:
                        _unite(root, t, t + zm)
                k += 1
        count = 0
        for t in range(start[groups[g]], start[groups[g + 1]]):
            root[t] = _find(root, t)
            count += root[t] == t
        parts[g] = count


@serial
def _count_torn_blocks(first, theta, peak, cells, shape, parent, root, e, start, offset, w0, w1, w2, limit):
    """Count the blocks whose cells form parts that are not connected within one cell around the block.

    `root` comes from `_merge_blocks`; `first` is work space, one entry per block. Parts that
    touch air nearby do not count: the air fixes their error, so they need no coarse grid. It stops counting at `limit`.
    """
    first[:] = -1
    torn = 0
    window = np.empty(64, np.int64)
    seen = np.empty(64, np.int64)
    stack = np.empty(64, np.int64)
    for t in range(cells.size):
        if root[t] != t:
            continue
        if first[parent[t]] < 0:
            first[parent[t]] = t
            continue
        # a second part of this block: flood fill from it through the surrounding 4x4x4 cells
        cell = cells[t]
        k = cell % shape[2]
        j = (cell // shape[2]) % shape[1]
        i = cell // (shape[2] * shape[1])
        i0 = (i & ~1) - 1
        j0 = (j & ~1) - 1
        k0 = (k & ~1) - 1
        for q in range(64):
            ii = i0 + (q >> 4)
            jj = j0 + ((q >> 2) & 3)
            kk = k0 + (q & 3)
            seen[q] = 0
            window[q] = -1
            if 0 <= ii < shape[0] and 0 <= jj < shape[1] and 0 <= kk < shape[2]:
                window[q] = _find_cell(cells, (ii * shape[1] + jj) * shape[2] + kk)
        here = ((i - i0) << 4) + ((j - j0) << 2) + (k - k0)
        seen[here] = 1
        stack[0] = here
        depth = 1
        joined = False
        while depth > 0:
            depth -= 1
            q = stack[depth]
            u = window[q]
            if u == first[parent[t]] or e[u] > theta * peak[u]:
                joined = True
                break
            s = _segment_of(start, u)
            for f in range(6):
                shift = 16 >> (2 * (f >> 1))
                digit = (q // shift) & 3
                if digit == (3 if f & 1 else 0):
                    continue
                p = q + shift if f & 1 else q - shift
                o, w = _neighbour(f, u, s, offset, w0, w1, w2)
                if o == 0 or window[p] != u + o or seen[p] != 0:
                    continue
                if _holds(w, theta, peak, u, u + o):
                    seen[p] = 1
                    stack[depth] = p
                    depth += 1
        if not joined:
            torn += 1
            if torn >= limit:
                return torn
    return torn


@merged
def _find_cell(cells, cell):
    """Number of a linear cell, -1 if it is not an unknown."""
    low = 0
    high = cells.size
    while low < high:
        mid = (low + high) >> 1
        if cells[mid] < cell:
            low = mid + 1
        else:
            high = mid
    return low if low < cells.size and cells[low] == cell else -1


MANY = 10
TOO_MANY = 64


@serial
def _survey(links, weakest, outside, root, data, indices, indptr):
    """Couplings inside each part, the weakest of them, and the sum of those that leave it, at index root."""
    for i in range(root.size):
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] > i and data[k] != 0.0:
                p, q, a = root[i], root[indices[k]], abs(data[k])
                if p == q:
                    links[p] += 1
                    weakest[p] = min(weakest[p], a)
                else:
                    outside[p] += a
                    outside[q] += a


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


@serial
def _gather(inside, outside, slot, root, place, first, data, indices, indptr):
    """Fill the small dense matrices of doubtful parts, stored one after the other in `inside`."""
    for i in range(root.size):
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] <= i or data[k] == 0.0:
                continue
            j, a = indices[k], abs(data[k])
            p, q = slot[root[i]], slot[root[j]]
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
def _gather_part(L, rim, sub, K, out, lead, part, current, n):
    """The groups of one part, the couplings between them, and those to everything else; returns their number."""
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
    return k


@serial
def _part_of(group, lead, part, n):
    """The part of a group; -1 if the group is not listed."""
    for g in range(n):
        if lead[g] == group:
            return part[g]
    return -1


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
            k = _gather_part(L, rim, sub, K, out, lead, part, current, n)
            best, bits = _weakest_cut(L, rim, k) if k > 1 else (np.inf, 0)
            if best < cut:
                for a in range(k):
                    if not (bits >> a) & 1:
                        part[sub[a]] = parts
                parts += 1
            else:
                current += 1
        for a in range(m):
            mine = _part_of(group[a], lead, part, n)
            for b in range(m):  # the smallest member of the same part
                if _part_of(group[b], lead, part, n) == mine:
                    root[member[low + a]] = member[low + b]
                    break
