"""Connected parts of an operator by union-find, on a stencil over chains: unknowns coupled along the last axis."""

from . import inline, serial
from ._union import _unite


@serial
def _stencil_components(label, parent, w0, w1, w2, start, offset):
    """label[t] = number of the part of unknown t, numbered in the order of first unknowns; returns the number of parts.

    `parent` is work space of the size of `label`. Neighbouring cells of two chains would repeat the same union; it is
    made once.
    """
    n = label.size
    chains = 0
    for t in range(n):
        if t == 0 or w2[t - 1] == 0.0:
            parent[chains] = chains
            chains += 1
        label[t] = chains - 1
    for s in range(start.size - 1):
        up, right = offset[s, 1], offset[s, 3]
        ax = bx = ay = by = -1
        for t in range(start[s], start[s + 1]):
            a = label[t]
            if w0[t] != 0.0:
                b = label[t + up]
                if a != ax or b != bx:
                    _unite(parent, a, b)
                    ax, bx = a, b
            if w1[t] != 0.0:
                b = label[t + right]
                if a != ay or b != by:
                    _unite(parent, a, b)
                    ay, by = a, b
    count = _number(parent, chains)
    for t in range(n):
        label[t] = parent[label[t]]
    return count


@serial
def _number(parent, size):
    """Roots become the numbers 0, 1, … of their parts, and all others the number of their root; returns the number."""
    count = 0
    for c in range(size):
        if parent[c] == c:
            parent[c] = count
            count += 1
        else:
            parent[c] = parent[parent[c]]  # already a number: parents precede their children
    return count


@serial
def _csr_components(label, data, indices, indptr):
    """label[i] = number of the part of unknown i, numbered in the order of first unknowns; returns the number of parts.

    A coupling in one direction is enough; stored zeros are no couplings.
    """
    for i in range(label.size):
        label[i] = i
    for i in range(label.size):
        for q in range(indptr[i], indptr[i + 1]):
            if indices[q] != i and data[q] != 0.0:
                _unite(label, i, indices[q])
    return _number(label, label.size)


@inline
def _is_open(t, w0, w1, w2, d, offsets, tolerance):
    """True if the sum of row t is larger than rounding errors."""
    total = d[t] - (w0[t] + w1[t] + w2[t])
    for axis, w in enumerate((w0, w1, w2)):
        o = offsets[2 * axis]
        if o != 0:
            total -= w[t + o]
    return abs(total) > tolerance * d[t]


@serial
def _closed_parts(closed, label, w0, w1, w2, d, start, offset, tolerance):
    """closed[c] = True if every row of part c sums to zero; returns the number of these parts.

    Usually there are none. A free surface often comes last in C order, if an axis points up. So the search begins with
    the middles and ends of segments, backwards.
    """
    left = closed.size
    closed[:] = True
    for everywhere in range(2):
        for s in range(start.size - 2, -1, -1):
            middle = (start[s] + start[s + 1]) >> 1
            first, step = (start[s], 1) if everywhere else (middle, max(start[s + 1] - 1 - middle, 1))
            for t in range(first, start[s + 1], step):
                if closed[label[t]] and _is_open(t, w0, w1, w2, d, offset[s], tolerance):
                    closed[label[t]] = False
                    left -= 1
                    if left == 0:
                        return 0
    return left
