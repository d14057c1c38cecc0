"""Coordinates of the samples of a staggered grid."""

import numpy as np


def faces_of(cells, h=1.0):
    """For every component the coordinates of its faces."""
    out = []
    for a in range(len(cells)):
        lines = [(np.arange(n + (i == a)) + (0.0 if i == a else 0.5)) * h for i, n in enumerate(cells)]
        out.append(np.meshgrid(*lines, indexing="ij"))
    return out


def nodes_of(cells, h=1.0):
    return np.meshgrid(*[np.arange(n + 1) * h for n in cells], indexing="ij")
