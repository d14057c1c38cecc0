"""Crowded cells, and the displacement that thins them out."""

import numpy as np
from numba import prange

from ...kernels import parallel


@parallel
def _crowding(source, density, room, phi, pressure, least, strength, slack, limit):
    """How far each liquid cell should expand: strength · (density - room), both in cells, at most `limit`.

    A cell with air beside it may be less than full, so only crowding beyond `slack` counts there. (Without slack only
    one sign of the noise would count, and the liquid would swell.) Inside the liquid, thin cells contract too, if their
    pressure exceeds `least`: liquid that has fallen on a wall must close the gap, but liquid that leaves a wall must
    not be pulled back. Cells with little room are omitted.
    """
    nx, ny, nz = source.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                value = 0.0
                if phi[i, j, k] < 0.0 and room[i, j, k] > 0.3:
                    value = density[i, j, k] - room[i, j, k]
                    inside = pressure[i, j, k] > least
                    inside = inside and (i == 0 or phi[i - 1, j, k] < 0.0 or room[i - 1, j, k] < 0.3)
                    inside = inside and (i == nx - 1 or phi[i + 1, j, k] < 0.0 or room[i + 1, j, k] < 0.3)
                    inside = inside and (j == 0 or phi[i, j - 1, k] < 0.0 or room[i, j - 1, k] < 0.3)
                    inside = inside and (j == ny - 1 or phi[i, j + 1, k] < 0.0 or room[i, j + 1, k] < 0.3)
                    inside = inside and (k == 0 or phi[i, j, k - 1] < 0.0 or room[i, j, k - 1] < 0.3)
                    inside = inside and (k == nz - 1 or phi[i, j, k + 1] < 0.0 or room[i, j, k + 1] < 0.3)
                    if not inside:
                        value = max(value - slack, 0.0)
                source[i, j, k] = strength * min(max(value, -0.5), limit)


@parallel
def _displace(out, q, liquid, open_share, axis, limit):
    """Displacement at the faces of one axis down the potential q: q_low - q_high, at most `limit`.

    q is 0 in air; the displacement is 0 at closed faces.
    """
    nx, ny, nz = out.shape
    cx, cy, cz = q.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = 0.0
                if open_share[i, j, k] <= 0.0:
                    continue
                a, b, c = i - (axis == 0), j - (axis == 1), k - (axis == 2)
                if a < 0 or b < 0 or c < 0 or i >= cx or j >= cy or k >= cz:
                    continue
                if liquid[a, b, c] < 0.0 or liquid[i, j, k] < 0.0:
                    out[i, j, k] = min(max(q[a, b, c] - q[i, j, k], -limit), limit)
