"""The path of a ray: the fields it samples, empty blocks it crosses at once, and what it hits.

Lengths are in cells. A ray crosses empty blocks of 4³ cells at once.
"""

import numpy as np

from ..kernels import serial
from ..kernels._interpolate import _sample

#: cells along the side of a block that is crossed at once where it is empty
BLOCK = 4


@serial
def _value(f, a, b, c):
    """`_sample` as a separate call: inlined into the many places here it would take minutes to compile."""
    return _sample(f, a, b, c)


@serial
def _occupied(out, phi, solid, body, fine):
    """out = 1 for blocks of cells in or next to which there is a surface of liquid, solid or body.

    0 means only air, 2 only liquid, 3 only solid.
    """
    nx, ny, nz = phi.shape
    for p in range(out.shape[0]):
        for q in range(out.shape[1]):
            for r in range(out.shape[2]):
                least, most = 1e3, -1e3
                for i in range(max(0, BLOCK * p - 1), min(nx, BLOCK * p + BLOCK + 1)):
                    for j in range(max(0, BLOCK * q - 1), min(ny, BLOCK * q + BLOCK + 1)):
                        for k in range(max(0, BLOCK * r - 1), min(nz, BLOCK * r + BLOCK + 1)):
                            least = min(least, phi[i, j, k])
                            most = max(most, phi[i, j, k])
                wall, rock = 1e3, -1e3
                i1, j1, k1 = min(nx, BLOCK * p + BLOCK), min(ny, BLOCK * q + BLOCK), min(nz, BLOCK * r + BLOCK)
                for i in range(BLOCK * p, i1 + 1):
                    for j in range(BLOCK * q, j1 + 1):
                        for k in range(BLOCK * r, k1 + 1):
                            rock = max(rock, solid[i, j, k])
                            wall = min(wall, solid[i, j, k], _off(body, fine, i, j, k) - 1.0)
                out[p, q, r] = 3 if rock < -0.5 else 1
                if wall >= 0.5:
                    out[p, q, r] = 0 if least >= 0.5 else (2 if most < -0.25 else 1)


@serial
def _liquid(phi, a, b, c):
    return _value(phi, a - 0.5, b - 0.5, c - 0.5)


@serial
def _off(body, fine, a, b, c):
    """Distance to the nearest body; a large number if there are none."""
    if body.size == 1:
        return 1e3
    return _value(body, fine * a, fine * b, fine * c)


@serial
def _gradient(f, a, b, c, shift, e):
    """Normalised central difference; `shift` is 0.5 for cell arrays and 0 for nodal ones."""
    a, b, c = a - shift, b - shift, c - shift
    g0 = _value(f, a + e, b, c) - _value(f, a - e, b, c)
    g1 = _value(f, a, b + e, c) - _value(f, a, b - e, c)
    g2 = _value(f, a, b, c + e) - _value(f, a, b, c - e)
    s = np.sqrt(g0 * g0 + g1 * g1 + g2 * g2) + 1e-12
    return g0 / s, g1 / s, g2 / s


@serial
def _leap(full, a, b, c, d0, d1, d2):
    """(distance to the end of the block around a point if the block is uniform, else 0; its kind, see `_occupied`)."""
    p, q, r = int(a) // BLOCK, int(b) // BLOCK, int(c) // BLOCK
    if p < 0 or q < 0 or r < 0 or p >= full.shape[0] or q >= full.shape[1] or r >= full.shape[2]:
        return 0.0, 1
    if full[p, q, r] == 1:
        return 0.0, 1
    way = 1e9
    if abs(d0) > 1e-9:
        way = min(way, (BLOCK * (p + (1 if d0 > 0.0 else 0)) - a) / d0)
    if abs(d1) > 1e-9:
        way = min(way, (BLOCK * (q + (1 if d1 > 0.0 else 0)) - b) / d1)
    if abs(d2) > 1e-9:
        way = min(way, (BLOCK * (r + (1 if d2 > 0.0 else 0)) - c) / d2)
    return way + 1e-3, int(full[p, q, r])


@serial
def _through(phi, solid, body, fine, full, a, b, c, d0, d1, d2, in_liquid, enough):
    """March from a point; returns (what, a, b, c, liquid path length).

    what: 0 left the box, 1 solid, 2 liquid entered (only if not in_liquid), 3 a body. `body` is a distance in cells
    on nodes `fine` times as close as those of the grid; `full` marks the blocks that are not empty. After the distance
    `enough` in liquid nothing behind it is visible.
    """
    nx, ny, nz = phi.shape
    wet = 0.0
    for _ in range(40 * (nx + ny + nz)):
        if a < 0.0 or b < 0.0 or c < 0.0 or a > nx or b > ny or c > nz:
            # back to the point where it passed the side, which decides what is visible
            h = 0.0
            h = max(h, -a / -d0 if a < 0.0 else ((a - nx) / d0 if a > nx else 0.0))
            h = max(h, -b / -d1 if b < 0.0 else ((b - ny) / d1 if b > ny else 0.0))
            h = max(h, -c / -d2 if c < 0.0 else ((c - nz) / d2 if c > nz else 0.0))
            return 0, a - h * d0, b - h * d1, c - h * d2, max(wet - h, 0.0) if in_liquid else 0.0
        h, kind = _leap(full, a, b, c, d0, d1, d2)
        if kind == 2 and in_liquid:
            wet += h
            if wet > enough:
                return 0, a, b, c, wet
        elif kind != 0:
            s = _value(solid, a, b, c)
            if s < 0.0:
                h = min(-s, 1.0)
                return 1, a - h * d0, b - h * d1, c - h * d2, wet
            o = _off(body, fine, a, b, c)
            if o < 0.0:
                return 3, a + o * d0, b + o * d1, c + o * d2, wet
            s = min(s, o)
            p = _liquid(phi, a, b, c)
            if in_liquid:
                h = min(max(min(s, abs(p)), 0.25), 1.0)
                if p < 0.0:
                    wet += h
                    if wet > enough:
                        return 0, a, b, c, wet
            elif p < 0.0:
                # back up to the surface by bisection over the last step
                low, high = -1.0, 0.0
                for _ in range(6):
                    mid = 0.5 * (low + high)
                    if _liquid(phi, a + mid * d0, b + mid * d1, c + mid * d2) < 0.0:
                        high = mid
                    else:
                        low = mid
                return 2, a + high * d0, b + high * d1, c + high * d2, wet
            else:
                h = min(max(0.7 * min(p, s), 0.12), 1.0)
        a += h * d0
        b += h * d1
        c += h * d2
    return 0, a, b, c, wet
