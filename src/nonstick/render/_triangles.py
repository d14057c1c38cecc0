"""Triangles of meshes and boxes: which cells they touch, and where a ray hits one.

Triangles are seen from one side only, from which their corners go counterclockwise. So a ray that starts inside a solid
leaves it without a hit.
"""

import numpy as np

from ..kernels import merged, serial


@merged
def _sides(corners, t):
    """The vectors from the first corner of triangle t to the two others."""
    x, y, z = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
    return (
        corners[t, 1, 0] - x, corners[t, 1, 1] - y, corners[t, 1, 2] - z,
        corners[t, 2, 0] - x, corners[t, 2, 1] - y, corners[t, 2, 2] - z,
    )  # fmt: skip


@serial
def _cells_of(first, found, corners, shape, fill):
    """Count (fill = False) or list the triangles (n, 3, 3), in cells, whose boxes touch each cell.

    `first` (cells + 1) holds counts, and the starts of the lists where they are filled; the plane of a triangle must
    pass through a cell. Returns the number of entries.
    """
    nx, ny, nz = shape
    low, high = np.empty(3, np.int64), np.empty(3, np.int64)
    total = 0
    for t in range(len(corners)):
        outside = False
        for axis in range(3):
            x0, x1, x2 = corners[t, 0, axis], corners[t, 1, axis], corners[t, 2, axis]
            n = nx if axis == 0 else (ny if axis == 1 else nz)
            least, most = min(x0, x1, x2), max(x0, x1, x2)
            outside = outside or most < 0.0 or least > n
            low[axis] = min(max(int(np.floor(least - 1e-3)), 0), n - 1)
            high[axis] = min(max(int(np.floor(most + 1e-3)), 0), n - 1)
        if outside:
            continue
        u0, u1, u2, v0, v1, v2 = _sides(corners, t)
        n0, n1, n2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
        wide = 0.501 * (abs(n0) + abs(n1) + abs(n2))
        for i in range(low[0], high[0] + 1):
            for j in range(low[1], high[1] + 1):
                for k in range(low[2], high[2] + 1):
                    x, y, z = i + 0.5 - corners[t, 0, 0], j + 0.5 - corners[t, 0, 1], k + 0.5 - corners[t, 0, 2]
                    if abs(n0 * x + n1 * y + n2 * z) > wide:
                        continue
                    at = (i * ny + j) * nz + k
                    if fill:
                        found[first[at]] = t
                        first[at] += 1
                    else:
                        first[at + 1] += 1
                    total += 1
    return total


@serial
def _hit(lists, tri, cell, a, b, c, d0, d1, d2, far):
    """(distance, number) of the nearest triangle of a cell within `far`; the number is -1 if there is none.

    `lists` begins with the places in itself where the list of each cell begins; `tri` (n, 6, 3) holds corners and
    normals.

    Möller and Trumbore's test (1997).
    """
    best, which = far, -1
    for at in range(lists[cell], lists[cell + 1]):
        t = lists[at]
        u0, u1, u2, v0, v1, v2 = _sides(tri, t)
        p0, p1, p2 = d1 * v2 - d2 * v1, d2 * v0 - d0 * v2, d0 * v1 - d1 * v0
        det = u0 * p0 + u1 * p1 + u2 * p2
        if det < 1e-12:  # seen from behind, or from the side
            continue
        s0, s1, s2 = a - tri[t, 0, 0], b - tri[t, 0, 1], c - tri[t, 0, 2]
        u = (s0 * p0 + s1 * p1 + s2 * p2) / det
        if u < -1e-5 or u > 1.0 + 1e-5:
            continue
        q0, q1, q2 = s1 * u2 - s2 * u1, s2 * u0 - s0 * u2, s0 * u1 - s1 * u0
        v = (d0 * q0 + d1 * q1 + d2 * q2) / det
        if v < -1e-5 or u + v > 1.0 + 2e-5:
            continue
        way = (v0 * q0 + v1 * q1 + v2 * q2) / det
        if -2e-3 < way < best:
            best, which = way, t
    return best, which


@serial
def _normal(tri, t, a, b, c):
    """The normal of triangle t at a point of it, from those at its corners."""
    u0, u1, u2, v0, v1, v2 = _sides(tri, t)
    s0, s1, s2 = a - tri[t, 0, 0], b - tri[t, 0, 1], c - tri[t, 0, 2]
    uu, uv, vv = u0 * u0 + u1 * u1 + u2 * u2, u0 * v0 + u1 * v1 + u2 * v2, v0 * v0 + v1 * v1 + v2 * v2
    su, sv = s0 * u0 + s1 * u1 + s2 * u2, s0 * v0 + s1 * v1 + s2 * v2
    det = max(uu * vv - uv * uv, 1e-30)
    p = min(max((su * vv - sv * uv) / det, 0.0), 1.0)
    q = min(max((sv * uu - su * uv) / det, 0.0), 1.0)
    n0 = (1.0 - p - q) * tri[t, 3, 0] + p * tri[t, 4, 0] + q * tri[t, 5, 0]
    n1 = (1.0 - p - q) * tri[t, 3, 1] + p * tri[t, 4, 1] + q * tri[t, 5, 1]
    n2 = (1.0 - p - q) * tri[t, 3, 2] + p * tri[t, 4, 2] + q * tri[t, 5, 2]
    s = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2) + 1e-12
    return n0 / s, n1 / s, n2 / s
