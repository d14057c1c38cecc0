"""Connected parts by union-find: of an operator on a stencil over chains (unknowns coupled along the last axis), and of
the cells of a mask.

Sets are trees: `root[i]` leads to the smallest member of the set of i.
"""

from . import merged, serial


@merged
def _find(root, i):
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@merged
def _unite(root, i, j):
    """The smaller root leads, so that roots precede what they lead."""
    i = _find(root, i)
    j = _find(root, j)
    if i < j:
        root[j] = i
    elif j < i:
        root[i] = j


@serial
def _flatten(root):
    """root[i] becomes the last element of its chain."""
    for i in range(root.size):
        r = root[i]
        while root[r] != r:
            r = root[r]
        root[i] = r


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


@serial
def _label(label, parent, mask):
    """label = number of the part of a cell, from 1 in the order of first cells, 0 outside; returns the number of parts.

    Cells of one run along the last axis share an entry of `parent`, which has room for one entry per cell.
    """
    nx, ny, nz = mask.shape
    runs = 0
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                if not mask[i, j, k]:
                    label[i, j, k] = 0
                    continue
                if k == 0 or not mask[i, j, k - 1]:
                    parent[runs] = runs
                    runs += 1
                a = runs - 1
                label[i, j, k] = runs
                if i > 0 and mask[i - 1, j, k]:
                    _unite(parent, a, label[i - 1, j, k] - 1)
                if j > 0 and mask[i, j - 1, k]:
                    _unite(parent, a, label[i, j - 1, k] - 1)
    count = 0
    for r in range(runs):  # roots precede their children, whose parents are numbers already
        if parent[r] == r:
            count += 1
            parent[r] = count
        else:
            parent[r] = parent[parent[r]]
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                if label[i, j, k] > 0:
                    label[i, j, k] = parent[label[i, j, k] - 1]
    return count
