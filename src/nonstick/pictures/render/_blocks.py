"""Where a ray meets something: a code for every cell, for blocks of 4³ cells how far nothing changes, and triangles.

A ray crosses uniform blocks at once, and several of them at once where their neighbours are alike. In all other blocks
it goes from cell to cell, and looks at the fields only in cells that hold a surface of theirs. Triangles of meshes and
boxes are listed by the cells they touch. They are seen from one side only, from which their corners go
counterclockwise. So a ray that starts inside a solid leaves it without a hit.
"""

import numpy as np

from ...kernels import merged, serial

#: cells along the side of a block
BLOCK = 4
#: bits of the code of a cell: what has a surface in it
LIQUID, WALL, BODY, TRIANGLES = 1, 2, 4, 8
SURFACES = 15
#: codes of cells without a surface: all liquid (this may also be set beside WALL, BODY and TRIANGLES), all solid
WET, SOLID = 16, 32
#: bodies count as near within this many cells, so that the edges of their shadows can be soft
NEAR = 2.0
#: the largest number of blocks that are crossed at once
FARTHEST = 63


@serial
def _wall_code(out, wall, fine):
    """out = WALL or SOLID for cells that walls cut or fill, else 0; nodes are `fine` times as close as the grid's."""
    nx, ny, nz = out.shape
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                least, most = 1e9, -1e9
                for p in range(fine * i, fine * i + fine + 1):
                    for q in range(fine * j, fine * j + fine + 1):
                        for r in range(fine * k, fine * k + fine + 1):
                            least = min(least, wall[p, q, r])
                            most = max(most, wall[p, q, r])
                out[i, j, k] = SOLID if most < 0.0 else (WALL if least < 0.0 else 0)


@serial
def _near_body(out, body, fine):
    """Add BODY to the codes of cells near a body."""
    nx, ny, nz = out.shape
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                middle = body[fine * i + fine // 2, fine * j + fine // 2, fine * k + fine // 2]
                if middle < NEAR + 0.87:
                    out[i, j, k] |= BODY


@serial
def _liquid_code(phi, i, j, k):
    """LIQUID if the interpolated φ may change its sign in a cell, WET if it is negative there, else 0."""
    nx, ny, nz = phi.shape
    air, wet = False, False
    for p in range(max(i - 1, 0), min(i + 2, nx)):
        for q in range(max(j - 1, 0), min(j + 2, ny)):
            for r in range(max(k - 1, 0), min(k + 2, nz)):
                if phi[p, q, r] < 0.0:
                    wet = True
                else:
                    air = True
                if air and wet:
                    return LIQUID
    return WET if wet else 0


@serial
def _classify(cell, block, phi, stone):
    """Fill the codes of cells, and of blocks: 0 if mixed, else 64 × kind (air, liquid, solid) + how many are alike.

    `stone` holds what does not follow from the liquid: WALL, SOLID, BODY and TRIANGLES.
    """
    nx, ny, nz = cell.shape
    bx, by, bz = block.shape
    for p in range(bx):
        for q in range(by):
            for r in range(bz):
                i0, j0, k0 = BLOCK * p, BLOCK * q, BLOCK * r
                i1, j1, k1 = min(i0 + BLOCK, nx), min(j0 + BLOCK, ny), min(k0 + BLOCK, nz)
                rock, clean = True, True
                for i in range(i0, i1):
                    for j in range(j0, j1):
                        for k in range(k0, k1):
                            rock = rock and stone[i, j, k] == SOLID
                            clean = clean and stone[i, j, k] == 0
                air, wet = False, False
                if not rock:
                    for i in range(max(i0 - 1, 0), min(i1 + 1, nx)):
                        for j in range(max(j0 - 1, 0), min(j1 + 1, ny)):
                            for k in range(max(k0 - 1, 0), min(k1 + 1, nz)):
                                if phi[i, j, k] < 0.0:
                                    wet = True
                                else:
                                    air = True
                mixed = not rock and (not clean or (air and wet))
                kind = 2 if rock else (1 if wet else 0)
                block[p, q, r] = 0 if mixed else 64 * kind + FARTHEST
                for i in range(i0, i1):
                    for j in range(j0, j1):
                        for k in range(k0, k1):
                            if not mixed:
                                cell[i, j, k] = 16 * kind
                            elif stone[i, j, k] == SOLID:
                                cell[i, j, k] = SOLID
                            elif air and wet:
                                cell[i, j, k] = stone[i, j, k] | _liquid_code(phi, i, j, k)
                            else:
                                cell[i, j, k] = stone[i, j, k] | (WET if wet else 0)
    # how far blocks are alike: two sweeps are enough for the distance in which a diagonal step counts 1
    for sweep in range(2):
        for u in range(bx * by * bz):
            w = u if sweep == 0 else bx * by * bz - 1 - u
            p, q, r = w // (by * bz), w // bz % by, w % bz
            own = block[p, q, r]
            if own == 0:
                continue
            kind, reach = own // 64, own % 64
            for i in range(max(p - 1, 0), min(p + 2, bx)):
                for j in range(max(q - 1, 0), min(q + 2, by)):
                    for k in range(max(r - 1, 0), min(r + 2, bz)):
                        other = block[i, j, k]
                        if other == 0 or other // 64 != kind:
                            reach = 1
                        elif i != p or j != q or k != r:
                            reach = min(reach, other % 64 + 1)
            block[p, q, r] = 64 * kind + reach


@merged
def _step(block, cell, a, b, c, d0, d1, d2, e0, e1, e2):
    """(distance to the end of the uniform region around a point, its code); `e` is 1/d, coordinates are positive."""
    nx, ny, nz = cell.shape
    i, j, k = min(int(a), nx - 1), min(int(b), ny - 1), min(int(c), nz - 1)
    p, q, r = i >> 2, j >> 2, k >> 2
    own = int(block[np.uintp(p), np.uintp(q), np.uintp(r)])
    if own > 0:
        reach = 4 * (own & 63)
        code = own >> 6 << 4
        i, j, k = p << 2, q << 2, r << 2
        # a ray must not go far beyond the box, because the way in liquid counts
        x = min(i + reach, nx) if d0 > 0.0 else max(i + 4 - reach, 0)
        y = min(j + reach, ny) if d1 > 0.0 else max(j + 4 - reach, 0)
        z = min(k + reach, nz) if d2 > 0.0 else max(k + 4 - reach, 0)
    else:
        code = int(cell[np.uintp(i), np.uintp(j), np.uintp(k)])
        x = i + 1 if d0 > 0.0 else i
        y = j + 1 if d1 > 0.0 else j
        z = k + 1 if d2 > 0.0 else k
    return max(min((x - a) * e0, (y - b) * e1, (z - c) * e2), 0.0) + 1e-3, code


@merged
def _sides(corners, t):
    """The vectors from the first corner of triangle t to the two others."""
    x, y, z = corners[t, 0, 0], corners[t, 0, 1], corners[t, 0, 2]
    return (
        corners[t, 1, 0] - x, corners[t, 1, 1] - y, corners[t, 1, 2] - z,
        corners[t, 2, 0] - x, corners[t, 2, 1] - y, corners[t, 2, 2] - z,
    )  # fmt: skip


@serial
def _cells_of(first, found, corners, shape, fill):
    """Count (fill = False) or list the triangles (n, 3, 3), in cells, whose boxes touch each cell.

    `first` (cells + 1) holds counts, and the starts of the lists where they are filled; the plane of a triangle must
    pass through a cell. Returns the number of entries.
    """
    nx, ny, nz = shape
    low, high = np.empty(3, np.int64), np.empty(3, np.int64)
    total = 0
    for t in range(len(corners)):
        outside = False
        for axis in range(3):
            x0, x1, x2 = corners[t, 0, axis], corners[t, 1, axis], corners[t, 2, axis]
            n = nx if axis == 0 else (ny if axis == 1 else nz)
            least, most = min(x0, x1, x2), max(x0, x1, x2)
            outside = outside or most < 0.0 or least > n
            low[axis] = min(max(int(np.floor(least - 1e-3)), 0), n - 1)
            high[axis] = min(max(int(np.floor(most + 1e-3)), 0), n - 1)
        if outside:
            continue
        u0, u1, u2, v0, v1, v2 = _sides(corners, t)
        n0, n1, n2 = u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0
        wide = 0.501 * (abs(n0) + abs(n1) + abs(n2))
        for i in range(low[0], high[0] + 1):
            for j in range(low[1], high[1] + 1):
                for k in range(low[2], high[2] + 1):
                    x, y, z = i + 0.5 - corners[t, 0, 0], j + 0.5 - corners[t, 0, 1], k + 0.5 - corners[t, 0, 2]
                    if abs(n0 * x + n1 * y + n2 * z) > wide:
                        continue
                    at = (i * ny + j) * nz + k
                    if fill:
                        found[first[at]] = t
                        first[at] += 1
                    else:
                        first[at + 1] += 1
                    total += 1
    return total


@serial
def _hit(lists, tri, cell, a, b, c, d0, d1, d2, far):
    """(distance, number) of the nearest triangle of a cell within `far`; the number is -1 if there is none.

    `lists` begins with the places in itself where the list of each cell begins; `tri` (n, 6, 3) holds corners and
    normals.

    Möller and Trumbore's test (1997).
    """
    best, which = far, -1
    for at in range(lists[cell], lists[cell + 1]):
        t = lists[at]
        u0, u1, u2, v0, v1, v2 = _sides(tri, t)
        p0, p1, p2 = d1 * v2 - d2 * v1, d2 * v0 - d0 * v2, d0 * v1 - d1 * v0
        det = u0 * p0 + u1 * p1 + u2 * p2
        if det < 1e-12:  # seen from behind, or from the side
            continue
        s0, s1, s2 = a - tri[t, 0, 0], b - tri[t, 0, 1], c - tri[t, 0, 2]
        u = (s0 * p0 + s1 * p1 + s2 * p2) / det
        if u < -1e-5 or u > 1.0 + 1e-5:
            continue
        q0, q1, q2 = s1 * u2 - s2 * u1, s2 * u0 - s0 * u2, s0 * u1 - s1 * u0
        v = (d0 * q0 + d1 * q1 + d2 * q2) / det
        if v < -1e-5 or u + v > 1.0 + 2e-5:
            continue
        way = (v0 * q0 + v1 * q1 + v2 * q2) / det
        if -2e-3 < way < best:
            best, which = way, t
    return best, which


@merged
def _nearest_triangle(lists, tri, shape, code, a, b, c, d0, d1, d2, far):
    """`_hit` for the cell around a point, whose code says whether it has triangles."""
    if code & TRIANGLES == 0:
        return far, -1
    i, j, k = min(int(a), shape[0] - 1), min(int(b), shape[1] - 1), min(int(c), shape[2] - 1)
    return _hit(lists, tri, (i * shape[1] + j) * shape[2] + k, a, b, c, d0, d1, d2, far)


@serial
def _normal(tri, t, a, b, c):
    """The normal of triangle t at a point of it, from those at its corners."""
    u0, u1, u2, v0, v1, v2 = _sides(tri, t)
    s0, s1, s2 = a - tri[t, 0, 0], b - tri[t, 0, 1], c - tri[t, 0, 2]
    uu, uv, vv = u0 * u0 + u1 * u1 + u2 * u2, u0 * v0 + u1 * v1 + u2 * v2, v0 * v0 + v1 * v1 + v2 * v2
    su, sv = s0 * u0 + s1 * u1 + s2 * u2, s0 * v0 + s1 * v1 + s2 * v2
    det = max(uu * vv - uv * uv, 1e-30)
    p = min(max((su * vv - sv * uv) / det, 0.0), 1.0)
    q = min(max((sv * uu - su * uv) / det, 0.0), 1.0)
    n0 = (1.0 - p - q) * tri[t, 3, 0] + p * tri[t, 4, 0] + q * tri[t, 5, 0]
    n1 = (1.0 - p - q) * tri[t, 3, 1] + p * tri[t, 4, 1] + q * tri[t, 5, 1]
    n2 = (1.0 - p - q) * tri[t, 3, 2] + p * tri[t, 4, 2] + q * tri[t, 5, 2]
    s = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2) + 1e-12
    return n0 / s, n1 / s, n2 / s
