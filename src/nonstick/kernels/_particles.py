"""Particles on a MAC grid: sorting by cell, particle → grid, grid → particle with RK3 advection, density.

Arrays shared by all kernels: `x` (3, n) positions in cells from the lower corner of the grid, `vel` (3, n)
velocities in m/s, `aff` (9, n) rows of the APIC matrix in (m/s) per cell. A 2D grid is a 3D grid whose
first axis has one cell: positions sit at 0.5 there, `first` = 1 skips the component of that axis, and
clamped indices make all interpolation along it exact.

Particles are kept sorted by cell (`start[c]` is the first particle of cell c). Scattering runs over blocks
of four planes, all even blocks and then all odd ones: a block writes at most two planes beyond itself, so
blocks of one colour never meet, and every sum is formed in the same order whatever the number of threads.
"""

import numpy as np
from numba import prange

from . import parallel, serial

BLOCK = 4
#: particles summed up in one go
BATCH = 4096


@parallel
def _cell_of(cell, x, nx, ny, nz):
    """Linear index of the cell of every particle."""
    for p in prange(cell.size):
        i = min(max(int(np.floor(x[0, p])), 0), nx - 1)
        j = min(max(int(np.floor(x[1, p])), 0), ny - 1)
        k = min(max(int(np.floor(x[2, p])), 0), nz - 1)
        cell[p] = (i * ny + j) * nz + k


@serial
def _sort_by_cell(order, start, cell):
    """Stable counting sort: `order[t]` is the particle that comes t-th, `start` the first of each cell."""
    start[:] = 0
    for p in range(cell.size):
        start[cell[p] + 1] += 1
    for c in range(start.size - 1):
        start[c + 1] += start[c]
    # start[c] serves as the cursor of cell c and ends as start[c + 1]; shift back afterwards
    for p in range(cell.size):
        c = cell[p]
        order[start[c]] = p
        start[c] += 1
    for c in range(start.size - 1, 0, -1):
        start[c] = start[c - 1]
    start[0] = 0


@parallel
def _take(out, column, order):
    """out[t] = column[order[t]]"""
    for t in prange(order.size):
        out[t] = column[order[t]]


@serial
def _low(c, n):
    """Lower node of coordinate c among n nodes, clamped."""
    return min(max(int(np.floor(c)), 0), n - 1)


@serial
def _high(c, n):
    return min(max(int(np.floor(c)) + 1, 0), n - 1)


@serial
def _part(c):
    return c - np.floor(c)


@serial
def _sample(f, a, b, c):
    """Trilinear value of a nodal array at node coordinates (a, b, c), clamped at the border."""
    nx, ny, nz = f.shape
    i0, i1, fx = _low(a, nx), _high(a, nx), _part(a)
    j0, j1, fy = _low(b, ny), _high(b, ny), _part(b)
    k0, k1, fz = _low(c, nz), _high(c, nz), _part(c)
    return (1.0 - fx) * (
        (1.0 - fy) * ((1.0 - fz) * f[i0, j0, k0] + fz * f[i0, j0, k1])
        + fy * ((1.0 - fz) * f[i0, j1, k0] + fz * f[i0, j1, k1])
    ) + fx * (
        (1.0 - fy) * ((1.0 - fz) * f[i1, j0, k0] + fz * f[i1, j0, k1])
        + fy * ((1.0 - fz) * f[i1, j1, k0] + fz * f[i1, j1, k1])
    )


@serial
def _mix(f, i0, i1, fx, j0, j1, fy, k0, k1, fz):
    """Trilinear mean of eight entries."""
    return (1.0 - fx) * (
        (1.0 - fy) * ((1.0 - fz) * f[i0, j0, k0] + fz * f[i0, j0, k1])
        + fy * ((1.0 - fz) * f[i0, j1, k0] + fz * f[i0, j1, k1])
    ) + fx * (
        (1.0 - fy) * ((1.0 - fz) * f[i1, j0, k0] + fz * f[i1, j0, k1])
        + fy * ((1.0 - fz) * f[i1, j1, k0] + fz * f[i1, j1, k1])
    )


@serial
def _velocity(u, v, w, first, a, b, c):
    """The MAC velocity at position (a, b, c); the three components share their indices."""
    nx, nz = v.shape[0], v.shape[2]
    ny = w.shape[1]
    a, b, c = min(max(a, 0.0), nx), min(max(b, 0.0), ny), min(max(c, 0.0), nz)
    i, j, k = min(int(a), nx - 1), min(int(b), ny - 1), min(int(c), nz - 1)
    fx, fy, fz = a - i, b - j, c - k
    i1, gx = (i, fx + 0.5) if fx < 0.5 else (i + 1, fx - 0.5)
    j1, gy = (j, fy + 0.5) if fy < 0.5 else (j + 1, fy - 0.5)
    k1, gz = (k, fz + 0.5) if fz < 0.5 else (k + 1, fz - 0.5)
    i0, j0, k0 = max(i1 - 1, 0), max(j1 - 1, 0), max(k1 - 1, 0)
    i1, j1, k1 = min(i1, nx - 1), min(j1, ny - 1), min(k1, nz - 1)
    u0 = 0.0
    if first == 0:
        u0 = _mix(u, i, i + 1, fx, j0, j1, gy, k0, k1, gz)
    return u0, _mix(v, i0, i1, gx, j, j + 1, fy, k0, k1, gz), _mix(w, i0, i1, gx, j0, j1, gy, k, k + 1, fz)


@serial
def _splat(mom, mass, a, b, c, value, ga, gb, gc):
    """Add a particle at node coordinates (a, b, c) with value + gradient · offset to one face array."""
    nx, ny, nz = mom.shape
    i0, i1, fx = _low(a, nx), _high(a, nx), _part(a)
    j0, j1, fy = _low(b, ny), _high(b, ny), _part(b)
    k0, k1, fz = _low(c, nz), _high(c, nz), _part(c)
    low, high = gc * (k0 - c), gc * (k1 - c)
    for di in range(2):
        i = i1 if di else i0
        wi = fx if di else 1.0 - fx
        vi = value + ga * (i - a)
        for dj in range(2):
            j = j1 if dj else j0
            wj = wi * (fy if dj else 1.0 - fy)
            vj = vi + gb * (j - b)
            wk = wj * (1.0 - fz)
            mom[i, j, k0] += wk * (vj + low)
            mass[i, j, k0] += wk
            wk = wj * fz
            mom[i, j, k1] += wk * (vj + high)
            mass[i, j, k1] += wk


@parallel
def _scatter_velocity(u, v, w, mu, mv, mw, x, vel, aff, start, plane, first):
    """Momentum and mass on the faces; arrays must be zero on entry. `plane`: cells per plane of blocks."""
    planes = (start.size - 1) // plane
    blocks = (planes + BLOCK - 1) // BLOCK
    for colour in range(2):
        count = (blocks - colour + 1) // 2
        half = (count + 1) // 2
        for t in prange(count):
            # neighbouring turns go to far-apart blocks, so that a static schedule shares the liquid
            turn = 2 * t if t < half else 2 * (t - half) + 1
            block = 2 * turn + colour
            for p in range(start[block * BLOCK * plane], start[min((block + 1) * BLOCK, planes) * plane]):
                a, b, c = x[0, p], x[1, p], x[2, p]
                if first == 0:
                    _splat(u, mu, a, b - 0.5, c - 0.5, vel[0, p], aff[0, p], aff[1, p], aff[2, p])
                _splat(v, mv, a - 0.5, b, c - 0.5, vel[1, p], aff[3, p], aff[4, p], aff[5, p])
                _splat(w, mw, a - 0.5, b - 0.5, c, vel[2, p], aff[6, p], aff[7, p], aff[8, p])


@parallel
def _scatter_density(density, x, start, plane):
    """Particles per cell, smoothed by the trilinear hat of each cell centre; zero on entry."""
    planes = (start.size - 1) // plane
    blocks = (planes + BLOCK - 1) // BLOCK
    nx, ny, nz = density.shape
    for colour in range(2):
        count = (blocks - colour + 1) // 2
        half = (count + 1) // 2
        for t in prange(count):
            turn = 2 * t if t < half else 2 * (t - half) + 1
            block = 2 * turn + colour
            for p in range(start[block * BLOCK * plane], start[min((block + 1) * BLOCK, planes) * plane]):
                a, b, c = x[0, p] - 0.5, x[1, p] - 0.5, x[2, p] - 0.5
                fx, fy, fz = _part(a), _part(b), _part(c)
                for di in range(2):
                    i = _high(a, nx) if di else _low(a, nx)
                    wi = fx if di else 1.0 - fx
                    for dj in range(2):
                        j = _high(b, ny) if dj else _low(b, ny)
                        wj = wi * (fy if dj else 1.0 - fy)
                        density[i, j, _low(c, nz)] += wj * (1.0 - fz)
                        density[i, j, _high(c, nz)] += wj * fz


@parallel
def _scatter_value(total, mass, x, value, start, plane):
    """Sums of value and of 1 over particles, by the trilinear hat of each cell centre; zero on entry."""
    planes = (start.size - 1) // plane
    blocks = (planes + BLOCK - 1) // BLOCK
    for colour in range(2):
        count = (blocks - colour + 1) // 2
        half = (count + 1) // 2
        for t in prange(count):
            turn = 2 * t if t < half else 2 * (t - half) + 1
            block = 2 * turn + colour
            for p in range(start[block * BLOCK * plane], start[min((block + 1) * BLOCK, planes) * plane]):
                _splat(total, mass, x[0, p] - 0.5, x[1, p] - 0.5, x[2, p] - 0.5, value[p], 0.0, 0.0, 0.0)


@parallel
def _normalise(u, mass):
    """Momentum → velocity, in place; faces no particle reaches get 0."""
    flat, m = u.reshape(-1), mass.reshape(-1)
    for t in prange(flat.size):
        flat[t] = flat[t] / m[t] if m[t] > 1e-9 else 0.0


@serial
def _gather(f, a, b, c):
    """Trilinear value and gradient (per cell) of one face array at node coordinates."""
    nx, ny, nz = f.shape
    i0, i1, fx = _low(a, nx), _high(a, nx), _part(a)
    j0, j1, fy = _low(b, ny), _high(b, ny), _part(b)
    k0, k1, fz = _low(c, nz), _high(c, nz), _part(c)
    f00 = (1.0 - fz) * f[i0, j0, k0] + fz * f[i0, j0, k1]
    f01 = (1.0 - fz) * f[i0, j1, k0] + fz * f[i0, j1, k1]
    f10 = (1.0 - fz) * f[i1, j0, k0] + fz * f[i1, j0, k1]
    f11 = (1.0 - fz) * f[i1, j1, k0] + fz * f[i1, j1, k1]
    low = (1.0 - fy) * f00 + fy * f01
    high = (1.0 - fy) * f10 + fy * f11
    gz = (1.0 - fx) * ((1.0 - fy) * (f[i0, j0, k1] - f[i0, j0, k0]) + fy * (f[i0, j1, k1] - f[i0, j1, k0])) + fx * (
        (1.0 - fy) * (f[i1, j0, k1] - f[i1, j0, k0]) + fy * (f[i1, j1, k1] - f[i1, j1, k0])
    )
    gy = (1.0 - fx) * (f01 - f00) + fx * (f11 - f10)
    return (1.0 - fx) * low + fx * high, high - low, gy, gz


@parallel
def _gather_velocity(vel, aff, x, phi, u, v, w, u0, v0, w0, first, flip, affine):
    """New particle velocities from the projected grid velocity (u v w) and the one before forces (u0 v0 w0).

    flip in [0, 1] adds that share of the change to the old velocity instead of replacing it; affine keeps
    the gradient (APIC). flip > 0 and affine exclude each other.

    Outside the liquid (φ >= 0 in the particle's cell) compression is left out of the gradient: nothing resists it
    there. A particle lying on the surface, with a face held by the liquid below and a falling one above, would
    hand its gradient to the upper face, which gravity makes steeper in every step without end.
    """
    nx, ny, nz = phi.shape
    for p in prange(x.shape[1]):
        a, b, c = x[0, p], x[1, p], x[2, p]
        n0 = 0.0
        least = -np.inf
        if affine and phi[_low(a, nx), _low(b, ny), _low(c, nz)] >= 0.0:
            least = 0.0
        if first == 0:
            n0, g0, g1, g2 = _gather(u, a, b - 0.5, c - 0.5)
            g0 = max(g0, least)
            if affine:
                aff[0, p], aff[1, p], aff[2, p] = g0, g1, g2
        n1, g0, g1, g2 = _gather(v, a - 0.5, b, c - 0.5)
        g1 = max(g1, least)
        if affine:
            aff[3, p], aff[4, p], aff[5, p] = g0, g1, g2
        n2, g0, g1, g2 = _gather(w, a - 0.5, b - 0.5, c)
        g2 = max(g2, least)
        if affine:
            aff[6, p], aff[7, p], aff[8, p] = g0, g1, g2
        if flip > 0.0:
            o0, o1, o2 = _velocity(u0, v0, w0, first, a, b, c)
            n0 += flip * (vel[0, p] - o0)
            n1 += flip * (vel[1, p] - o1)
            n2 += flip * (vel[2, p] - o2)
        vel[0, p], vel[1, p], vel[2, p] = n0, n1, n2


@parallel
def _advect(lift, x, vel, u, v, w, pu, pv, pw, solid, su, sv, sw, first, rate, margin, shift, carried, g0, g1, g2):
    """Third-order Runge–Kutta (Ralston) through the grid velocity, then out of solids.

    `rate` is dt/dx. pu pv pw, used if shift, are displacements in cells that even out the particle density:
    they move positions and leave velocities alone. With `carried` the particles hold the grid velocity of
    their place already (APIC, PIC), and the first stage is free. `solid` is the nodal distance to the walls in
    cells, su sv sw their velocity at the faces; the sides of the grid are walls too. A particle nearer than
    `margin` is moved out along the normal and loses the velocity into the wall; leaving is free.
    lift[q] becomes the sum of -g · displacement over the q-th block of BATCH particles.
    """
    nx, ny, nz = solid.shape
    n = x.shape[1]
    for q in prange(lift.size):
        total = 0.0
        for p in range(q * BATCH, min(n, (q + 1) * BATCH)):
            a, b, c = x[0, p], x[1, p], x[2, p]
            if carried:
                k10, k11, k12 = np.float64(vel[0, p]), np.float64(vel[1, p]), np.float64(vel[2, p])
            else:
                k10, k11, k12 = _velocity(u, v, w, first, a, b, c)
            h = 0.5 * rate
            k20, k21, k22 = _velocity(u, v, w, first, a + h * k10, b + h * k11, c + h * k12)
            h = 0.75 * rate
            k30, k31, k32 = _velocity(u, v, w, first, a + h * k20, b + h * k21, c + h * k22)
            d0 = rate * (2.0 * k10 + 3.0 * k20 + 4.0 * k30) / 9.0
            d1 = rate * (2.0 * k11 + 3.0 * k21 + 4.0 * k31) / 9.0
            d2 = rate * (2.0 * k12 + 3.0 * k22 + 4.0 * k32) / 9.0
            if shift:
                s0, s1, s2 = _velocity(pu, pv, pw, first, a, b, c)
                d0 += s0
                d1 += s1
                d2 += s2
                total -= g0 * s0 + g1 * s1 + g2 * s2
            # Only end points are tested: with steps longer than a wall is thick (CFL above the thickness in
            # cells) a particle could jump, so long steps are walked in pieces of at most half a cell.
            far = max(abs(d0), abs(d1), abs(d2))
            pieces = 1
            near = _sample(solid, a, b, c)
            tests = 0  # far from every wall there is nothing to test
            if far * 1.8 > near - margin:
                pieces = max(1, int(np.ceil(2.0 * far)))
                tests = 3
            for _ in range(pieces):
                if first == 0:
                    a += d0 / pieces
                b += d1 / pieces
                c += d2 / pieces
                for _again in range(tests):
                    s = _sample(solid, a, b, c)
                    if s >= margin:
                        break
                    i = min(max(int(np.floor(a)), 0), nx - 2)
                    j = min(max(int(np.floor(b)), 0), ny - 2)
                    k = min(max(int(np.floor(c)), 0), nz - 2)
                    fx = min(max(a - i, 0.0), 1.0)
                    fy = min(max(b - j, 0.0), 1.0)
                    fz = min(max(c - k, 0.0), 1.0)
                    n0 = (1.0 - fy) * (
                        (1.0 - fz) * (solid[i + 1, j, k] - solid[i, j, k])
                        + fz * (solid[i + 1, j, k + 1] - solid[i, j, k + 1])
                    ) + fy * (
                        (1.0 - fz) * (solid[i + 1, j + 1, k] - solid[i, j + 1, k])
                        + fz * (solid[i + 1, j + 1, k + 1] - solid[i, j + 1, k + 1])
                    )
                    n1 = (1.0 - fx) * (
                        (1.0 - fz) * (solid[i, j + 1, k] - solid[i, j, k])
                        + fz * (solid[i, j + 1, k + 1] - solid[i, j, k + 1])
                    ) + fx * (
                        (1.0 - fz) * (solid[i + 1, j + 1, k] - solid[i + 1, j, k])
                        + fz * (solid[i + 1, j + 1, k + 1] - solid[i + 1, j, k + 1])
                    )
                    n2 = (1.0 - fx) * (
                        (1.0 - fy) * (solid[i, j, k + 1] - solid[i, j, k])
                        + fy * (solid[i, j + 1, k + 1] - solid[i, j + 1, k])
                    ) + fx * (
                        (1.0 - fy) * (solid[i + 1, j, k + 1] - solid[i + 1, j, k])
                        + fy * (solid[i + 1, j + 1, k + 1] - solid[i + 1, j + 1, k])
                    )
                    size = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
                    if size < 1e-6:
                        break
                    n0, n1, n2 = n0 / size, n1 / size, n2 / size
                    # the distance may be steeper or flatter than 1 in the corners: divide by the slope
                    step = (margin - s) / max(size, 0.3)
                    a += step * n0
                    b += step * n1
                    c += step * n2
                    w0, w1, w2 = _velocity(su, sv, sw, first, a, b, c)
                    into = (vel[0, p] - w0) * n0 + (vel[1, p] - w1) * n1 + (vel[2, p] - w2) * n2
                    if into < 0.0:
                        vel[0, p] -= into * n0
                        vel[1, p] -= into * n1
                        vel[2, p] -= into * n2
                if first == 0 and (a < margin or a > nx - 1 - margin):
                    a = min(max(a, margin), nx - 1 - margin)
                    vel[0, p] = max(vel[0, p], 0.0) if a <= margin else min(vel[0, p], 0.0)
                if b < margin or b > ny - 1 - margin:
                    b = min(max(b, margin), ny - 1 - margin)
                    vel[1, p] = max(vel[1, p], 0.0) if b <= margin else min(vel[1, p], 0.0)
                if c < margin or c > nz - 1 - margin:
                    c = min(max(c, margin), nz - 1 - margin)
                    vel[2, p] = max(vel[2, p], 0.0) if c <= margin else min(vel[2, p], 0.0)
            x[0, p] = a
            x[1, p] = b
            x[2, p] = c
        lift[q] = total


@parallel
def _kinetic(partial, vel, block):
    """partial[q] = sum of |vel|² over the q-th block of particles."""
    n = vel.shape[1]
    for q in prange(partial.size):
        s = 0.0
        for p in range(q * block, min(n, (q + 1) * block)):
            s += (
                np.float64(vel[0, p]) * vel[0, p]
                + np.float64(vel[1, p]) * vel[1, p]
                + np.float64(vel[2, p]) * vel[2, p]
            )
        partial[q] = s
