"""When is a coupling strong? The one rule of all topology-aware aggregation, and what it says about blocks of a grid.

    The coupling of unknowns i and j is strong if  |a_ij| >= theta min(max_k |a_ik|, max_k |a_jk|),  k off the diagonal.

So it is enough if a coupling is strong for one of the two, the one with the smaller couplings: a cut cell merges with
its only neighbour. With theta = 0 every coupling is strong, which is Takahashi–Batty's rule (§4.2). Across an
anisotropy larger than 1/theta cells do not merge, because errors are not smooth there. This gives semicoarsening.

`_merge` applies the rule to any matrix. The kernels here are for blocks of a row layout. There most faces need no
search for the strongest: a weight of at least `sure`, theta times the largest weight, is always strong.
"""

import numpy as np
from numba import prange

from ....kernels import inline, parallel, serial
from ....kernels._blocks import _face, _segment_of
from ....kernels._components import _find, _unite


@inline
def _strong(a, theta, strongest_i, strongest_j):
    """The rule: True if a coupling of size a is strong."""
    return a >= theta * min(strongest_i, strongest_j)


@serial
def _peak(t, w0, w1, w2, start, offset):
    """The largest weight of a face of unknown t."""
    s = _segment_of(start, t)
    v = 0.0
    for f in range(6):
        if offset[s, f] != 0:
            v = max(v, _face(f, t, offset[s, f], w0, w1, w2))
    return v


@serial
def _holds(w, theta, sure, t, u, w0, w1, w2, start, offset):
    """True if the face of weight w between unknowns t and u is strong; a weight of at least `sure` always is."""
    if w >= sure:
        return True
    if w <= 0.0:
        return False
    return _strong(w, theta, _peak(t, w0, w1, w2, start, offset), _peak(u, w0, w1, w2, start, offset))


@parallel
def _merge_blocks(root, parts, theta, sure, w0, w1, w2, cells, shape, start, offset, groups):
    """root[t] = smallest unknown strongly connected with t inside its 2x2x2 block.

    Inside a block the three predecessors of a cell usually have one common root, which the cell takes: sets are united
    only if the roots differ. `sure` is a weight that is strong everywhere; parts[g] counts the roots of group g.
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
                # sure weights are tested here: calls for the few others cost less than inlined code for all
                if x_inside and (
                    w0[t + xm] >= sure or _holds(w0[t + xm], theta, sure, t, t + xm, w0, w1, w2, start, offset)
                ):
                    r = np.int64(root[t + xm])
                    root[t] = r
                if y_inside and (
                    w1[t + ym] >= sure or _holds(w1[t + ym], theta, sure, t, t + ym, w0, w1, w2, start, offset)
                ):
                    if r == t:
                        r = np.int64(root[t + ym])
                        root[t] = r
                    elif root[t + ym] != r:
                        _unite(root, t, t + ym)
                if (
                    (k & 1) == 1
                    and zm != 0
                    and (w2[t + zm] >= sure or _holds(w2[t + zm], theta, sure, t, t + zm, w0, w1, w2, start, offset))
                ):
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
def _count_torn_blocks(first, theta, sure, cells, shape, parent, root, e, start, offset, w0, w1, w2, limit):
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
            if u == first[parent[t]] or e[u] > theta * _peak(u, w0, w1, w2, start, offset):
                joined = True
                break
            s = _segment_of(start, u)
            for f in range(6):
                shift = 16 >> (2 * (f >> 1))
                digit = (q // shift) & 3
                if digit == (3 if f & 1 else 0):
                    continue
                p = q + shift if f & 1 else q - shift
                o = offset[s, f]
                if o == 0 or window[p] != u + o or seen[p] != 0:
                    continue
                if _holds(_face(f, u, o, w0, w1, w2), theta, sure, u, u + o, w0, w1, w2, start, offset):
                    seen[p] = 1
                    stack[depth] = p
                    depth += 1
        if not joined:
            torn += 1
            if torn >= limit:
                return torn
    return torn


@inline
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
