"""Distance read from samples, and distance to round cones that melt into each other.

The box of the samples is cut into bricks of `side`³ cells. `coarse` has the distance at the corners of all bricks.
`brick[i, j, k]` is the number of a brick near the surface, with samples of its own at all (side + 1)³ nodes, or -1.
Between samples the distance is trilinear.
"""

import numpy as np

from ...kernels import merged, parallel, prange


@merged
def _trilinear(f, i, j, k, a, b, c):
    """Value and gradient (per cell) of nodal values at the part (a, b, c) of cell (i, j, k)."""
    f000, f001 = f[i, j, k], f[i, j, k + 1]
    f010, f011 = f[i, j + 1, k], f[i, j + 1, k + 1]
    f100, f101 = f[i + 1, j, k], f[i + 1, j, k + 1]
    f110, f111 = f[i + 1, j + 1, k], f[i + 1, j + 1, k + 1]
    f00, f01 = f000 + c * (f001 - f000), f010 + c * (f011 - f010)
    f10, f11 = f100 + c * (f101 - f100), f110 + c * (f111 - f110)
    f0, f1 = f00 + b * (f01 - f00), f10 + b * (f11 - f10)
    along_y = (1.0 - a) * (f01 - f00) + a * (f11 - f10)
    low = (1.0 - b) * (f001 - f000) + b * (f011 - f010)
    high = (1.0 - b) * (f101 - f100) + b * (f111 - f110)
    return f0 + a * (f1 - f0), f1 - f0, along_y, (1.0 - a) * low + a * high


@merged
def _into(x, n):
    """The cell of coordinate x among n cells, the part of the cell below x, and how far x is beyond the cells."""
    y = min(max(x, 0.0), float(n))
    i = min(int(y), n - 1)
    return i, y - i, x - y


@parallel
def _read_samples(out, points, origin, h, side, coarse, brick, fine, doubtful):
    """Distance at points (n, 3); NaN in cells marked as `doubtful`, where samples do not tell the distance.

    Beyond the box it is the distance to the foot point of the nearest point of the box: never too small.
    """
    nx, ny, nz = brick.shape
    width = side * h
    for p in prange(points.shape[0]):
        i, a, dx = _into((points[p, 0] - origin[0]) / width, nx)
        j, b, dy = _into((points[p, 1] - origin[1]) / width, ny)
        k, c, dz = _into((points[p, 2] - origin[2]) / width, nz)
        number = brick[i, j, k]
        if dx != 0.0 or dy != 0.0 or dz != 0.0:
            value, gx, gy, gz = _trilinear(coarse, i, j, k, a, b, c)
            scale = value / max(np.sqrt(gx * gx + gy * gy + gz * gz), 1e-12 * width)
            x, y, z = dx * width + scale * gx, dy * width + scale * gy, dz * width + scale * gz
            out[p] = np.sqrt(x * x + y * y + z * z)
        elif number < 0:
            out[p] = _trilinear(coarse, i, j, k, a, b, c)[0]
        else:
            r, a, _ = _into(a * side, side)
            s, b, _ = _into(b * side, side)
            t, c, _ = _into(c * side, side)
            if doubtful[number, r, s, t]:
                out[p] = np.nan
            else:
                out[p] = _trilinear(fine[number], r, s, t, a, b, c)[0]


@parallel
def _blended_cones(out, points, cones, width):
    """out = smooth minimum, over the cones in their order, of the distances of points (3, n).

    A cone is a ball that moves along a line while its radius changes. A row of `cones` has its start, the way to its
    end, one over the square of its length, the first radius, the change of the radius, and the middle and radius of a
    ball around it. A cone whose ball is further away than the smallest distance so far and `width` changes nothing.
    """
    for turn in prange(out.size):
        q = np.int64(turn)
        x, y, z = points[0, q], points[1, q], points[2, q]
        least = np.inf
        for c in range(cones.shape[0]):
            reach = least + width + cones[c, 12]
            a, b, d = x - cones[c, 9], y - cones[c, 10], z - cones[c, 11]
            if reach < 0.0 or a * a + b * b + d * d > reach * reach:
                continue
            a, b, d = x - cones[c, 0], y - cones[c, 1], z - cones[c, 2]
            t = (a * cones[c, 3] + b * cones[c, 4] + d * cones[c, 5]) * cones[c, 6]
            t = min(max(t, 0.0), 1.0)
            a, b, d = a - t * cones[c, 3], b - t * cones[c, 4], d - t * cones[c, 5]
            far = np.sqrt(a * a + b * b + d * d) - (cones[c, 7] + t * cones[c, 8])
            overlap = max(width - abs(least - far), 0.0)
            least = min(least, far) - overlap * overlap / (4.0 * width)
        out[q] = least
