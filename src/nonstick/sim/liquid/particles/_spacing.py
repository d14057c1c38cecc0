"""Crowded cells, and the displacement that thins them out."""

import numpy as np

from ....discretise._pressure import _lightness
from ....kernels import merged, parallel, prange


@parallel
def _crowding(excess, inside, density, per_cell, room, phi, pressure, least):
    """excess = density / per_cell - room in liquid cells, 0 in others; `inside` is 1 in cells that may also contract.

    A cell with air beside it may be less than full. Inside the liquid, thin cells contract too, if their pressure
    exceeds `least`: liquid that has fallen on a wall must close the gap, but liquid that leaves a wall must not be
    pulled back. Cells with little room are omitted.
    """
    nx, ny, nz = excess.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                excess[i, j, k] = 0.0
                inside[i, j, k] = 0
                if phi[i, j, k] < 0.0 and room[i, j, k] > 0.3:
                    excess[i, j, k] = density[i, j, k] / per_cell - room[i, j, k]
                    deep = pressure[i, j, k] > least
                    deep = deep and (i == 0 or phi[i - 1, j, k] < 0.0 or room[i - 1, j, k] < 0.3)
                    deep = deep and (i == nx - 1 or phi[i + 1, j, k] < 0.0 or room[i + 1, j, k] < 0.3)
                    deep = deep and (j == 0 or phi[i, j - 1, k] < 0.0 or room[i, j - 1, k] < 0.3)
                    deep = deep and (j == ny - 1 or phi[i, j + 1, k] < 0.0 or room[i, j + 1, k] < 0.3)
                    deep = deep and (k == 0 or phi[i, j, k - 1] < 0.0 or room[i, j, k - 1] < 0.3)
                    deep = deep and (k == nz - 1 or phi[i, j, k + 1] < 0.0 or room[i, j, k + 1] < 0.3)
                    inside[i, j, k] = deep


@parallel
def _expansion(source, excess, inside, strength, noise, slack, limit):
    """How far each liquid cell should expand, in cells, at most `limit`.

    Inside the liquid the mean of the cells around counts only beyond `noise`: what a cell has more, others have less,
    and particles trade places. Otherwise liquid at rest would rise and sink with the noise of its particles, and that
    is energy. Beside air only crowding beyond `slack` counts. (Without slack only one sign of the noise would count,
    and the liquid would swell.)
    """
    nx, ny, nz = source.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                value = excess[i, j, k]
                if inside[i, j, k]:
                    total, count = 0.0, 0
                    for a in range(max(i - 1, 0), min(i + 2, nx)):
                        for b in range(max(j - 1, 0), min(j + 2, ny)):
                            for c in range(max(k - 1, 0), min(k + 2, nz)):
                                if inside[a, b, c]:
                                    total += excess[a, b, c]
                                    count += 1
                    mean = total / count
                    value -= min(max(mean, -noise), noise)
                else:
                    value = max(value - slack, 0.0)
                source[i, j, k] = strength * min(max(value, -0.5), limit)


@parallel
def _displace(out, q, open_share, mass, axis, limit):
    """Displacement at the faces of one axis down the potential q: w/m (q_low - q_high), at most `limit`.

    q is 0 in air; the displacement is 0 at closed faces.
    """
    nx, ny, nz = out.shape
    cx, cy, cz = q.shape
    for turn in prange(nx * ny):
        row = np.int64(turn)
        i, j = row // ny, row % ny
        for k in range(nz):
            a, b, c = i - (axis == 0), j - (axis == 1), k - (axis == 2)
            out[i, j, k] = 0.0
            if a >= 0 and b >= 0 and c >= 0 and i < cx and j < cy and k < cz:
                fall = q[a, b, c] - q[i, j, k]
                if fall != 0.0:
                    way = _lightness(open_share[i, j, k], mass[i, j, k]) * fall
                    out[i, j, k] = min(max(way, -limit), limit)


@merged
def _gap(x, first, end, axis, corner, h, at_low):
    """Twice the distance of the mean place of particles from the middle of their space h, away from a wall, over h.

    `corner` is the low end of the cell along the axis; the wall is there, or at the other end.
    """
    mean = 0.0
    for p in range(first, end):
        mean += x[axis, p]
    mean = mean / (end - first) - corner
    height = mean - (1.0 - h) if at_low else h - mean
    return 2.0 * height / h - 1.0


@parallel
def _centre(out, x, start, inside, space, open_share, axis, strength, limit):
    """Displacement at closed faces of one axis: brings the particles of the cells beside to the middle of their space.

    Over the height h of a cell the displacement is linear, 0 on the other side. At the wall it is twice the distance of
    the mean place from h/2, over h: particles that fill the space but for a gap at the wall fill all of it. The cell
    must be inside the liquid, and open on the other side. If liquid lies on both sides of the face, both count.
    """
    nx, ny, nz = out.shape
    cx, cy, cz = inside.shape
    di, dj, dk = int(axis == 0), int(axis == 1), int(axis == 2)
    for turn in prange(nx * ny):
        row = np.int64(turn)
        i, j = row // ny, row % ny
        for k in range(nz):
            if open_share[i, j, k] > 0.0:
                continue
            way = 0.0
            corner = i if axis == 0 else j if axis == 1 else k
            if i < cx and j < cy and k < cz and inside[i, j, k] and open_share[i + di, j + dj, k + dk] >= 1.0:
                cell = (i * cy + j) * cz + k
                if start[cell + 1] > start[cell]:
                    gap = _gap(x, start[cell], start[cell + 1], axis, corner, space[i, j, k], True)
                    way -= min(max(strength * gap, -limit), limit)
            a, b, c = i - di, j - dj, k - dk
            if a >= 0 and b >= 0 and c >= 0 and inside[a, b, c] and open_share[a, b, c] >= 1.0:
                cell = (a * cy + b) * cz + c
                if start[cell + 1] > start[cell]:
                    gap = _gap(x, start[cell], start[cell + 1], axis, corner - 1, space[a, b, c], False)
                    way += min(max(strength * gap, -limit), limit)
            out[i, j, k] = way
