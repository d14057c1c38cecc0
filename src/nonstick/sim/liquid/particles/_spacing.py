"""Crowded cells, and the displacement that thins them out."""

import numpy as np
from numba import prange

from ....discretise._pressure import _lightness
from ....kernels import parallel, serial


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
                way = _lightness(open_share[i, j, k], mass[i, j, k]) * (q[a, b, c] - q[i, j, k])
                out[i, j, k] = min(max(way, -limit), limit)


@serial
def _wall_cells(cell, axis, low, height, space, w0, w1, w2, first, flat):
    """List the cells with a wall across one axis on one side; returns their number.

    `low` is True if the wall is on the lower side, `height` is the open height of the cell above the wall. The wall
    must be flat: the open shares of the other faces may differ from the height by at most `flat`. A cell at an edge is
    listed once for each wall. With `cell` of size 0 the cells are only counted.
    """
    nx, ny, nz = space.shape
    count = 0
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                share = space[i, j, k]
                if share < 0.3:
                    continue
                for a in range(first, 3):
                    below, above, around = 0.0, 0.0, 0.0
                    for b in range(first, 3):
                        if b == 0:
                            one, other = w0[i, j, k], w0[i + 1, j, k]
                        elif b == 1:
                            one, other = w1[i, j, k], w1[i, j + 1, k]
                        else:
                            one, other = w2[i, j, k], w2[i, j, k + 1]
                        if b == a:
                            below, above = one, other
                        else:  # closed sides belong to other walls
                            around = max(around, abs(one - share) if one > 0.0 else 0.0)
                            around = max(around, abs(other - share) if other > 0.0 else 0.0)
                    if around > flat or (below == 0.0) == (above == 0.0) or max(below, above) < 1.0 - flat:
                        continue
                    if count < cell.size:
                        cell[count] = (i * ny + j) * nz + k
                        axis[count], low[count], height[count] = a, below == 0.0, share
                    count += 1
    return count


@parallel
def _spread(moved, x, start, cell, height, a, low, phi, pressure, least, strength, margin):
    """Spread the particles at walls evenly along the normal, in columns of two cells; moved[q] sums up their ways.

    `cell` lists cells with a wall on the lower (`low`) or upper side of axis a, `height` their open height; the column
    is this cell and the next one. Of its n particles the r-th from the wall belongs into the r-th of n equal layers. A
    particle outside the inner half of its layer moves just into it, by the share `strength`. (With longer ways more
    energy goes round: other stages move particles back.) Two kinds of columns are left out: those that end at a
    surface, because they are not full, and those whose pressure at the wall is at most `least`, because liquid that
    leaves a wall must not be pulled back.
    """
    flat, pressed = phi.reshape(-1), pressure.reshape(-1)
    stride0, stride1 = phi.shape[1] * phi.shape[2], phi.shape[2]
    stride = stride0 if a == 0 else (stride1 if a == 1 else 1)
    step = stride if low else -stride
    for q in prange(cell.size):
        c = cell[q]
        moved[q] = 0.0
        at = c // stride0 if a == 0 else ((c // stride1) % phi.shape[1] if a == 1 else c % phi.shape[2])
        behind = phi.shape[a] - 1 - at if low else at
        if behind < 2 or pressed[c] <= least:
            continue
        if flat[c] >= 0.0 or flat[c + step] >= 0.0 or flat[c + 2 * step] >= 0.0:
            continue
        wall = at + 1.0 - height[q] if low else at + height[q]
        way = (1.0 if low else -1.0) / (height[q] + 1.0)
        here = start[c + 1] - start[c]
        n = here + start[c + step + 1] - start[c + step]
        place = np.empty(n)
        for r in range(n):
            p = start[c] + r if r < here else start[c + step] + r - here
            place[r] = min(max(way * (x[a, p] - wall), 0.0), 1.0)
        for r in range(n):
            t, rank = place[r], 0
            for o in range(n):
                if place[o] < t or (place[o] == t and o < r):
                    rank += 1
            middle = (rank + 0.5) / n
            if abs(t - middle) > 0.25 / n:
                edge = middle + (0.2 / n if t > middle else -0.2 / n)
                t += strength * (edge - t)
                p = start[c] + r if r < here else start[c + step] + r - here
                to = wall + max(t, margin) / way
                moved[q] += to - x[a, p]
                x[a, p] = to
