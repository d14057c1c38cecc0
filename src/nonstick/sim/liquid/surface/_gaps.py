"""Gaps between walls and the liquid along them.

The level set counts particles together with their mirror images at walls, so a wall cell stays liquid until the gap
is about half a cell wide. The pressure needs this, but the gap is not liquid. Its width follows from the mean x̄ of the
particles around a cell centre c without images. For liquid whose flat surface lies at distance g from the wall,
`T((x̄ - c) · n) = g - s`, s the distance of the centre from the wall, n the wall's normal, T as in `_surface`. All
lengths are in cells.
"""

import numpy as np

from ....grid._levelset import _normal
from ....kernels import merged, parallel, prange
from ....kernels._interpolate import _stride
from ..settings import SURFACE
from ._surface import RADIUS, WALL, _pull

SLACK, FULL = SURFACE.slack, SURFACE.full


@merged
def _width(table, s, along):
    """Gap at a wall at distance s from a centre; the mean of particles lies `along` further from the wall."""
    at = max(along, 0.0) / RADIUS * (table.size - 1)
    q = min(int(at), table.size - 2)
    return s + table[q] + (at - q) * (table[q + 1] - table[q])


@merged
def _lost(g, s, space):
    """Part of a cell that a gap of width g takes, at a wall at distance s from its centre."""
    return min(max(g - max(s - 0.5, 0.0), 0.0), space)


@parallel
def _gap_planes(partial, phi, x, weight, start, solid, centre, space, pressure, least, table, per_cell):
    """partial[i] = volume of the gaps in plane i, in cells, that `_volume_planes` counts as liquid.

    `weight` is the weight of each particle, from `_surface._weigh`.

    In cells under pressure (above `least`) only the part of a gap beyond SLACK counts. A smaller gap there is about to
    be closed by liquid that has just fallen, or it is noise of the particles, of which only one sign would count.
    """
    nx, ny, nz = phi.shape
    step = _stride(nx)
    for turn in prange(nx):
        i = np.int64(turn) * step % nx
        sum_here = 0.0
        for j in range(ny):
            for k in range(nz):
                s = centre[i, j, k]
                low0, high0 = nx > 1 and i == 0, nx > 1 and i == nx - 1
                side = low0 or high0 or j == 0 or j == ny - 1 or k == 0 or k == nz - 1
                if phi[i, j, k] >= 0.5 or space[i, j, k] <= 0.0 or not (side or abs(s) < WALL):
                    continue
                slack = 0.0
                if abs(pressure[i, j, k]) > least:
                    slack = SLACK
                    here = (i * ny + j) * nz + k
                    if start[here + 1] - start[here] >= FULL * per_cell * space[i, j, k]:
                        continue
                total, c0, c1, c2 = 0.0, 0.0, 0.0, 0.0
                low, high = max(k - 1, 0), min(k + 2, nz)
                for a in range(max(i - 1, 0), min(i + 2, nx)):
                    for b in range(max(j - 1, 0), min(j + 2, ny)):
                        row = (a * ny + b) * nz
                        begin, end = start[np.uintp(row + low)], start[np.uintp(row + high)]
                        t, e0, e1, e2 = _pull(x, weight, begin, end, 1.0, -i - 0.5, 1.0, -j - 0.5, 1.0, -k - 0.5)
                        total += t
                        c0 += e0
                        c1 += e1
                        c2 += e2
                if total <= 0.0:
                    continue
                c0, c1, c2 = c0 / total, c1 / total, c2 / total
                lost = 0.0
                if low0 or high0:
                    lost += _lost(_width(table, 0.5 - slack, c0 if low0 else -c0), 0.5, 1.0)
                if j == 0 or j == ny - 1:
                    lost += _lost(_width(table, 0.5 - slack, c1 if j == 0 else -c1), 0.5, 1.0)
                if k == 0 or k == nz - 1:
                    lost += _lost(_width(table, 0.5 - slack, c2 if k == 0 else -c2), 0.5, 1.0)
                if abs(s) < WALL:
                    n0, n1, n2 = _normal(solid, i + 0.5, j + 0.5, k + 0.5)
                    lost += _lost(_width(table, s - slack, c0 * n0 + c1 * n1 + c2 * n2), s, 1.0)
                # at most the volume of the cell
                sum_here += min(lost, space[i, j, k] * min(max(0.5 - phi[i, j, k], 0.0), 1.0))
        partial[i] = sum_here
