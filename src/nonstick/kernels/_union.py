"""Sets of unknowns as trees: `root[i]` leads to the smallest unknown of the set of i."""

from . import inline, serial


@inline
def _find(root, i):
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@inline
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
