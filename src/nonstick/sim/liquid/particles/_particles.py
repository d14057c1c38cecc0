"""Particles on a MAC grid: sorting by cell, particle → grid, grid → particle, moves, density.

Arrays shared by all kernels: `x` (3, n) positions in cells from the lower corner of the grid, `vel` (3, n) velocities
in m/s, `aff` (9, n) rows of the APIC matrix in (m/s) per cell. A 2D grid is a 3D grid whose first axis has one cell:
positions sit at 0.5 there, `first` = 1 skips the component of that axis, and clamped indices interpolate exactly.

Particles are kept sorted by cell (`start[c]` is the first particle of cell c). Scattering runs over blocks
of four planes, all even blocks and then all odd ones: a block writes at most two planes beyond itself, so blocks of one
colour never write to the same plane, and every sum has the same order for any number of threads.

The lines that find the place of a particle between faces and between centres (`i, fx = _between_faces(…)` and so on)
are repeated in each kernel that needs them, on purpose. These loops take a large part of a step and are tuned in this
form. A common function would return up to fifteen numbers, and each caller needs different ones.
"""

from typing import NamedTuple

import numpy as np

from ....kernels import merged, parallel, prange, serial
from ....kernels._interpolate import (
    _between_centres,
    _between_faces,
    _count,
    _lower_centre,
    _mix_slope,
    _sample,
    _splat,
    _splat_pairs,
    _velocity,
    prefetch,
)
from ....kernels._lanes import LANES, choose, load, spread, store
from ..settings import LOOPS

BLOCK, BATCH, AHEAD = LOOPS.block, LOOPS.batch, LOOPS.ahead


@parallel
def _cell_of(cell, x, nx, ny, nz):
    """Linear index of the cell of every particle."""
    a, b, c = x[0], x[1], x[2]
    for turn in prange(cell.size):
        p = np.uintp(turn)
        i = np.int32(min(max(a[p], 0.0), nx - 1.0))
        j = np.int32(min(max(b[p], 0.0), ny - 1.0))
        k = np.int32(min(max(c[p], 0.0), nz - 1.0))
        cell[p] = (i * ny + j) * nz + k


@serial
def _sort_by_cell(order, start, cell):
    """Stable counting sort: `order[t]` is the particle that comes t-th, `start` the first of each cell."""
    start[:] = 0
    for p in range(cell.size):
        start[cell[p] + 1] += 1
    for c in range(start.size - 1):
        start[c + 1] += start[c]
    # start[c] is the cursor of cell c and ends as start[c + 1]; it is shifted back afterwards
    for p in range(cell.size):
        c = cell[p]
        order[start[c]] = p
        start[c] += 1
    for c in range(start.size - 1, 0, -1):
        start[c] = start[c - 1]
    start[0] = 0


@parallel
def _take_entries(out, column, order):
    """out[t] = column[order[t]]"""
    for t in prange(order.size):
        out[t] = column[np.uintp(order[t])]


@merged
def _block_of(start, plane, t, count, colour):
    """The particles of the t-th of `count` blocks of a colour: first, and one past the last.

    Successive turns go to distant blocks, so that a static schedule shares the liquid among threads.
    """
    planes, half = (start.size - 1) // plane, (count + 1) // 2
    block = 2 * (2 * t if t < half else 2 * (t - half) + 1) + colour
    return start[block * BLOCK * plane], start[min((block + 1) * BLOCK, planes) * plane]


@merged
def _hat(x, p, nx, ny, nz):
    """The eight cell centres around a particle: the first in a flat array, the strides, and the place between them."""
    i0, i1, fx = _between_centres(x[0, p], nx)
    j0, j1, fy = _between_centres(x[1, p], ny)
    k0, k1, fz = _between_centres(x[2, p], nz)
    return (i0 * ny + j0) * nz + k0, (i1 - i0) * ny * nz, (j1 - j0) * nz, k1 - k0, fx, fy, fz


@parallel
def _scatter_velocity(u, v, w, density, x, vel, aff, order, start, plane, first):
    """Momentum and mass on the faces u v w, with a last axis for these two, and the density of particles in cells.

    Side by side the two need one line of memory. The density, in particles per cell, is smoothed by the trilinear hat
    of each cell centre. Arrays must be zero on entry; on a grid of one cell along the last axis zeros are added to
    what lies behind them (`storage.sums`). Velocity and matrix of particle p are at order[p], or at p if `order` is
    empty. `plane`: cells per plane of blocks.
    """
    nx, ny, nz = density.shape
    fu, fv, fw = u.reshape(-1), v.reshape(-1), w.reshape(-1)
    dense = density.reshape(-1)
    di, dj = min(nx - 1, 1), min(ny - 1, 1)
    blocks = ((start.size - 1) // plane + BLOCK - 1) // BLOCK
    for colour in range(2):
        count = (blocks - colour + 1) // 2
        for t in prange(count):
            begin, end = _block_of(start, plane, t, count, colour)
            for p in range(begin, end):
                o = np.uintp(p)
                if order.size > 0:  # in the order before sorting: memory does not know what comes next
                    o, later = np.uintp(order[p]), np.int64(order[min(p + AHEAD, order.size - 1)])
                    prefetch(vel, np.uintp(3 * later))
                    prefetch(aff, np.uintp(9 * later))
                    prefetch(aff, np.uintp(9 * later + 8))
                a, b, c = x[0, p], x[1, p], x[2, p]
                i, fx = _between_faces(a, nx)
                j, fy = _between_faces(b, ny)
                k, fz = _between_faces(c, nz)
                i0, gx = _lower_centre(a, nx)
                j0, gy = _lower_centre(b, ny)
                k0, gz = _lower_centre(c, nz)
                # from the particle to the lower entry along each axis
                c0, c1, c2 = i0 + 0.5 - a, j0 + 0.5 - b, k0 + 0.5 - c
                if first == 0:
                    g0, g1, g2 = aff[0, o], aff[1, o], aff[2, o]
                    _splat_pairs(
                        fu, (i * ny + j0) * nz + k0, ny * nz, dj * nz, fx, gy, gz,
                        vel[0, o], -g0 * fx, g0 * (1.0 - fx), g1 * c1, g1 * (c1 + 1.0), g2 * c2, g2 * (c2 + 1.0),
                    )  # fmt: skip
                g0, g1, g2 = aff[3, o], aff[4, o], aff[5, o]
                _splat_pairs(
                    fv, (i0 * (ny + 1) + j) * nz + k0, di * (ny + 1) * nz, nz, gx, fy, gz,
                    vel[1, o], g0 * c0, g0 * (c0 + 1.0), -g1 * fy, g1 * (1.0 - fy), g2 * c2, g2 * (c2 + 1.0),
                )  # fmt: skip
                g0, g1, g2 = aff[6, o], aff[7, o], aff[8, o]
                _splat_pairs(
                    fw, (i0 * ny + j0) * (nz + 1) + k, di * ny * (nz + 1), dj * (nz + 1), gx, gy, fz,
                    vel[2, o], g0 * c0, g0 * (c0 + 1.0), g1 * c1, g1 * (c1 + 1.0), -g2 * fz, g2 * (1.0 - fz),
                )  # fmt: skip
                _count(dense, (i0 * ny + j0) * nz + k0, di * ny * nz, dj * nz, gx, gy, gz)


@parallel
def _scatter_value(total, mass, x, value, start, plane):
    """Sums of value and of 1 over particles, by the trilinear hat of each cell centre; zero on entry."""
    blocks = ((start.size - 1) // plane + BLOCK - 1) // BLOCK
    nx, ny, nz = total.shape
    flat, weight = total.reshape(-1), mass.reshape(-1)
    for colour in range(2):
        count = (blocks - colour + 1) // 2
        for t in prange(count):
            begin, end = _block_of(start, plane, t, count, colour)
            for p in range(begin, end):
                q, si, sj, sk, fx, fy, fz = _hat(x, p, nx, ny, nz)
                _splat(flat, weight, q, si, sj, sk, fx, fy, fz, value[p], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@parallel
def _part_pairs(u, mass, known, pairs, per_cell):
    """Velocity and mass from what `_scatter_velocity` has summed; `known` is 1 on faces with particles.

    The velocity is 0 on other faces. The mass is 1 on a face with `per_cell` particles around it.
    """
    flat, m, have, sums = u.reshape(-1), mass.reshape(-1), known.reshape(-1), pairs.reshape(-1)
    for t in prange(flat.size):
        total = sums[2 * t + 1]
        have[t] = total > 1e-9
        flat[t] = sums[2 * t] / total if total > 1e-9 else 0.0
        m[t] = total / per_cell


@parallel
def _normalise(u, known, mass):
    """Momentum → velocity, in place; `known` is 1 on faces with particles, others get 0."""
    flat, have, m = u.reshape(-1), known.reshape(-1), mass.reshape(-1)
    for t in prange(flat.size):
        have[t] = m[t] > 1e-9
        flat[t] = flat[t] / m[t] if m[t] > 1e-9 else 0.0


@parallel
def _least_distances(least, solid):
    """A bound from below of the distance to walls in each cell; `solid` is the distance at their corners."""
    nx, ny, nz = least.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                low = min(min(solid[i, j, k], solid[i + 1, j, k]), min(solid[i, j + 1, k], solid[i + 1, j + 1, k]))
                k1 = k + 1
                high = min(min(solid[i, j, k1], solid[i + 1, j, k1]), min(solid[i, j + 1, k1], solid[i + 1, j + 1, k1]))
                least[i, j, k] = min(low, high) - 1e-3  # more than is rounded


class ParticleWalls(NamedTuple):
    """The walls that particles stay out of, in cells."""

    #: distance at nodes, and in cells that of `_least_distances`
    distance: np.ndarray
    clear: np.ndarray
    #: velocity at faces, one array for each axis
    velocity: tuple[np.ndarray, ...]
    #: how near a particle may come
    margin: float


@merged
def _line(f, q, below, above, h):
    """Value and slope at h from the middle of three entries of a flat array, one for each lane."""
    low, middle, high = f[np.uintp(q + below)], f[np.uintp(q)], f[np.uintp(q + above)]
    slope = choose(h, spread(middle - low), spread(high - middle))
    return spread(middle) + h * slope, slope


@merged
def _plane(f, q, below, above, under, over, g, h):
    """Value at (g, h) from the middle of three times three entries, and the slopes along both axes."""
    low, slope_low = _line(f, q + below, under, over, h)
    middle, slope = _line(f, q, under, over, h)
    high, slope_high = _line(f, q + above, under, over, h)
    rise = choose(g, middle - low, high - middle)
    return middle + g * rise, rise, slope + g * choose(g, slope - slope_low, slope_high - slope)


@merged
def _mix_lanes(work, rows, f, q, ahead, one, other, place, g, h):
    """The value of a face component at places in one cell, and its slopes, into rows of `work`.

    `place` lies between the faces of the component, whose entries are q and q + ahead; g and h are the distances from
    the middle of the cell along the other axes, `one` and `other` the strides to the cells beside it. `rows` are those
    of the value and of the slopes along the three axes; of the value alone if they are one.
    """
    near, near_one, near_other = _plane(f, q, *one, *other, g, h)
    far, far_one, far_other = _plane(f, q + ahead, *one, *other, g, h)
    store(work, np.uintp(rows[0] * LANES), near + place * (far - near))
    if len(rows) > 1:
        store(work, np.uintp(rows[1] * LANES), far - near)
        store(work, np.uintp(rows[2] * LANES), near_one + place * (far_one - near_one))
        store(work, np.uintp(rows[3] * LANES), near_other + place * (far_other - near_other))


@merged
def _places_in_cell(work, x, p, end, i, j, k):
    """The places of the particles p, p + 1, … that lie in the same cell (i, j, k), at most LANES; returns their number.

    That of the first one is limited to the cell: it may lie beyond a side of the grid.
    """
    count = 0
    while count < min(LANES, end - p):
        a, b, c = x[0, np.uintp(p + count)] - i, x[1, np.uintp(p + count)] - j, x[2, np.uintp(p + count)] - k
        if count == 0:
            a, b, c = min(max(a, 0.0), 1.0), min(max(b, 0.0), 1.0), min(max(c, 0.0), 1.0)
        elif not (min(a, b, c) >= 0.0 and max(a, b, c) < 1.0):
            break
        lane = np.uintp(count)
        work[lane], work[lane + np.uintp(LANES)], work[lane + np.uintp(2 * LANES)] = a, b, c
        count += 1
    return count


@merged
def _move_beside_walls(x, vel, p, d0, d1, d2, far, solid, flat, su, sv, sw, margin, corner, first):
    """Move a particle along (d0, d1, d2), at most `far` along an axis, and out of solids; the rest is as in `_move`.

    Only end points are tested: with steps longer than a wall is thick (CFL above the thickness in cells) a particle
    could jump through it, so long steps are split into pieces of at most half a cell.
    """
    nx, ny, nz = solid.shape
    cx, cy, cz = nx - 1, ny - 1, nz - 1
    e0, e1, e2 = corner[0], corner[1], corner[2]
    a, b, c = x[0, p], x[1, p], x[2, p]
    pieces = 1
    tests = 0  # far from every wall there is nothing to test
    if far * 1.8 > _sample(solid, a, b, c) - margin:
        pieces = max(1, int(np.ceil(2.0 * far)))
        d0, d1, d2 = d0 / pieces, d1 / pieces, d2 / pieces
        tests = 3
    a, b, c = a + e0, b + e1, c + e2  # in the domain from here on
    for _ in range(pieces):
        if first == 0:
            a += d0
        b += d1
        c += d2
        for _again in range(tests):
            s = _sample(solid, a - e0, b - e1, c - e2)
            if s >= margin:
                break
            fx, fy, fz = a - e0, b - e1, c - e2
            i = min(max(int(np.floor(fx)), 0), nx - 2)
            j = min(max(int(np.floor(fy)), 0), ny - 2)
            k = min(max(int(np.floor(fz)), 0), nz - 2)
            fx = min(max(fx - i, 0.0), 1.0)
            fy = min(max(fy - j, 0.0), 1.0)
            fz = min(max(fz - k, 0.0), 1.0)
            _, n0, n1, n2 = _mix_slope(flat, (i * ny + j) * nz + k, ny * nz, nz, 1, fx, fy, fz)
            size = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
            if size < 1e-6:
                break
            n0, n1, n2 = n0 / size, n1 / size, n2 / size
            # the distance may be steeper or flatter than 1 in the corners: divide by the slope
            step = (margin - s) / max(size, 0.3)
            a += step * n0
            b += step * n1
            c += step * n2
            w0, w1, w2 = _velocity(su, sv, sw, cx, cy, cz, a - e0, b - e1, c - e2)
            into = (vel[0, p] - w0) * n0 + (vel[1, p] - w1) * n1 + (vel[2, p] - w2) * n2
            if into < 0.0:
                vel[0, p] -= into * n0
                vel[1, p] -= into * n1
                vel[2, p] -= into * n2
        low, high = e0 + margin, e0 + cx - margin
        if first == 0 and (a < low or a > high):
            a = min(max(a, low), high)
            vel[0, p] = max(vel[0, p], 0.0) if a <= low else min(vel[0, p], 0.0)
        low, high = e1 + margin, e1 + cy - margin
        if b < low or b > high:
            b = min(max(b, low), high)
            vel[1, p] = max(vel[1, p], 0.0) if b <= low else min(vel[1, p], 0.0)
        low, high = e2 + margin, e2 + cz - margin
        if c < low or c > high:
            c = min(max(c, low), high)
            vel[2, p] = max(vel[2, p], 0.0) if c <= low else min(vel[2, p], 0.0)
    x[0, p] = a - e0
    x[1, p] = b - e1
    x[2, p] = c - e2


#: rows of numbers that `_move` needs for the particles of a cell: places, velocities with slopes, shifts, the velocity
#: before
ROWS = 21


@parallel
def _move(particles, work, phi, velocity, before, shift, walls, corner, first, flip, affine, rate, shifted):
    """Give particles the grid velocity, move them along straight lines, then out of solids.

    `particles` are positions, velocities and gradients. `before` is the grid velocity before forces, read if flip > 0:
    this share, in [0, 1], of the change is added to the old velocity instead of replacing it; the particles move with
    the grid velocity all the same. `affine` keeps the gradient (APIC). flip > 0 and affine exclude each other. `rate`
    is dt/dx. `shift`, read if `shifted`, is displacements in cells that even out the particle density: they change
    positions and not velocities.

    Particles that follow each other in the same cell read the grid together, one in each lane of a vector; what they
    read is rounded to single precision, like the velocities that they keep. `work` has ROWS rows of LANES numbers for
    each batch of particles.

    For a particle outside the liquid (φ >= 0 in its cell), compression is removed from the gradient, because nothing
    resists compression there. Example: a particle on the surface, where the liquid holds the face below it and the face
    above it falls. It would transfer this gradient to the upper face, and gravity would make it steeper in every step
    without limit.

    The sides of the grid are walls too. A particle nearer to a wall than its margin is moved out along the normal and
    loses its velocity into the wall, but not its velocity away from it.

    `corner` is that of the grid in the domain. Ends of moves are rounded as places in the domain, so that they do not
    depend on the box that the grid covers.
    """
    x, vel, aff = particles
    solid, clear, moving, margin = walls
    nx, ny, nz = solid.shape
    cx, cy, cz = nx - 1, ny - 1, nz - 1
    fu, fv, fw = velocity[0].reshape(-1), velocity[1].reshape(-1), velocity[2].reshape(-1)
    fu0, fv0, fw0 = before[0].reshape(-1), before[1].reshape(-1), before[2].reshape(-1)
    fpu, fpv, fpw = shift[0].reshape(-1), shift[1].reshape(-1), shift[2].reshape(-1)
    fsu, fsv, fsw = moving[0].reshape(-1), moving[1].reshape(-1), moving[2].reshape(-1)
    fs = solid.reshape(-1)
    n, still = x.shape[1], np.float32(0.0)
    for block in prange((n + BATCH - 1) // BATCH):
        found = work[block]
        next_one = np.int64(block) * BATCH
        end = min(n, next_one + BATCH)
        while next_one < end:
            begin = next_one
            i, _ = _between_faces(x[0, np.uintp(begin)], cx)
            j, _ = _between_faces(x[1, np.uintp(begin)], cy)
            k, _ = _between_faces(x[2, np.uintp(begin)], cz)
            count = _places_in_cell(found, x, begin, end, i, j, k)
            next_one = begin + count
            fx, fy, fz = load(found, np.uintp(0)), load(found, np.uintp(LANES)), load(found, np.uintp(2 * LANES))
            hx, hy, hz = fx - spread(0.5), fy - spread(0.5), fz - spread(0.5)
            # the cells beside this one; beyond a side of the grid there is the cell itself
            west, east = -1 if i > 0 else 0, 1 if i < cx - 1 else 0
            down, up = -1 if j > 0 else 0, 1 if j < cy - 1 else 0
            back, front = -1 if k > 0 else 0, 1 if k < cz - 1 else 0
            q0, q1, q2 = (i * cy + j) * cz + k, (i * ny + j) * cz + k, (i * cy + j) * nz + k
            u1, v0, w0, w1 = (
                (down * cz, up * cz),
                (west * ny * cz, east * ny * cz),
                (west * cy * nz, east * cy * nz),
                (down * nz, up * nz),
            )
            last = back, front
            if first == 0:
                _mix_lanes(found, (3, 4, 5, 6), fu, q0, cy * cz, u1, last, fx, hy, hz)
            _mix_lanes(found, (7, 9, 8, 10), fv, q1, cz, v0, last, fy, hx, hz)
            _mix_lanes(found, (11, 14, 12, 13), fw, q2, 1, w0, w1, fz, hx, hy)
            if shifted:
                if first == 0:
                    _mix_lanes(found, (15,), fpu, q0, cy * cz, u1, last, fx, hy, hz)
                _mix_lanes(found, (16,), fpv, q1, cz, v0, last, fy, hx, hz)
                _mix_lanes(found, (17,), fpw, q2, 1, w0, w1, fz, hx, hy)
            if flip > 0.0:
                if first == 0:
                    _mix_lanes(found, (18,), fu0, q0, cy * cz, u1, last, fx, hy, hz)
                _mix_lanes(found, (19,), fv0, q1, cz, v0, last, fy, hx, hz)
                _mix_lanes(found, (20,), fw0, q2, 1, w0, w1, fz, hx, hy)
            if affine:
                least = np.float32(0.0) if phi[i, j, k] >= 0.0 else np.float32(-np.inf)
                for lane in range(count):
                    p, t = np.uintp(begin + lane), np.uintp(lane)
                    if first == 0:
                        aff[0, p] = max(found[np.uintp(4 * LANES) + t], least)
                        aff[1, p] = found[np.uintp(5 * LANES) + t]
                        aff[2, p] = found[np.uintp(6 * LANES) + t]
                    aff[3, p] = found[np.uintp(8 * LANES) + t]
                    aff[4, p] = max(found[np.uintp(9 * LANES) + t], least)
                    aff[5, p] = found[np.uintp(10 * LANES) + t]
                    aff[6, p] = found[np.uintp(12 * LANES) + t]
                    aff[7, p] = found[np.uintp(13 * LANES) + t]
                    aff[8, p] = max(found[np.uintp(14 * LANES) + t], least)
            room = min(clear[i, j, k], min(j, cy - 1 - j), min(k, cz - 1 - k)) - margin
            if first == 0:
                room = min(room, min(i, cx - 1 - i) - margin)
            for lane in range(count):
                p, t = np.uintp(begin + lane), np.uintp(lane)
                n0, n1, n2 = still, found[np.uintp(7 * LANES) + t], found[np.uintp(11 * LANES) + t]
                if first == 0:
                    n0 = found[np.uintp(3 * LANES) + t]
                d0, d1, d2 = rate * n0, rate * n1, rate * n2
                if flip > 0.0:
                    n1 += np.float32(flip) * (vel[1, p] - found[np.uintp(19 * LANES) + t])
                    n2 += np.float32(flip) * (vel[2, p] - found[np.uintp(20 * LANES) + t])
                    if first == 0:
                        n0 += np.float32(flip) * (vel[0, p] - found[np.uintp(18 * LANES) + t])
                vel[0, p], vel[1, p], vel[2, p] = n0, n1, n2
                if shifted:
                    d1 += found[np.uintp(16 * LANES) + t]
                    d2 += found[np.uintp(17 * LANES) + t]
                    if first == 0:
                        d0 += found[np.uintp(15 * LANES) + t]
                far = max(abs(d0), abs(d1), abs(d2))
                if far * 1.8 > room:
                    _move_beside_walls(x, vel, p, d0, d1, d2, far, solid, fs, fsu, fsv, fsw, margin, corner, first)
                else:  # ends are rounded as places in the domain
                    x[0, p] = x[0, p] + corner[0] + d0 - corner[0]
                    x[1, p] = x[1, p] + corner[1] + d1 - corner[1]
                    x[2, p] = x[2, p] + corner[2] + d2 - corner[2]


@parallel
def _bounds(low, high, x):
    """low[:, q] and high[:, q]: the corners of the box around the q-th block of BATCH particles."""
    n = x.shape[1]
    for q in prange(low.shape[1]):
        begin, end = q * BATCH, min(n, (q + 1) * BATCH)
        for axis in range(3):
            least, most = np.inf, -np.inf
            for p in range(begin, end):
                least, most = min(least, x[axis, p]), max(most, x[axis, p])
            low[axis, q], high[axis, q] = least, most


@parallel
def _fastest(largest, vel):
    """largest[q] = the largest component of a velocity in the q-th block of BATCH particles."""
    n = vel.shape[1]
    for q in prange(largest.size):
        begin = np.uintp(q) * np.uintp(BATCH)
        top = np.float32(0.0)
        for p in range(begin, min(np.uintp(n), begin + np.uintp(BATCH))):
            top = max(top, max(abs(vel[0, p]), max(abs(vel[1, p]), abs(vel[2, p]))))
        largest[q] = top
