"""Walls and the surface: mirror images of particles, φ that ends behind walls, and vertices brought out of them."""

import numpy as np

from ...grid._levelset import _normal, _slope, _towards_image
from ...kernels import merged, parallel, prange
from ...kernels._interpolate import _sample


@parallel
def _mirror(image, good, x, nodes, reach, up):
    """Images of particles (n, 3) in walls nearer than the reach; `good` where there is one, which lies in the wall."""
    for p in prange(len(x)):
        a, b, c = x[p, 0], x[p, 1], x[p, 2]
        good[p] = False
        s = _sample(nodes, a, b, c)
        if s <= 0.0 or s >= reach:
            continue
        n0, n1, n2 = _normal(nodes, a, b, c)
        n0, n1, n2 = _towards_image(n0, n1, n2, up)
        a, b, c = a - 2.0 * s * n0, b - 2.0 * s * n1, c - 2.0 * s * n2
        image[p, 0], image[p, 1], image[p, 2] = a, b, c
        good[p] = _sample(nodes, a, b, c) < 0.0


@parallel
def _cut_behind(phi, solid, behind, blocked):
    """φ that ends one sample (`behind`, in cells) behind walls, in place.

    Where two walls meet the distance to both is zero in the seam. Samples there count as behind a wall too, with φ =
    `blocked`, unless one of the 26 next to them is not in a wall.
    """
    nx, ny, nz = phi.shape
    deep = np.float32(-1.75) * behind  # a distance changes by at most √3 samples to the next one
    none, far, most = np.float32(0.0), np.float32(-1e30), max(np.float32(0.75) * behind, blocked)
    for i in prange(nx):
        for j in range(ny):
            row, walls, near = phi[i, j], solid[i, j], 0
            for k in range(nz):  # without a branch, so that many samples are done at once
                s = walls[k]
                near += s >= deep and s <= none and row[k] < most
                row[k] = max(row[k], -s - behind if s > none else (blocked if s < deep else far))
            if near == 0:
                continue
            for k in range(nz):
                if deep <= walls[k] <= none and row[k] < most:
                    row[k] = max(row[k], -walls[k] - behind if _next_to_open(solid, i, j, k) else blocked)


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
        # most points are far from walls; a distance changes by at most √3 samples to the next one
        if scale * solid[np.uintp(a), np.uintp(b), np.uintp(c)] > 1.75 or _sample(solid, a, b, c) >= 0.0:
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
