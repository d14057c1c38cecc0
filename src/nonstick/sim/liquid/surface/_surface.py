"""The liquid surface from particles, and its volume.

`φ(c) = T(|c - x̄|)`, x̄ the weighted mean of the particles within 1.5 cells of the centre c (weights (1 - s²)³,
s = distance/1.5 cells). Zhu & Bridson 2005 take T(δ) = δ - r. Here T makes φ the exact distance for a flat surface
above evenly filled space (`grid.levelset.flat_distance`), so that no radius has to be tuned to get the volume right.

Close to a wall only half of that neighbourhood can hold particles, which would bend the surface. So particles are
mirrored at walls: exactly at the sides of the grid, across the local tangent plane at other solids. Where a wall is
steep the mirror image lies along the horizontal, so that a level surface stays level up to a tilted wall. An image
along the normal would make the surface meet the wall at a right angle, and still water would not be still. Centres
inside a solid are evaluated at their mirror image. This extends φ into solids (a wall cell is liquid if there is liquid
next to it), and liquid separates from the wall as soon as the gap exceeds about half a cell. All lengths are in cells.
"""

import numpy as np

from ....grid._levelset import _eikonal, _normal, _tabulated, _towards_image
from ....kernels import merged, merged_sum, parallel, prange
from ....kernels._interpolate import _stride
from ..settings import SURFACE

RADIUS, SPRAY, WALL = SURFACE.radius, SURFACE.spray, SURFACE.wall
FILLED, CROWDED, DEEP, UNSURE = SURFACE.filled, SURFACE.crowded, SURFACE.deep, SURFACE.unsure
FARTHEST = SURFACE.farthest
#: φ deep in the liquid, and away from it
INSIDE, OUTSIDE = -1.0, RADIUS


def _surface_band(kind, start, centre, space, per_cell, closed):
    """kind[c] = 0: no particle near; 1: evaluate; 2: surrounded by well-filled cells, deep inside.

    A cell is well filled if it holds half the particles its open share has room for. Cells that are almost solid do
    not count, so that liquid next to a wall can be deep. `centre` is the wall distance at cell centres in cells.
    """
    flag, along, across = (np.empty(kind.shape, np.uint8) for _ in range(3))
    _gather_planes(flag, along, across, start, space, per_cell)
    _sort_cells(kind, across, centre, closed)


@parallel
def _gather_planes(flag, along, across, start, space, per_cell):
    """Bit 0: particles in the cell, bit 1: not well filled; then gathered over the neighbours in a plane."""
    nx, ny, nz = flag.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            row = (i * ny + j) * nz
            for k in range(nz):
                count = start[np.uintp(row + k + 1)] - start[np.uintp(row + k)]
                share = space[i, j, k]
                thin = share > 0.25 and count < FILLED * per_cell * share
                flag[i, j, k] = (1 if count > 0 else 0) + (2 if thin else 0)
            for k in range(nz):
                low, high = max(k - 1, 0), min(k + 1, nz - 1)
                along[i, j, k] = flag[i, j, low] | flag[i, j, k] | flag[i, j, high]
        for j in range(ny):
            low, high = max(j - 1, 0), min(j + 1, ny - 1)
            for k in range(nz):
                across[i, j, k] = along[i, low, k] | along[i, j, k] | along[i, high, k]


@parallel
def _sort_cells(kind, across, centre, closed):
    """The kinds of cells from what their planes gathered; see `_surface_band`."""
    nx, ny, nz = kind.shape
    for plane in prange(nx):
        i = np.int64(plane)
        below, above = max(i - 1, 0), min(i + 1, nx - 1)
        for j in range(ny):
            for k in range(nz):
                some = across[below, j, k] | across[i, j, k] | across[above, j, k]
                side = i == 0 or j == 0 or k == 0 or i == nx - 1 or j == ny - 1 or k == nz - 1
                deep = centre[i, j, k] >= 0.0 and some & 2 == 0 and (closed or not side)
                # a centre in a wall may have particles only around its mirror image
                found = 1 if centre[i, j, k] < 0.0 else 0
                if some & 1 == 1:
                    found = 2 if deep else 1
                kind[i, j, k] = found if centre[i, j, k] >= -WALL else 0


@parallel
def _weigh(weight, start, space, per_cell):
    """weight[p] = 1; the particles of a crowded cell together have the weight of those of a full cell."""
    nx, ny, nz = space.shape
    step = _stride(nx)
    for turn in prange(nx):
        i = np.int64(turn) * step % nx
        for j in range(ny):
            for k in range(nz):
                q = (i * ny + j) * nz + k
                begin, end = start[np.uintp(q)], start[np.uintp(q + 1)]
                if end > begin:
                    share = per_cell * max(space[i, j, k], 0.1)
                    each = share / (end - begin) if end - begin > share else 1.0
                    for p in range(np.uintp(begin), np.uintp(end)):
                        weight[p] = each


@merged_sum
def _pull(x, weight, begin, end, f0, o0, f1, o1, f2, o2):
    """Sum of the weights of particles begin … end, and of weight times place; the place is f x + o on each axis."""
    total, c0, c1, c2 = 0.0, 0.0, 0.0, 0.0
    for p in range(np.uintp(begin), np.uintp(end)):
        d0, d1, d2 = f0 * x[0, p] + o0, f1 * x[1, p] + o1, f2 * x[2, p] + o2
        t = max(1.0 - (d0 * d0 + d1 * d1 + d2 * d2) * (1.0 / (RADIUS * RADIUS)), 0.0)
        t *= t * t * weight[p]
        total += t
        c0 += t * d0
        c1 += t * d1
        c2 += t * d2
    return total, c0, c1, c2


@merged_sum
def _pull_mirrored(x, weight, begin, end, f0, o0, f1, o1, f2, o2, s, n0, n1, n2, m0, m1, m2):
    """The same for the images of the particles in the tangent plane of a wall at distance s."""
    total, c0, c1, c2 = 0.0, 0.0, 0.0, 0.0
    for p in range(np.uintp(begin), np.uintp(end)):
        d0, d1, d2 = f0 * x[0, p] + o0, f1 * x[1, p] + o1, f2 * x[2, p] + o2
        e = 2.0 * (s + d0 * n0 + d1 * n1 + d2 * n2)
        d0 -= e * m0
        d1 -= e * m1
        d2 -= e * m2
        t = max(1.0 - (d0 * d0 + d1 * d1 + d2 * d2) * (1.0 / (RADIUS * RADIUS)), 0.0)
        t *= t * t * weight[p]
        total += t
        c0 += t * d0
        c1 += t * d1
        c2 += t * d2
    return total, c0, c1, c2


@parallel
def _surface_particles(phi, kind, x, weight, start, solid, centre, space, table, per_cell, closed, up):
    """φ at cell centres, in cells; OUTSIDE away from particles, INSIDE deep in the liquid.

    `space` is the open share of cells. `weight`, from `_weigh`, prevents crowded particles from pulling the mean
    towards them. A cell that holds half as many particles again as it has room for is liquid even if their mean lies
    far from its centre, so that particles crowded into a corner always get a pressure. A centre with less than SPRAY
    of a full neighbourhood around it is not liquid: one or two particles would be a drop of several times their volume,
    or nothing, depending on where they lie between centres. Where φ is near ½ anyway, a smaller share makes it ½ by
    degrees: a flat surface half a cell below the centre has just SPRAY, and noise would make its φ jump.
    """
    nx, ny, nz = phi.shape
    step = _stride(nx)
    few = SPRAY * per_cell * (0.25 * np.pi * RADIUS**2 if nx == 1 else 64.0 / 315.0 * np.pi * RADIUS**3)
    for turn in prange(nx):
        i = np.int64(turn) * step % nx
        for j in range(ny):
            for k in range(nz):
                if kind[i, j, k] == 0:
                    phi[i, j, k] = OUTSIDE
                    continue
                if kind[i, j, k] == 2:
                    phi[i, j, k] = INSIDE
                    continue
                a, b, c = i + 0.5, j + 0.5, k + 0.5
                s = centre[i, j, k]
                mirror = abs(s) < RADIUS
                n0, n1, n2 = 0.0, 0.0, 0.0
                m0, m1, m2 = 0.0, 0.0, 0.0  # direction of the mirror image, with n · m = 1
                if mirror:
                    n0, n1, n2 = _normal(solid, a, b, c)
                    m0, m1, m2 = _towards_image(n0, n1, n2, up)
                if s < 0.0:
                    a -= 2.0 * s * m0
                    b -= 2.0 * s * m1
                    c -= 2.0 * s * m2
                    s = -s
                ic = min(max(int(np.floor(a)), 0), nx - 1)
                jc = min(max(int(np.floor(b)), 0), ny - 1)
                kc = min(max(int(np.floor(c)), 0), nz - 1)
                total, c0, c1, c2 = 0.0, 0.0, 0.0, 0.0
                own = 0.0  # without images
                # the particles of neighbouring cells along the last axis follow each other in memory
                k0, k1 = max(kc - 1, 0), min(kc + 1, nz - 1)
                images = 0  # beyond the sides of the grid, along the last axis
                if closed and (kc == 0 or kc == nz - 1):
                    images = 2
                for di in range(-1, 2):
                    ii, f0, o0 = ic + di, 1.0, -a
                    if ii < 0 or ii >= nx:
                        if not closed or nx == 1:
                            continue
                        f0, o0 = -1.0, (0.0 if ii < 0 else 2.0 * nx) - a
                        ii = 0 if ii < 0 else nx - 1
                    for dj in range(-1, 2):
                        jj, f1, o1 = jc + dj, 1.0, -b
                        if jj < 0 or jj >= ny:
                            if not closed:
                                continue
                            f1, o1 = -1.0, (0.0 if jj < 0 else 2.0 * ny) - b
                            jj = 0 if jj < 0 else ny - 1
                        row = (ii * ny + jj) * nz
                        for image in range(1 + images):
                            low, high, f2, o2 = row + k0, row + k1 + 1, 1.0, -c
                            if image == 1:
                                if kc > 0:
                                    continue
                                low, high, f2 = row, row + 1, -1.0
                            if image == 2:
                                if kc < nz - 1:
                                    continue
                                low, high, f2, o2 = row + nz - 1, row + nz, -1.0, 2.0 * nz - c
                            begin, end = start[np.uintp(low)], start[np.uintp(high)]
                            if begin == end:
                                continue
                            t, e0, e1, e2 = _pull(x, weight, begin, end, f0, o0, f1, o1, f2, o2)
                            total += t
                            if f0 > 0.0 and f1 > 0.0 and f2 > 0.0:
                                own += t
                            c0 += e0
                            c1 += e1
                            c2 += e2
                            if mirror:
                                t, e0, e1, e2 = _pull_mirrored(
                                    x, weight, begin, end, f0, o0, f1, o1, f2, o2, s, n0, n1, n2, m0, m1, m2
                                )
                                total += t
                                c0 += e0
                                c1 += e1
                                c2 += e2
                value = OUTSIDE
                if total > 0.0:
                    value = _tabulated(table, np.sqrt(c0 * c0 + c1 * c1 + c2 * c2) / total / RADIUS * (table.size - 1))
                if own < few and value < 0.5:
                    width = 0.6 * few * min(max(8.0 * (value - 0.25), 0.0), 1.0)
                    value += (0.5 - value) * (min((few - own) / width, 1.0) if width > 0.0 else 1.0)
                q = (i * ny + j) * nz + k
                if start[q + 1] - start[q] > CROWDED * per_cell * max(space[i, j, k], 0.5):
                    value = min(value, -0.25)
                phi[i, j, k] = min(max(value, INSIDE), OUTSIDE)


@parallel
def _fill_holes(phi, source, centre, wu, wv, ww):
    """Make cells liquid that cannot be air: φ = -½. `source` is a copy of φ.

    There are two cases. The first is a single cell with liquid behind all its open faces: a gap between particles,
    which would act as a drain of zero pressure. The second is a cell with its centre in a solid and deep liquid (φ <
    -DEEP) behind an open face: in corners of the solid there is no tangent plane for mirroring. (If liquid has left a
    wall by half a cell, the wall has no deep liquid next to it.)
    """
    nx, ny, nz = phi.shape
    step = _stride(nx)
    for turn in prange(nx):
        i = np.int64(turn) * step % nx
        for j in range(ny):
            for k in range(nz):
                if source[i, j, k] < 0.0 or (source[i, j, k] >= OUTSIDE - 0.3 and not _near_liquid(source, i, j, k)):
                    continue
                faces, wet, deep = 0, 0, 0
                for face in range(6):
                    a, b, c = i, j, k
                    if face == 0:
                        a, w = i - 1, wu[i, j, k] if nx > 1 else 0.0
                    elif face == 1:
                        a, w = i + 1, wu[i + 1, j, k] if nx > 1 else 0.0
                    elif face == 2:
                        b, w = j - 1, wv[i, j, k]
                    elif face == 3:
                        b, w = j + 1, wv[i, j + 1, k]
                    elif face == 4:
                        c, w = k - 1, ww[i, j, k]
                    else:
                        c, w = k + 1, ww[i, j, k + 1]
                    if w > 0.0:  # closed faces include those on the sides of the grid, so the neighbour exists
                        faces += 1
                        if source[a, b, c] < 0.0:
                            wet += 1
                        if source[a, b, c] < min(-DEEP, source[i, j, k] - 1.4):
                            deep += 1
                if (faces > 0 and wet == faces) or (deep > 0 and centre[i, j, k] < 0.0):
                    phi[i, j, k] = -0.5


@merged
def _near_liquid(phi, i, j, k):
    nx, ny, nz = phi.shape
    return (
        (i > 0 and phi[i - 1, j, k] < 0.0)
        or (i + 1 < nx and phi[i + 1, j, k] < 0.0)
        or (j > 0 and phi[i, j - 1, k] < 0.0)
        or (j + 1 < ny and phi[i, j + 1, k] < 0.0)
        or (k > 0 and phi[i, j, k - 1] < 0.0)
        or (k + 1 < nz and phi[i, j, k + 1] < 0.0)
    )


@parallel
def _volume_planes(partial, phi, space, offset, start, per_cell):
    """partial[i] = liquid volume in plane i, in cells: open share of each cell times clip(½ - φ, 0, 1).

    Particles in cells that hold no part of the level set, before it is moved by `offset`, and touch no liquid cell
    are spray and count by their number. An empty `start` means no particles.
    """
    nx, ny, nz = phi.shape
    step = _stride(nx)
    for turn in prange(nx):
        i = np.int64(turn) * step % nx
        s = 0.0
        for j in range(ny):
            for k in range(nz):
                part = space[i, j, k] * min(max(0.5 - phi[i, j, k] - offset, 0.0), 1.0)
                if phi[i, j, k] >= 0.5 and start.size > 0:
                    q = (i * ny + j) * nz + k
                    if start[q + 1] > start[q] and not _near_liquid(phi, i, j, k):
                        part = max(part, min((start[q + 1] - start[q]) / per_cell, 1.0))
                s += part
        partial[i] = s


@merged
def _press(moved, centre, pressure, least, i, j, k):
    """How far the liquid in a cell and those around it presses on walls, from 0 to 1: by the least of its pressures."""
    nx, ny, nz = pressure.shape
    lowest = 2.0 * least
    for a in range(max(i - 1, 0), min(i + 2, nx)):
        for b in range(max(j - 1, 0), min(j + 2, ny)):
            for c in range(max(k - 1, 0), min(k + 2, nz)):
                if moved[a, b, c] < 0.0 and centre[a, b, c] >= 0.0:
                    lowest = min(lowest, pressure[a, b, c])
    return max(lowest / least - 1.0, 0.0) if least > 0.0 else 0.0


@merged
def _air_around(moved, centre, up, i, j, k):
    """True if one of the cells around is in air: outside solids, or in a solid above, where the surface goes on."""
    nx, ny, nz = moved.shape
    for a in range(max(i - 1, 0), min(i + 2, nx)):
        for b in range(max(j - 1, 0), min(j + 2, ny)):
            for c in range(max(k - 1, 0), min(k + 2, nz)):
                rise = (a - i) * up[0] + (b - j) * up[1] + (c - k) * up[2]
                if moved[a, b, c] >= 0.0 and (centre[a, b, c] >= 0.0 or rise > 0.0):
                    return True
    return False


@parallel
def _correct(phi, moved, centre, sticky, pressure, least, up, unsure):
    """φ of particles becomes that of the surface that has moved with the liquid, where the two agree.

    The distance to a surface of particles is off by up to `unsure`, by chance of where they lie, and at a wall by three
    times as much, because half of the places around are in it. Where the two differ by less, the surface that has moved
    is right, where they differ by twice as much the particles are, and in between the difference fades. Only particles
    tell how liquid leaves a wall: at walls that are not `sticky` the surface that has moved does not count where the
    `pressure` of the last step was not above `least`, and counts in full from twice that (there is none before the
    first). In the liquid at a wall particles do not tell how deep: where both say liquid, the surface that has moved
    counts, unless it is the nearer one and no cell around is in air. Then a front has rolled over the wall: liquid that
    stands still there would keep a film of air below it. Cells with their centres in walls stay: see
    `_continue_at_walls`.
    """
    nx, ny, nz = phi.shape
    step = _stride(nx)
    for turn in prange(nx):
        i = np.int64(turn) * step % nx
        for j in range(ny):
            for k in range(nz):
                if centre[i, j, k] < 0.0:
                    continue
                own = phi[i, j, k]
                more, most, deep = moved[i, j, k] - own, unsure, False
                if own >= OUTSIDE or (abs(more) >= 2.0 * (3.0 * unsure) and (own >= 0.0 or more >= 0.0)):
                    continue
                side = j == 0 or j == ny - 1 or k == 0 or k == nz - 1 or (nx > 1 and (i == 0 or i == nx - 1))
                if side or centre[i, j, k] < RADIUS:
                    press = 1.0
                    if pressure.size > 0 and sticky[i, j, k] == 0:
                        press = _press(moved, centre, pressure, least, i, j, k)
                    most, deep = press * 3.0 * unsure, press == 1.0 and own < 0.0 and moved[i, j, k] < 0.0
                if deep:
                    if more < 0.0 or _air_around(moved, centre, up, i, j, k):
                        phi[i, j, k] = moved[i, j, k]
                elif INSIDE <= own < OUTSIDE and abs(more) < 2.0 * most:
                    phi[i, j, k] = own + np.sign(more) * min(abs(more), 2.0 * most - abs(more))


@parallel
def _continue_at_walls(phi, continued, liquid, centre, sticky, pressure, least):
    """φ at centres in walls is that `continued` from the liquid before them, as far as it presses on the wall.

    The mirror images of particles would make the surface meet the wall at a right angle. Where nothing is continued
    (NaN) φ stays. `liquid` is negative where the pressure is that of liquid; the others are those of `_correct`.
    """
    nx, ny, nz = phi.shape
    step = _stride(nx)
    for turn in prange(nx):
        i = np.int64(turn) * step % nx
        for j in range(ny):
            for k in range(nz):
                if centre[i, j, k] >= 0.0 or np.isnan(continued[i, j, k]):
                    continue
                press = 1.0
                if pressure.size > 0 and sticky[i, j, k] == 0:
                    press = _press(liquid, centre, pressure, least, i, j, k)
                phi[i, j, k] += press * (continued[i, j, k] - phi[i, j, k])


@parallel
def _widen(phi, source, centre):
    """φ by |∇φ| = 1 where |φ| is at least -INSIDE, from the cells that are nearer to the surface; `source` is a copy.

    Signs stay, and centres in solids are neither changed nor used.
    """
    nx, ny, nz = phi.shape
    out, flat, away = phi.reshape(-1), source.reshape(-1), centre.reshape(-1)
    step = _stride(nx)
    for turn in prange(nx):
        i = np.int64(turn) * step % nx
        west, east = -ny * nz if i > 0 else 0, ny * nz if i + 1 < nx else 0
        for j in range(ny):
            down, up = -nz if j > 0 else 0, nz if j + 1 < ny else 0
            row = (i * ny + j) * nz
            for k in range(nz):
                t = row + k
                own = flat[np.uintp(t)]
                if abs(own) < -INSIDE or away[np.uintp(t)] < 0.0:
                    continue
                sign = 1.0 if own > 0.0 else -1.0
                # most cells are far from the surface, and so are those beside them
                back, front = -1 if k > 0 else 0, 1 if k + 1 < nz else 0
                a = min(sign * flat[np.uintp(t + west)], sign * flat[np.uintp(t + east)])
                b = min(sign * flat[np.uintp(t + down)], sign * flat[np.uintp(t + up)])
                c = min(sign * flat[np.uintp(t + back)], sign * flat[np.uintp(t + front)])
                out[np.uintp(t)] = sign * FARTHEST
                if min(a, b, c) < FARTHEST - 1.0:
                    a, b, c = _nearest_neighbours(source, centre, sign, i, j, k)
                    if min(a, b, c) < FARTHEST - 1.0:
                        out[np.uintp(t)] = sign * min(max(_eikonal(a, b, c), -INSIDE), FARTHEST)


@merged
def _nearest_neighbours(source, centre, sign, i, j, k):
    """The least of sign · φ of the two neighbours outside solids along each axis; 1000 if there is none."""
    nx, ny, nz = source.shape
    a, b, c = 1e3, 1e3, 1e3
    if i > 0 and centre[i - 1, j, k] >= 0.0:
        a = sign * source[i - 1, j, k]
    if i + 1 < nx and centre[i + 1, j, k] >= 0.0:
        a = min(a, sign * source[i + 1, j, k])
    if j > 0 and centre[i, j - 1, k] >= 0.0:
        b = sign * source[i, j - 1, k]
    if j + 1 < ny and centre[i, j + 1, k] >= 0.0:
        b = min(b, sign * source[i, j + 1, k])
    if k > 0 and centre[i, j, k - 1] >= 0.0:
        c = sign * source[i, j, k - 1]
    if k + 1 < nz and centre[i, j, k + 1] >= 0.0:
        c = min(c, sign * source[i, j, k + 1])
    return a, b, c


#: φ is replaced between these distances from the surface, in cells; farther away it is not needed
NEAR, FAR = 0.5, -INSIDE


@parallel
def _straighten(phi, source, centre):
    """φ by |∇φ| = 1 where NEAR < |φ| < FAR, exact for flat surfaces; `source` is a copy of φ.

    The particles around a centre tell well how far the surface is if it is closer than half a cell. Farther away they
    are all around the centre, or hardly there, and φ is off by up to a tenth of a cell. The surface lies where φ is
    zero between two centres, so this moved it by a fiftieth of a cell: a film was as much too deep or too thin.

    Signs stay, and so do cells with |φ| <= NEAR, and with them the volume that φ encloses. Centres in solids, where
    `centre` is negative, are neither changed nor used: their φ is that of a mirror image.
    """
    nx, ny, nz = phi.shape
    step = _stride(nx)
    for turn in prange(nx):
        i = np.int64(turn) * step % nx
        for j in range(ny):
            for k in range(nz):
                own = source[i, j, k]
                if not NEAR < abs(own) < FAR or centre[i, j, k] < 0.0:
                    continue
                sign = 1.0 if own > 0.0 else -1.0
                a, b, c = _nearest_neighbours(source, centre, sign, i, j, k)
                if min(a, b, c) < NEAR:
                    phi[i, j, k] = sign * min(max(_eikonal(a, b, c), NEAR), FAR)
