"""Walls and the surface: mirror images of particles, φ that ends behind walls, and vertices brought out of them."""

import numpy as np
from numba import prange

from ..kernels import merged, parallel
from ..kernels._interpolate import _sample


@merged
def _slope(field, a, b, c):
    """Central difference of a field at (a, b, c), per sample."""
    g0 = _sample(field, a + 0.5, b, c) - _sample(field, a - 0.5, b, c)
    g1 = _sample(field, a, b + 0.5, c) - _sample(field, a, b - 0.5, c)
    g2 = _sample(field, a, b, c + 0.5) - _sample(field, a, b, c - 0.5)
    return g0, g1, g2


@parallel
def _mirror(image, good, x, nodes, reach, up):
    """Images of particles (n, 3) in walls nearer than the reach; `good` where there is one, which lies in the wall.

    Taken along the horizontal where the wall is steep, so that a level surface stays level up to the wall.
    """
    nx, ny, nz = nodes.shape
    for p in prange(len(x)):
        a, b, c = x[p, 0], x[p, 1], x[p, 2]
        good[p] = False
        # most particles are far from walls; a distance changes by at most √3 over a cell
        if nodes[min(max(int(a), 0), nx - 1), min(max(int(b), 0), ny - 1), min(max(int(c), 0), nz - 1)] > reach + 1.8:
            continue
        s = _sample(nodes, a, b, c)
        if s <= 0.0 or s >= reach:
            continue
        n0, n1, n2 = _slope(nodes, a, b, c)
        size = max(np.sqrt(n0 * n0 + n1 * n1 + n2 * n2), 1e-9)
        n0, n1, n2 = n0 / size, n1 / size, n2 / size
        rise = n0 * up[0] + n1 * up[1] + n2 * up[2]
        level = 1.0 - rise * rise
        if level > 0.25:
            n0, n1, n2 = (n0 - rise * up[0]) / level, (n1 - rise * up[1]) / level, (n2 - rise * up[2]) / level
        a, b, c = a - 2.0 * s * n0, b - 2.0 * s * n1, c - 2.0 * s * n2
        image[p, 0], image[p, 1], image[p, 2] = a, b, c
        good[p] = _sample(nodes, a, b, c) < 0.0


@parallel
def _beside(out, x, reach, size):
    """Which particles (n, 3) are nearer than the reach to a side of the box from 0 to `size`, or outside it."""
    for p in prange(len(x)):
        near = False
        for axis in range(3):
            near |= x[p, axis] < reach or x[p, axis] > size[axis] - reach
        out[p] = near


@parallel
def _cut_behind(phi, solid, behind, blocked):
    """φ that ends one sample (`behind`, in cells) behind walls, in place.

    Where two walls meet the distance to both is zero in the seam. Samples there count as behind a wall too, with φ =
    `blocked`, unless one of the 26 next to them is not in a wall.
    """
    nx, ny, nz = phi.shape
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                s = solid[i, j, k]
                # a distance changes by at most √3 samples to the next one
                if s < -1.75 * behind or (s <= 0.0 and not _next_to_open(solid, i, j, k)):
                    phi[i, j, k] = max(phi[i, j, k], blocked)
                else:
                    phi[i, j, k] = max(phi[i, j, k], -s - behind)


@merged
def _next_to_open(solid, i, j, k):
    """Is one of the 26 samples around not in a wall?"""
    nx, ny, nz = solid.shape
    for a in range(max(i - 1, 0), min(i + 2, nx)):
        for b in range(max(j - 1, 0), min(j + 2, ny)):
            for c in range(max(k - 1, 0), min(k + 2, nz)):
                if solid[a, b, c] > 0.0:
                    return True
    return False


@parallel
def _bring_out(x, seam, solid, scale):
    """Points (n, 3) in walls brought to the nearest point of the wall, in samples; `solid` times `scale` is in samples.

    `seam` marks points after which there is another wall.
    """
    for p in prange(len(x)):
        a, b, c = x[p, 0], x[p, 1], x[p, 2]
        seam[p] = False
        if _sample(solid, a, b, c) >= 0.0:
            continue
        g0, g1, g2 = 0.0, 0.0, 0.0
        steep = 1.0
        for _ in range(3):
            g0, g1, g2 = _slope(solid, a, b, c)
            g0, g1, g2 = scale * g0, scale * g1, scale * g2
            steep = max(g0 * g0 + g1 * g1 + g2 * g2, 0.25)
            s = min(scale * _sample(solid, a, b, c), 0.0)
            a, b, c = a - s * g0 / steep, b - s * g1 / steep, c - s * g2 / steep
        step = 0.3 / np.sqrt(steep)
        seam[p] = _sample(solid, a + step * g0, b + step * g1, c + step * g2) <= 0.0
        if not seam[p]:
            x[p, 0], x[p, 1], x[p, 2] = a, b, c
