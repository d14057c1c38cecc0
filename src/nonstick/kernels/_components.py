"""Connected parts of a stencil operator, by union-find over its open faces."""

from . import serial


@serial
def _find(parent, t):
    while parent[t] != t:
        parent[t] = parent[parent[t]]
        t = parent[t]
    return t


@serial
def _stencil_components(label, w0, w1, w2, start, offset):
    """label[t] = number of the part unknown t belongs to, numbered in the order of first cells; returns how many.

    `label` serves as the forest while it grows; roots are the smallest members, so one last pass numbers them.
    """
    n = label.size
    for t in range(n):
        label[t] = t
    for s in range(start.size - 1):
        for t in range(start[s], start[s + 1]):
            for axis in range(3):
                w = w0[t] if axis == 0 else (w1[t] if axis == 1 else w2[t])
                if w != 0.0:
                    a, b = _find(label, t), _find(label, t + offset[s, 2 * axis + 1])
                    if a < b:
                        label[b] = a
                    elif b < a:
                        label[a] = b
    count = 0
    for t in range(n):
        if label[t] == t:
            label[t] = -count - 1
            count += 1
        else:
            # Parents precede their children, so the parent's entry already holds its number.
            label[t] = label[label[t]]
    for t in range(n):
        label[t] = -label[t] - 1
    return count
