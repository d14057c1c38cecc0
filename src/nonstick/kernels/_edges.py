"""Inequalities on edges that cross a wall: `(1 - theta) x_a + theta x_b >= 0` for every edge (a, b, theta)."""

from . import serial


@serial
def _project_edges(x, force, push, a, b, theta, d):
    """One pass over the edges: lift the wall value of each to zero, or let go of a push no longer needed.

    `push[e] >= 0` is the multiplier of edge e; `force` gathers the pushes on the cells, `C' push`. A push
    moves each end by its share over the diagonal d: the nearest feasible point in the metric of d. Rows
    with d = 0 stay where they are. Returns the largest change of a push.
    """
    change = 0.0
    for e in range(a.size):
        i, j, t = a[e], b[e], theta[e]
        give_i = (1.0 - t) / d[i] if d[i] > 0.0 else 0.0
        give_j = t / d[j] if d[j] > 0.0 else 0.0
        s = (1.0 - t) * give_i + t * give_j
        if s > 0.0:
            wall = (1.0 - t) * x[i] + t * x[j]
            new = max(push[e] - wall / s, 0.0)
            step = new - push[e]
            push[e] = new
            x[i] += give_i * step
            x[j] += give_j * step
            force[i] += (1.0 - t) * step
            force[j] += t * step
            change = max(change, abs(step))
    return change


@serial
def _edge_values(out, x, a, b, theta):
    """The value on the wall: out[e] = (1 - theta) x_a + theta x_b."""
    for e in range(a.size):
        out[e] = (1.0 - theta[e]) * x[a[e]] + theta[e] * x[b[e]]
