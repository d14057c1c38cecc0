"""The liquid surface from particles, its volume, and velocities beyond it.

`φ(c) = T(|c - x̄|)`, x̄ the weighted mean of the particles within 1.5 cells of the centre c (weights
(1 - s²)³, s = distance/1.5 cells). Zhu & Bridson 2005 take T(δ) = δ - r; here T is the function that makes
φ the exact distance for a flat surface above evenly filled space (`flat_distance`), so that volume needs no
radius to be tuned. Close to a wall only half of that neighbourhood can hold
particles, which would bend the surface: particles are therefore mirrored at the walls, exactly at the
sides of the grid and across the local tangent plane at other solids. The mirror image is taken along the
horizontal where the wall is steep, so that a level surface stays level up to a tilted wall; along the
normal it would meet the wall at a right angle, and still water would not be still. Centres inside a solid
are evaluated at their mirror image. This extends φ into solids (a wall cell is liquid if the liquid next to it is) and
lets go of the wall as soon as the gap exceeds about half a cell. All lengths are in cells.
"""

import numpy as np
from numba import prange

from . import parallel, serial
from ._interpolate import _sample

REACH = 1.5
INSIDE = -1.0
OUTSIDE = 1.5


def flat_distance(dimension: int, size: int = 257) -> np.ndarray:
    """T as a table over δ/REACH in [0, 1]: distance to a flat surface whose mean of particles lies δ away.

    A slice of the kernel at height z weighs (1 - z²)^m, m = 4 in 3D and 3.5 in 2D. If the liquid fills
    z > τ, the mean height of the weight there is δ(τ) = (1 - τ²)^(m+1) / (2 (m+1)) / ∫_τ¹ (1 - z²)^m dz.
    """
    m = 4.0 if dimension == 3 else 3.5
    tau = np.linspace(-1.0, 1.0, 20001)
    f = (1.0 - tau**2) ** m
    tail = np.concatenate([np.cumsum((0.5 * (f[1:] + f[:-1]))[::-1])[::-1] * (tau[1] - tau[0]), [0.0]])
    inner = slice(1, -200)  # the quotient is 0/0 at τ = 1, where δ = τ
    delta = (1.0 - tau[inner] ** 2) ** (m + 1.0) / (2.0 * (m + 1.0)) / tail[inner]
    delta, tau = np.concatenate([[0.0], delta, [1.0]]), np.concatenate([[-1.0], tau[inner], [1.0]])
    return REACH * np.interp(np.linspace(0.0, 1.0, size), delta, tau)


@parallel
def _surface_band(kind, start, centre, space, per_cell, closed):
    """kind[c] = 0: no particle near; 1: evaluate; 2: surrounded by well-filled cells, deep inside.

    A cell is well filled if it holds half the particles its open share has room for. Cells that are solid
    but for a sliver are not asked, so liquid that lies against a wall is deep. `centre` is the wall distance
    at cell centres in cells.
    """
    nx, ny, nz = kind.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                if centre[i, j, k] < -1.25:
                    kind[i, j, k] = 0
                    continue
                some = False
                deep = centre[i, j, k] >= 0.0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        for dk in range(-1, 2):
                            a, b, c = i + di, j + dj, k + dk
                            if a < 0 or b < 0 or c < 0 or a >= nx or b >= ny or c >= nz:
                                if not closed:
                                    deep = False
                                continue
                            q = (a * ny + b) * nz + c
                            count = start[q + 1] - start[q]
                            if count > 0:
                                some = True
                            if space[a, b, c] > 0.25 and count < 0.5 * per_cell * space[a, b, c]:
                                deep = False
                        if some and not deep:
                            break
                    if some and not deep:
                        break
                # a centre in a wall may see particles in its mirror image only
                kind[i, j, k] = 1 if centre[i, j, k] < 0.0 else 0
                if some:
                    kind[i, j, k] = 2 if deep else 1


@serial
def _normal(solid, a, b, c):
    """Central difference of the nodal wall distance at (a, b, c), normalised; zero where flat."""
    g0 = _sample(solid, a + 0.5, b, c) - _sample(solid, a - 0.5, b, c)
    g1 = _sample(solid, a, b + 0.5, c) - _sample(solid, a, b - 0.5, c)
    g2 = _sample(solid, a, b, c + 0.5) - _sample(solid, a, b, c - 0.5)
    size = np.sqrt(g0 * g0 + g1 * g1 + g2 * g2)
    if size > 1e-9:
        return g0 / size, g1 / size, g2 / size
    return 0.0, 0.0, 0.0


@parallel
def _surface_particles(phi, kind, x, start, solid, centre, space, table, per_cell, closed, up):
    """φ at cell centres, in cells; OUTSIDE away from particles, INSIDE deep in the liquid.

    `space` is the open share of cells. The particles of a crowded cell weigh together as much as those of a
    full one, so that crowding does not drag the mean. A cell filled by three quarters is liquid even if its
    mean lies far from the centre, so that particles crowded into a corner always meet a pressure.
    """
    nx, ny, nz = phi.shape
    for plane in prange(nx):
        i = np.int64(plane)
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
                mirror = abs(s) < REACH
                n0, n1, n2 = 0.0, 0.0, 0.0
                m0, m1, m2 = 0.0, 0.0, 0.0  # direction of the mirror image, with n · m = 1
                if mirror:
                    n0, n1, n2 = _normal(solid, a, b, c)
                    m0, m1, m2 = n0, n1, n2
                    rise = n0 * up[0] + n1 * up[1] + n2 * up[2]
                    level = 1.0 - rise * rise
                    if level > 0.25:
                        m0 = (n0 - rise * up[0]) / level
                        m1 = (n1 - rise * up[1]) / level
                        m2 = (n2 - rise * up[2]) / level
                if s < 0.0:
                    a -= 2.0 * s * m0
                    b -= 2.0 * s * m1
                    c -= 2.0 * s * m2
                    s = -s
                ic = min(max(int(np.floor(a)), 0), nx - 1)
                jc = min(max(int(np.floor(b)), 0), ny - 1)
                kc = min(max(int(np.floor(c)), 0), nz - 1)
                total, c0, c1, c2 = 0.0, 0.0, 0.0, 0.0
                for di in range(-1, 2):
                    ii = ic + di
                    flip0 = 0.0
                    if ii < 0 or ii >= nx:
                        if not closed or nx == 1:
                            continue
                        flip0 = 0.0 if ii < 0 else 2.0 * nx
                        ii = 0 if ii < 0 else nx - 1
                    for dj in range(-1, 2):
                        jj = jc + dj
                        flip1 = 0.0
                        if jj < 0 or jj >= ny:
                            if not closed:
                                continue
                            flip1 = 0.0 if jj < 0 else 2.0 * ny
                            jj = 0 if jj < 0 else ny - 1
                        for dk in range(-1, 2):
                            kk = kc + dk
                            flip2 = 0.0
                            if kk < 0 or kk >= nz:
                                if not closed:
                                    continue
                                flip2 = 0.0 if kk < 0 else 2.0 * nz
                                kk = 0 if kk < 0 else nz - 1
                            q = (ii * ny + jj) * nz + kk
                            count = start[q + 1] - start[q]
                            share = per_cell * max(space[ii, jj, kk], 0.1)
                            each = share / count if count > share else 1.0
                            for p in range(start[q], start[q + 1]):
                                d0 = (x[0, p] if ii == ic + di else flip0 - x[0, p]) - a
                                d1 = (x[1, p] if jj == jc + dj else flip1 - x[1, p]) - b
                                d2 = (x[2, p] if kk == kc + dk else flip2 - x[2, p]) - c
                                t = 1.0 - (d0 * d0 + d1 * d1 + d2 * d2) / (REACH * REACH)
                                if t > 0.0:
                                    t = each * t * t * t
                                    total += t
                                    c0 += t * d0
                                    c1 += t * d1
                                    c2 += t * d2
                                if mirror:
                                    # the image of the particle in the tangent plane at distance s
                                    e = 2.0 * (s + d0 * n0 + d1 * n1 + d2 * n2)
                                    d0 -= e * m0
                                    d1 -= e * m1
                                    d2 -= e * m2
                                    t = 1.0 - (d0 * d0 + d1 * d1 + d2 * d2) / (REACH * REACH)
                                    if t > 0.0:
                                        t = each * t * t * t
                                        total += t
                                        c0 += t * d0
                                        c1 += t * d1
                                        c2 += t * d2
                value = OUTSIDE
                if total > 0.0:
                    at = np.sqrt(c0 * c0 + c1 * c1 + c2 * c2) / total / REACH * (table.size - 1)
                    q = min(int(at), table.size - 2)
                    value = table[q] + (at - q) * (table[q + 1] - table[q])
                q = (i * ny + j) * nz + k
                if start[q + 1] - start[q] > 1.5 * per_cell * max(space[i, j, k], 0.5):
                    value = min(value, -0.25)
                phi[i, j, k] = min(max(value, INSIDE), OUTSIDE)


@parallel
def _fill_holes(phi, source, centre, wu, wv, ww):
    """Air where there can be none becomes liquid: φ = -½. `source` is a copy of φ.

    Two cases. A single cell with liquid behind all its open faces: a gap between particles, which would act
    as a drain of zero pressure. And a cell with its centre in a solid and deep liquid (φ < -0.6) behind an
    open face: in corners of the solid there is no tangent plane to mirror at. (A wall that liquid has left
    by half a cell has no such neighbour.)
    """
    nx, ny, nz = phi.shape
    for plane in prange(nx):
        i = np.int64(plane)
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
                        if source[a, b, c] < min(-0.6, source[i, j, k] - 1.4):
                            deep += 1
                if (faces > 0 and wet == faces) or (deep > 0 and centre[i, j, k] < 0.0):
                    phi[i, j, k] = -0.5


@serial
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
    are spray and count by their number. An empty `start` stands for no particles.
    """
    nx, ny, nz = phi.shape
    for plane in prange(nx):
        i = np.int64(plane)
        s = 0.0
        for j in range(ny):
            for k in range(nz):
                part = space[i, j, k] * min(max(0.5 - phi[i, j, k] - offset, 0.0), 1.0)
                if phi[i, j, k] >= 0.5 and start.size > 0:
                    q = (i * ny + j) * nz + k
                    if start[q + 1] > start[q] and not _near_liquid(phi, i, j, k):
                        part = max(part, min((start[q + 1] - start[q]) / per_cell, 1.0))
                s += part
        partial[plane] = s


@serial
def _continue_linearly(u, known, layers):
    """Fill unknown values layer by layer, linearly along the axes: a field that is affine goes on as it is.

    `known` is 1 where u holds a value and 0 elsewhere, and is 1 on the filled band afterwards. Every axis on which
    two known values follow each other says 2a - b, and the mean counts; where there is none, the mean of the
    known neighbours.
    """
    nx, ny, nz = u.shape
    for _layer in range(layers):
        for i in range(nx):
            for j in range(ny):
                for k in range(nz):
                    if known[i, j, k] != 0:
                        continue
                    straight, lines, total, count = 0.0, 0, 0.0, 0
                    for way in range(6):
                        step = 1 if way % 2 else -1
                        di = step if way // 2 == 0 else 0
                        dj = step if way // 2 == 1 else 0
                        dk = step if way // 2 == 2 else 0
                        a, b, c = i + di, j + dj, k + dk
                        if a < 0 or b < 0 or c < 0 or a >= nx or b >= ny or c >= nz or known[a, b, c] != 1:
                            continue
                        total += u[a, b, c]
                        count += 1
                        e, f, g = a + di, b + dj, c + dk
                        if e < 0 or f < 0 or g < 0 or e >= nx or f >= ny or g >= nz or known[e, f, g] != 1:
                            continue
                        straight += 2.0 * u[a, b, c] - u[e, f, g]
                        lines += 1
                    if lines:
                        u[i, j, k] = straight / lines
                        known[i, j, k] = 2
                    elif count:
                        u[i, j, k] = total / count
                        known[i, j, k] = 2
        for i in range(nx):
            for j in range(ny):
                for k in range(nz):
                    if known[i, j, k] == 2:
                        known[i, j, k] = 1


@serial
def _extrapolate(u, known, queue, layers):
    """Fill unknown values layer by layer with the mean of their known neighbours.

    `known` is 1 where u holds a value and 0 elsewhere, and is 1 on the filled band afterwards. `queue`
    receives the linear indices of the filled entries in the order they were filled; returns their number.
    A layer reads only values settled before it, so the result does not depend on the order.
    """
    nx, ny, nz = u.shape
    end = 0
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                if known[i, j, k] == 0:
                    continue
                if known[i, j, k] == 2:
                    continue
                if i > 0 and known[i - 1, j, k] == 0:
                    known[i - 1, j, k] = 2
                    queue[end] = ((i - 1) * ny + j) * nz + k
                    end += 1
                if i + 1 < nx and known[i + 1, j, k] == 0:
                    known[i + 1, j, k] = 2
                    queue[end] = ((i + 1) * ny + j) * nz + k
                    end += 1
                if j > 0 and known[i, j - 1, k] == 0:
                    known[i, j - 1, k] = 2
                    queue[end] = (i * ny + j - 1) * nz + k
                    end += 1
                if j + 1 < ny and known[i, j + 1, k] == 0:
                    known[i, j + 1, k] = 2
                    queue[end] = (i * ny + j + 1) * nz + k
                    end += 1
                if k > 0 and known[i, j, k - 1] == 0:
                    known[i, j, k - 1] = 2
                    queue[end] = (i * ny + j) * nz + k - 1
                    end += 1
                if k + 1 < nz and known[i, j, k + 1] == 0:
                    known[i, j, k + 1] = 2
                    queue[end] = (i * ny + j) * nz + k + 1
                    end += 1
    begin = 0
    for layer in range(layers):
        here = end
        for q in range(begin, here):
            t = queue[q]
            k = t % nz
            j = (t // nz) % ny
            i = t // (nz * ny)
            total, count = 0.0, 0
            if i > 0 and known[i - 1, j, k] == 1:
                total += u[i - 1, j, k]
                count += 1
            if i + 1 < nx and known[i + 1, j, k] == 1:
                total += u[i + 1, j, k]
                count += 1
            if j > 0 and known[i, j - 1, k] == 1:
                total += u[i, j - 1, k]
                count += 1
            if j + 1 < ny and known[i, j + 1, k] == 1:
                total += u[i, j + 1, k]
                count += 1
            if k > 0 and known[i, j, k - 1] == 1:
                total += u[i, j, k - 1]
                count += 1
            if k + 1 < nz and known[i, j, k + 1] == 1:
                total += u[i, j, k + 1]
                count += 1
            u[i, j, k] = total / count
        for q in range(begin, here):
            t = queue[q]
            known[t // (nz * ny), (t // nz) % ny, t % nz] = 1
        if layer + 1 == layers:
            break
        for q in range(begin, here):
            t = queue[q]
            k = t % nz
            j = (t // nz) % ny
            i = t // (nz * ny)
            if i > 0 and known[i - 1, j, k] == 0:
                known[i - 1, j, k] = 2
                queue[end] = t - ny * nz
                end += 1
            if i + 1 < nx and known[i + 1, j, k] == 0:
                known[i + 1, j, k] = 2
                queue[end] = t + ny * nz
                end += 1
            if j > 0 and known[i, j - 1, k] == 0:
                known[i, j - 1, k] = 2
                queue[end] = t - nz
                end += 1
            if j + 1 < ny and known[i, j + 1, k] == 0:
                known[i, j + 1, k] = 2
                queue[end] = t + nz
                end += 1
            if k > 0 and known[i, j, k - 1] == 0:
                known[i, j, k - 1] = 2
                queue[end] = t - 1
                end += 1
            if k + 1 < nz and known[i, j, k + 1] == 0:
                known[i, j, k + 1] = 2
                queue[end] = t + 1
                end += 1
        begin = here
    return end


@parallel
def _constrain(values, queue, count, axis, u, v, w, open_share, solid, su, sv, sw, sticky, first):
    """Velocity the walls allow on the extrapolated faces of one axis that lie inside a solid.

    The component of the relative velocity along the wall normal is removed: always at sticky walls, only
    if it points into the wall at separating ones; otherwise liquid about to leave would be held back.
    `sticky` is 1 in cells next to a sticky wall. values[q] belongs to the face queue[q].
    """
    nx, ny, nz = open_share.shape
    cx, cy, cz = sticky.shape
    for q in prange(count):
        t = np.int64(queue[q])
        k = t % nz
        j = (t // nz) % ny
        i = t // (nz * ny)
        a = i + (0.0 if axis == 0 else 0.5)
        b = j + (0.0 if axis == 1 else 0.5)
        c = k + (0.0 if axis == 2 else 0.5)
        own = u[i, j, k] if axis == 0 else (v[i, j, k] if axis == 1 else w[i, j, k])
        values[q] = own
        if open_share[i, j, k] > 0.0:
            continue
        hold = sticky[min(i, cx - 1), min(j, cy - 1), min(k, cz - 1)] == 1
        at = i if axis == 0 else (j if axis == 1 else k)
        last = (nx if axis == 0 else (ny if axis == 1 else nz)) - 1
        if at == 0 or at == last:  # a side of the grid
            if hold:
                values[q] = 0.0
            else:
                values[q] = max(own, 0.0) if at == 0 else min(own, 0.0)
            continue
        n0, n1, n2 = _normal(solid, a, b, c)
        r0 = 0.0
        if first == 0:
            r0 = _sample(u, a, b - 0.5, c - 0.5) - _sample(su, a, b - 0.5, c - 0.5)
        r1 = _sample(v, a - 0.5, b, c - 0.5) - _sample(sv, a - 0.5, b, c - 0.5)
        r2 = _sample(w, a - 0.5, b - 0.5, c) - _sample(sw, a - 0.5, b - 0.5, c)
        into = r0 * n0 + r1 * n1 + r2 * n2
        if into < 0.0 or hold:
            values[q] = own - into * (n0 if axis == 0 else (n1 if axis == 1 else n2))


@serial
def _put(u, queue, count, values):
    """u[queue[q]] = values[q]"""
    flat = u.reshape(-1)
    for q in range(count):
        flat[queue[q]] = values[q]
