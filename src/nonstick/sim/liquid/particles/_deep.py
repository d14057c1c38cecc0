"""Deep liquid on the grid: layers of cells, the share of faces it fills, how it moves, which particles come out of it.

`deep` is 1 in cells whose liquid has no particles. Such a cell stands for particles on a lattice, `per_axis` along each
axis, and all kernels treat it as the mean of them. Positions are those of `_particles`: in cells from the corner of the
grid, with one cell along the first axis in 2D. Places are rounded as places in the domain (`corner`), so that they do
not depend on the box that the grid covers.
"""

from typing import NamedTuple

import numpy as np

from ....kernels import merged, parallel, parallel_sum, prange, serial
from ....kernels._interpolate import _between_centres, _between_faces, _mix, _mix_slope, _stride, _velocity


@parallel
def _layers(out, along, across, inside, most, edge, first):
    """out = distance to the nearest cell that is not inside, in cells along the longest axis, at most `most`.

    Cells beyond the grid are inside if `edge`. `along` and `across` are scratch.
    """
    nx, ny, nz = inside.shape
    begin = most if edge else 0
    for turn in prange(nx):
        i = np.int64(turn)
        for j in range(ny):
            count = begin
            for k in range(nz):
                count = min(count + 1, most) if inside[i, j, k] else 0
                along[i, j, k] = count
            count = begin
            for k in range(nz - 1, -1, -1):
                count = min(count + 1, most) if inside[i, j, k] else 0
                along[i, j, k] = min(along[i, j, k], count)
        for j in range(ny):
            limit = most if edge else min(most, min(j + 1, ny - j))
            for k in range(nz):
                across[i, j, k] = min(along[i, j, k], limit)
            for d in range(1, most):
                if j >= d:
                    for k in range(nz):
                        across[i, j, k] = min(across[i, j, k], max(along[i, j - d, k], d))
                if j + d < ny:
                    for k in range(nz):
                        across[i, j, k] = min(across[i, j, k], max(along[i, j + d, k], d))
    for turn in prange(nx):
        i = np.int64(turn)
        limit = most if edge or first == 1 else min(most, min(i + 1, nx - i))
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = min(across[i, j, k], limit)
            for d in range(1, most):
                if i >= d:
                    for k in range(nz):
                        out[i, j, k] = min(out[i, j, k], max(across[i - d, j, k], d))
                if i + d < nx:
                    for k in range(nz):
                        out[i, j, k] = min(out[i, j, k], max(across[i + d, j, k], d))


@serial
def _occupy(there, cell):
    """there = 1 in the cells of particles."""
    for p in range(cell.size):
        there[cell[p]] = 1


@merged
def _hat_weights(p):
    """The first of the three cells under a hat around p, along an axis, and the share of each in it."""
    i = int(np.floor(p))
    t = p - i
    return i - 1, 0.5 * (1.0 - t) * (1.0 - t), 0.5 + t - t * t, 0.5 * t * t


@merged
def _sample_moved(moved, a, b, c):
    """How far the liquid at (a, b, c) has moved since the deep cells were chosen: three numbers."""
    nx, ny, nz = moved.shape[1:]
    i0, i1, fx = _between_centres(a, nx)
    j0, j1, fy = _between_centres(b, ny)
    k0, k1, fz = _between_centres(c, nz)
    q, di, dj, dk = (i0 * ny + j0) * nz + k0, (i1 - i0) * ny * nz, (j1 - j0) * nz, k1 - k0
    return (
        _mix(moved[0].reshape(-1), q, di, dj, dk, fx, fy, fz),
        _mix(moved[1].reshape(-1), q, di, dj, dk, fx, fy, fz),
        _mix(moved[2].reshape(-1), q, di, dj, dk, fx, fy, fz),
    )


@parallel
def _shares(out, deep, inner, outer, reach, moved, axis, first, corner):
    """The share of deep liquid in the mass of faces of an axis, or in the density of cells if there is none (-1).

    That is the integral of the hat of the transfer over the deep cells, which have moved by `moved`. `inner` and
    `outer` are the layers of deep cells and of all others: where one of them is `reach` or more, no motion brings the
    edge.
    """
    nx, ny, nz = deep.shape
    o0, o1, o2 = 0.5 * (axis != 0), 0.5 * (axis != 1), 0.5 * (axis != 2)
    step = _stride(out.shape[0])
    for turn in prange(out.shape[0]):
        i = np.int64(turn) * step % out.shape[0]
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                a, b, c = min(i, nx - 1), min(j, ny - 1), min(k, nz - 1)
                if outer[a, b, c] >= reach:
                    out[i, j, k] = 0.0
                    continue
                if inner[a, b, c] >= reach:
                    out[i, j, k] = 1.0
                    continue
                m0, m1, m2 = _sample_moved(moved, i + o0, j + o1, k + o2)
                # rounded as places in the domain
                x, y, z = i + o0 + corner[0] - m0, j + o1 + corner[1] - m1, k + o2 + corner[2] - m2
                a, u0, u1, u2 = _hat_weights(x - corner[0])
                b, v0, v1, v2 = _hat_weights(y - corner[1])
                c, w0, w1, w2 = _hat_weights(z - corner[2])
                e, f, g = min(max(a + 1, 0), nx - 1), min(max(b + 1, 0), ny - 1), min(max(c + 1, 0), nz - 1)
                if inner[e, f, g] > 1 or outer[e, f, g] > 1:  # all cells under the hat are alike
                    out[i, j, k] = deep[e, f, g]
                    continue
                total = 0.0
                for d in range(3):
                    e = min(max(a + d, 0), nx - 1)
                    along = u0 if d == 0 else u1 if d == 1 else u2
                    for f in range(3):
                        g = min(max(b + f, 0), ny - 1)
                        across = along * (v0 if f == 0 else v1 if f == 1 else v2)
                        line = w0 * deep[e, g, min(max(c, 0), nz - 1)] + w1 * deep[e, g, min(max(c + 1, 0), nz - 1)]
                        total += across * (line + w2 * deep[e, g, min(max(c + 2, 0), nz - 1)])
                out[i, j, k] = total


@parallel
def _drift(out, cells, moved, u, v, w, rate, corner):
    """How far the liquid in the middles of these cells has moved in all after a move; out is (3, n)."""
    nx, ny, nz = moved.shape[1:]
    fu, fv, fw = u.reshape(-1), v.reshape(-1), w.reshape(-1)
    for t in prange(cells.size):
        q = cells[t]
        a, b, c = q // (ny * nz) + 0.5, q // nz % ny + 0.5, q % nz + 0.5
        x, y, z = _origin(fu, fv, fw, nx, ny, nz, a, b, c, rate, corner)
        m0, m1, m2 = _sample_moved(moved, x, y, z)
        out[0, t], out[1, t], out[2, t] = a - x + m0, b - y + m1, c - z + m2


@parallel
def _add_deep(pairs, share, velocity, per_cell):
    """Add momentum and mass of deep liquid to the sums of `_scatter_velocity`."""
    sums, part, flat = pairs.reshape(-1), share.reshape(-1), velocity.reshape(-1)
    for t in prange(part.size):
        if part[t] > 0:
            mass = per_cell * np.float64(part[t])
            sums[2 * t] += mass * flat[t]
            sums[2 * t + 1] += mass


@parallel_sum
def _deep_energy(squares, sums, share, velocity):
    """For each plane of faces: the sums of share times velocity squared, and of share times velocity."""
    nx, ny, nz = share.shape
    for turn in prange(nx):
        i = np.int64(turn)
        square, total = 0.0, 0.0
        for j in range(ny):
            for k in range(nz):
                flow = np.float64(share[i, j, k]) * velocity[i, j, k]
                square += flow * velocity[i, j, k]
                total += flow
        squares[i], sums[i] = square, total


class Way(NamedTuple):
    """A straight move, and the lattice in cells on which particles come out of deep liquid."""

    #: the time of the move, over the size of a cell
    rate: float
    #: places of the lattice along an axis of a cell
    per_axis: int
    #: the first axis along which liquid moves
    first: int
    #: corner of the grid in the domain, and the number of the step
    corner: np.ndarray
    turn: int


@merged
def _origin(u, v, w, nx, ny, nz, a, b, c, rate, corner):
    """Where the liquid that comes to (a, b, c) was before a straight move of `rate` times its velocity.

    To second order in the gradient of the move, as a step is in time. Rounded as places in the domain.
    """
    e0, e1, e2 = corner[0], corner[1], corner[2]
    x, y, z = a, b, c
    for _ in range(2):
        s0, s1, s2 = _velocity(u, v, w, nx, ny, nz, x, y, z)
        x, y, z = (a + e0 - rate * s0) - e0, (b + e1 - rate * s1) - e1, (c + e2 - rate * s2) - e2
    return x, y, z


@merged
def _cubic(t):
    """The weights of four entries at -1, 0, 1 and 2 in the cubic through them at t."""
    a, b, c, d = t + 1.0, t, t - 1.0, t - 2.0
    return -b * c * d / 6.0, 0.5 * a * c * d, -0.5 * a * b * d, a * b * c / 6.0


@parallel
def _carry(out, share, values, u, v, w, cells, rate, axis, corner):
    """The faces of one axis of deep liquid after a straight move: `values` where it was, by cubics.

    A third-order interpolation: its error damps waves of λ cells by less than 40/λ⁴ in a step.
    """
    nx, ny, nz = cells.shape
    mx, my, mz = values.shape
    fu, fv, fw = u.reshape(-1), v.reshape(-1), w.reshape(-1)
    o0, o1, o2 = 0.5 * (axis != 0), 0.5 * (axis != 1), 0.5 * (axis != 2)
    step = _stride(mx)
    for turn in prange(mx):
        i = np.int64(turn) * step % mx
        for j in range(my):
            for k in range(mz):
                if share[i, j, k] <= 0.0:
                    out[i, j, k] = 0.0
                    continue
                x, y, z = _origin(fu, fv, fw, nx, ny, nz, i + o0, j + o1, k + o2, rate, corner)
                x, y, z = x - o0, y - o1, z - o2
                a, b, c = int(np.floor(x)), int(np.floor(y)), int(np.floor(z))
                w0 = _cubic(x - a)
                w1 = _cubic(y - b)
                p0, p1, p2, p3 = _cubic(z - c)
                c0, c1 = min(max(c - 1, 0), mz - 1), min(max(c, 0), mz - 1)
                c2, c3 = min(max(c + 1, 0), mz - 1), min(max(c + 2, 0), mz - 1)
                total = 0.0
                for d in range(4):
                    e = min(max(a + d - 1, 0), mx - 1)
                    for h in range(4):
                        g = min(max(b + h - 1, 0), my - 1)
                        line = p0 * values[e, g, c0] + p1 * values[e, g, c1]
                        line += p2 * values[e, g, c2] + p3 * values[e, g, c3]
                        total += w0[d] * w1[h] * line
                out[i, j, k] = total


@parallel
def _arrivals(count, places, cells, deep, moved, velocity, way):
    """In which parts of these cells a straight move brings deep liquid to the place of this step (`_place`).

    They are bits of `places`, and `count` is their number.
    """
    nx, ny, nz = deep.shape
    fu, fv, fw = velocity[0].reshape(-1), velocity[1].reshape(-1), velocity[2].reshape(-1)
    rate, per_axis, first, corner, turn = way
    thick = 1 if first == 1 else per_axis
    for t in prange(cells.size):
        q = cells[t]
        i, j, k = q // (ny * nz), q // nz % ny, q % nz
        bits, total = np.uint64(0), 0
        for place in range(thick * per_axis * per_axis):
            a, b, c = _place(i, j, k, place, per_axis, thick, corner, turn)
            x, y, z = _origin(fu, fv, fw, nx, ny, nz, a, b, c, rate, corner)
            m0, m1, m2 = _sample_moved(moved, x, y, z)
            x, y = (x + corner[0] - m0) - corner[0], (y + corner[1] - m1) - corner[1]
            z = (z + corner[2] - m2) - corner[2]
            e, f, g = int(np.floor(x)), int(np.floor(y)), int(np.floor(z))
            if 0 <= e < nx and 0 <= f < ny and 0 <= g < nz and deep[e, f, g]:
                bits |= np.uint64(1) << np.uint64(place)
                total += 1
        count[t], places[t] = total, bits


@merged
def _place(i, j, k, place, per_axis, thick, corner, turn):
    """A place in a part of a cell, by the number of the part: each has one particle of the lattice.

    The place changes with the step, `turn`, and goes through the part evenly: fixed places would let liquid that moves
    by less than their distance from the cells around leave them without a particle. Golden sections of three dimensions
    do both evenly, from cell to cell and from step to step.
    """
    e0, e1, e2 = corner[0], corner[1], corner[2]
    at = 0.5 + (e0 + i) * 0.6180339887498949 + (e1 + j) * 0.4142135623730951 + (e2 + k) * 0.7320508075688772
    at += place * 0.2360679774997897
    f0, f1 = at + turn * 0.8191725133961645, 2.0 * at + turn * 0.6710436067037893
    f2 = 3.0 * at + turn * 0.5497004779019703
    f0 = 0.5 if thick == 1 else f0 - np.floor(f0)
    f1, f2 = f1 - np.floor(f1), f2 - np.floor(f2)
    a = (e0 + i + (place // (per_axis * per_axis) + f0) / thick) - e0
    b = (e1 + j + (place // per_axis % per_axis + f1) / per_axis) - e1
    c = (e2 + k + (place % per_axis + f2) / per_axis) - e2
    return a, b, c


@parallel
def _bear(born, cells, places, begin, velocity, way, affine, shape):
    """The particles that come out of deep liquid at these places of cells, from number begin[t] on.

    Each is what a particle would be that has moved with the liquid: it has the velocity and the gradient of the place
    where it was. `born` are the positions, velocities and gradients of the particles.
    """
    x, vel, aff = born
    nx, ny, nz = shape
    fu, fv, fw = velocity[0].reshape(-1), velocity[1].reshape(-1), velocity[2].reshape(-1)
    rate, per_axis, first, corner, turn = way
    thick = 1 if first == 1 else per_axis
    for t in prange(cells.size):
        q = cells[t]
        p = begin[t]
        for place in range(thick * per_axis * per_axis):
            if (places[t] >> np.uint64(place)) & np.uint64(1) == 0:
                continue
            i, j, k = q // (ny * nz), q // nz % ny, q % nz
            a, b, c = _place(i, j, k, place, per_axis, thick, corner, turn)
            o0, o1, o2 = _origin(fu, fv, fw, nx, ny, nz, a, b, c, rate, corner)
            x[0, p], x[1, p], x[2, p] = a, b, c
            i, fx = _between_faces(o0, nx)
            j, fy = _between_faces(o1, ny)
            k, fz = _between_faces(o2, nz)
            i0, i1, gx = _between_centres(o0, nx)
            j0, j1, gy = _between_centres(o1, ny)
            k0, k1, gz = _between_centres(o2, nz)
            di, dj, dk = i1 - i0, j1 - j0, k1 - k0
            n0, c0, c1, c2 = 0.0, 0.0, 0.0, 0.0
            if first == 0:
                n0, c0, c1, c2 = _mix_slope(fu, (i * ny + j0) * nz + k0, ny * nz, dj * nz, dk, fx, gy, gz)
            n1, c3, c4, c5 = _mix_slope(fv, (i0 * (ny + 1) + j) * nz + k0, di * (ny + 1) * nz, nz, dk, gx, fy, gz)
            n2, c6, c7, c8 = _mix_slope(
                fw, (i0 * ny + j0) * (nz + 1) + k, di * ny * (nz + 1), dj * (nz + 1), 1, gx, gy, fz
            )
            vel[0, p], vel[1, p], vel[2, p] = n0, n1, n2
            if affine:
                aff[0, p], aff[1, p], aff[2, p] = c0, c1, c2
                aff[3, p], aff[4, p], aff[5, p] = c3, c4, c5
                aff[6, p], aff[7, p], aff[8, p] = c6, c7, c8
            p += 1
