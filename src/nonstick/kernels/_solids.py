"""Room that solids leave in cells."""

import numpy as np
from numba import prange

from . import parallel
from ._interpolate import _sample


@parallel
def _open_space(space, solid, parts):
    """Share of each cell outside solids, from the nodal distance in cells.

    A cell whose nodes all lie on one side is full or empty; another is cut into parts^d pieces, each
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
def _known_faces(known, open_share, mass, phi, axis, with_liquid):
    """1 on faces whose velocity is meaningful: particles reach it, or it borders a liquid cell.

    With `with_liquid` closed faces (open share 0) are unknown whatever reaches them.
    """
    nx, ny, nz = known.shape
    cx, cy, cz = phi.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                good = mass[i, j, k] > 1e-9
                if with_liquid:
                    if open_share[i, j, k] <= 0.0:
                        good = False
                    elif not good:
                        a = phi[max(i - (axis == 0), 0), max(j - (axis == 1), 0), max(k - (axis == 2), 0)]
                        b = phi[min(i, cx - 1), min(j, cy - 1), min(k, cz - 1)]
                        good = a < 0.0 or b < 0.0
                known[i, j, k] = 1 if good else 0


@parallel
def _keep_known(largest, u, known):
    """Unknown values become 0; largest[r] = max|u| of the known ones along row r of the last axis."""
    nx, ny, nz = u.shape
    flat, have = u.reshape(-1), known.reshape(-1)
    for row in prange(nx * ny):
        best = 0.0
        begin = np.uintp(row) * np.uintp(nz)
        for t in range(begin, begin + np.uintp(nz)):
            value = flat[t] if have[t] == 1 else 0.0
            flat[t] = value
            best = max(best, abs(value))
        largest[row] = best


@parallel
def _crowding(source, density, room, phi, pressure, least, strength, slack, limit):
    """How far each liquid cell should expand: strength · (density - 1), from particles per open room.

    Cells with air beside them are rightly less than full, so only crowding beyond `slack` counts there (without
    slack, one side of the noise would be taken and the liquid swell); inside, thin cells are drawn together too,
    if their pressure exceeds `least`: liquid that leaves a wall must not be pulled back, liquid that has come down
    on one must close the gap. Cells with little room are left to their neighbours.
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
    """Displacement at the faces of one axis that relieves the potential q: q_low - q_high, limited.

    q is 0 in air; closed faces do not move.
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


@parallel
def _collide_velocity(u, open_share, wall):
    """Closed faces take the wall's velocity."""
    flat, o, s = u.reshape(-1), open_share.reshape(-1), wall.reshape(-1)
    for t in prange(flat.size):
        if o[t] <= 0.0:
            flat[t] = s[t]


@parallel
def _room(room, space, solid, parts):
    """What `_scatter_density` gives for evenly filled open space: ∫ hat over the open part, per cell centre.

    Where a cell around is cut, by parts^d points per cell; the hat of a cell at the side of the grid is
    one up to the side, because scattering clamps there.
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


def smooth(field: np.ndarray) -> np.ndarray:
    """A field over cells smoothed by ⅛-¾-⅛ along every axis."""
    out = field
    for axis in range(3):
        if field.shape[axis] == 1:
            continue
        pad = [(1, 1) if a == axis else (0, 0) for a in range(3)]
        p = np.pad(out, pad, mode="edge")
        n = out.shape[axis]
        first, middle, last = (p.take(range(s, s + n), axis) for s in (0, 1, 2))
        out = 0.125 * (first + last) + 0.75 * middle
    return np.ascontiguousarray(out)
