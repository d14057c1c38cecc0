"""Connected parts of a mask by union-find."""

from ..kernels import serial
from ..kernels._union import _unite


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
