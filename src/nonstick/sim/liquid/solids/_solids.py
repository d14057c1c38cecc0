"""The part of cells that solids do not fill."""

import numpy as np

from ....kernels import parallel, prange
from ....kernels._interpolate import _sample


@parallel
def _open_space(space, solid, parts):
    """Share of each cell outside solids, from the nodal distance in cells.

    A cell whose nodes all lie on one side is full or empty; any other cell is cut into parts^d pieces, each
    filled by clip(½ + distance · parts, 0, 1) at its middle.
    """
    nx, ny, nz = space.shape
    px = 1 if nx == 1 else parts
    for i in prange(nx):
        for j in range(ny):
            for k in range(nz):
                low = high = solid[i, j, k]
                for di in range(2):
                    for dj in range(2):
                        for dk in range(2):
                            s = solid[i + di, j + dj, k + dk]
                            low = min(low, s)
                            high = max(high, s)
                if low >= 0.0:
                    space[i, j, k] = 1.0
                elif high <= 0.0:
                    space[i, j, k] = 0.0
                else:
                    total = 0.0
                    for a in range(px):
                        for b in range(parts):
                            for c in range(parts):
                                s = _sample(solid, i + (a + 0.5) / px, j + (b + 0.5) / parts, k + (c + 0.5) / parts)
                                total += min(max(0.5 + s * parts, 0.0), 1.0)
                    space[i, j, k] = total / (px * parts * parts)


@parallel
def _room(room, space, solid, parts):
    """The density of `_scatter_velocity` for evenly filled open space: the integral of the hat of each cell centre.

    Where a cell nearby is cut, the integral is a sum over parts^d points per cell. The hat of a cell at the side of
    the grid is one up to the side, because scattering clamps positions there.
    """
    nx, ny, nz = room.shape
    px = 1 if nx == 1 else parts
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                low, high = 1.0, 0.0
                for a in range(max(i - 1, 0), min(i + 2, nx)):
                    for b in range(max(j - 1, 0), min(j + 2, ny)):
                        for c in range(max(k - 1, 0), min(k + 2, nz)):
                            low = min(low, space[a, b, c])
                            high = max(high, space[a, b, c])
                if low == high:
                    room[i, j, k] = low
                    continue
                total = 0.0
                for a in range(px * max(i - 1, 0), px * min(i + 2, nx)):
                    x = (a + 0.5) / px
                    wx = 1.0
                    if nx > 1 and not (i == 0 and x < 0.5) and not (i == nx - 1 and x > nx - 0.5):
                        wx = 1.0 - abs(x - i - 0.5)
                    if wx <= 0.0:
                        continue
                    for b in range(parts * max(j - 1, 0), parts * min(j + 2, ny)):
                        y = (b + 0.5) / parts
                        wy = wx
                        if not (j == 0 and y < 0.5) and not (j == ny - 1 and y > ny - 0.5):
                            wy = wx * (1.0 - abs(y - j - 0.5))
                        if wy <= 0.0:
                            continue
                        for c in range(parts * max(k - 1, 0), parts * min(k + 2, nz)):
                            z = (c + 0.5) / parts
                            wz = wy
                            if not (k == 0 and z < 0.5) and not (k == nz - 1 and z > nz - 0.5):
                                wz = wy * (1.0 - abs(z - k - 0.5))
                            if wz > 0.0:
                                total += wz * min(max(0.5 + _sample(solid, x, y, z) * parts, 0.0), 1.0)
                room[i, j, k] = total / (px * parts * parts)
