"""Inequalities on edges that cross a wall: `(1 - theta) x_a + theta x_b >= 0` for every edge (a, b, theta).

Edges are grouped by the end nearer to the wall, the hub; the other end is the leaf, and `ratio` <= 1 is the
leaf's weight over the hub's, so an edge reads `x_hub + ratio x_leaf >= 0`. If a wall passes close to a cell's centre,
all edges of that cell give almost the same constraint. Treated one after the other they would hardly converge; together
they have a closed form.
"""

import numpy as np

from . import serial


@serial
def _project_edges(x, rhs, hub_push, leaf_push, hub, first, leaf, ratio, d):
    """One pass over the hubs: take earlier pushes back, then move to the nearest point at which all its edges hold.

    Edge e moves its leaf by leaf_push[e] >= 0 and its hub by leaf_push[e] / ratio[e], the smallest change in
    the sense of least squares; hub_push is the sum over the edges of a hub. d times every move is added to
    `rhs`, so that the next sweep includes it. Returns the largest change of x.
    """
    change = 0.0
    for c in range(hub.size):
        h = hub[c]
        free = x[h] - hub_push[c]
        # Z = free - sum over edges with Z + ratio·leaf < 0 of (Z + ratio·leaf)/ratio²: the right side decreases, so
        # Newton's method from below rises to the root in at most one step per edge.
        z = free
        for _ in range(first[c + 1] - first[c] + 1):
            top, bottom = free, 1.0
            for e in range(first[c], first[c + 1]):
                y = x[leaf[e]] - leaf_push[e]
                if z + ratio[e] * y < 0.0:
                    top -= y / ratio[e]
                    bottom += 1.0 / ratio[e] ** 2
            new = top / bottom
            if new <= z:
                break
            z = new
        change = max(change, abs(z - x[h]))
        rhs[h] += d[h] * (z - x[h])
        hub_push[c] = z - free
        x[h] = z
        for e in range(first[c], first[c + 1]):
            i = leaf[e]
            y = x[i] - leaf_push[e]
            push = max(-(z / ratio[e] + y), 0.0)
            step = push - leaf_push[e]
            leaf_push[e] = push
            x[i] += step
            rhs[i] += d[i] * step
            change = max(change, abs(step))
    return change


@serial
def _edge_values(out, x, a, b, theta):
    """The value on the wall: out[e] = (1 - theta) x_a + theta x_b."""
    for e in range(a.size):
        out[e] = (1.0 - theta[e]) * x[a[e]] + theta[e] * x[b[e]]


@serial
def _edge_bounds(lower, x, a, b, theta):
    """Lower bounds on the cells that keep every edge feasible: no end may decrease by more than the wall value.

    This is sufficient, because the weights of the two ends sum to one. Cells without an edge get -inf.
    """
    lower[:] = -np.inf
    for e in range(a.size):
        wall = max((1.0 - theta[e]) * x[a[e]] + theta[e] * x[b[e]], 0.0)
        lower[a[e]] = max(lower[a[e]], x[a[e]] - wall)
        lower[b[e]] = max(lower[b[e]], x[b[e]] - wall)
