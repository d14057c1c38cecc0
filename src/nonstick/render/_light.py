"""The light that falls on what a ray has hit: one sun with shadows, a bright surrounding, shade of liquid."""

import numpy as np

from ..kernels import merged
from ._blocks import BODY, SOLID, TRIANGLES, WALL, _step
from ._rays import PAINTED, THING, TRIANGLE, _dye, _gradient, _inverse, _off, _open, _slope, _upward, _value
from ._triangles import _hit, _normal


@merged
def _sky(d1):
    """Brightness of the surroundings in direction with upward component d1: a bright dome above a darker floor."""
    t = min(1.0, max(0.0, 0.5 + 1.4 * d1))
    return 0.62 + 0.38 * t * t * (3.0 - 2.0 * t)


@merged
def _shadow(shade, casts, wall, wall_fine, body, body_fine, cell, block, lists, tri, a, b, c, sun, soak):
    """(share of the sun that walls and bodies let through, the same for liquid) at a point.

    A wall with no open space behind it belongs to the container and lets light through: otherwise a closed sphere would
    be dark inside. `shade` is what `_sum_shade` makes; `casts` is False if neither walls nor bodies cast shadows.
    """
    damp = 0.45 + 0.55 * np.exp(-max(np.float64(_value(shade, a - 0.5, b - 0.5, c - 0.5)), 0.0) / soak)
    if not casts:
        return 1.0, damp
    nx, ny, nz = cell.shape
    d0, d1, d2 = _upward(sun[0]), _upward(sun[1]), _upward(sun[2])
    e0, e1, e2 = _inverse(d0), _inverse(d1), _inverse(d2)
    walled, closest, way = False, 1.0, 0.0
    for _ in range(8 * (nx + ny + nz)):
        if a < 0.0 or b < 0.0 or c < 0.0 or a > nx or b > ny or c > nz:
            break
        h, code = _step(block, cell, a, b, c, d0, d1, d2, e0, e1, e2)
        if code == SOLID:
            walled = True
        elif code & (WALL | BODY | TRIANGLES) == 0:
            if walled:
                return 0.0, 1.0
        else:
            if code & TRIANGLES:
                i, j, k = min(int(a), nx - 1), min(int(b), ny - 1), min(int(c), nz - 1)
                if _hit(lists, tri, (i * ny + j) * nz + k, a, b, c, d0, d1, d2, h)[1] >= 0:
                    return 0.0, 1.0
            t = 0.0
            while t < h:
                x, y, z = a + t * d0, b + t * d1, c + t * d2
                gap, hidden = 2.0, False
                if code & WALL:
                    w = np.float64(_value(wall, wall_fine * x, wall_fine * y, wall_fine * z))
                    gap, hidden = abs(w), w < 0.0
                    walled = walled or hidden
                if walled and not hidden:
                    return 0.0, 1.0
                if code & BODY:
                    o = np.float64(_off(body, body_fine, x, y, z))
                    if o < 0.0:
                        return 0.0, 1.0
                    # the edge of a shadow is softened by how closely the ray passes the body
                    closest = min(closest, 12.0 * o / max(way + t, 1.0))
                    gap = min(gap, o)
                t += max(gap, 0.45)
        a += h * d0
        b += h * d1
        c += h * d2
        way += h
    return closest, damp


@merged
def _corner(phi, wall, wall_fine, rock, body, body_fine, a, b, c, n0, n1, n2, reach):
    """How open the surroundings of a wall point are (0..1): corners and the ground under objects are darker."""
    nx, ny, nz = phi.shape
    dark = 0.0
    for k in range(1, 4):
        t = reach * k / 3.0
        x, y, z = a + t * n0, b + t * n1, c + t * n2
        d = min(_open(wall, wall_fine, rock, x, y, z), np.float64(_off(body, body_fine, x, y, z)))
        d = min(d, x, nx - x, y, ny - y, z, nz - z)
        dark += max(0.0, t - d) / t * (0.5**k)
    return 1.0 - min(1.0, dark / 0.875)


@merged
def _facing(phi, wall, wall_fine, body, body_fine, tri, what, which, a, b, c, d0, d1, d2):
    """The normal of what a ray has hit, towards the ray."""
    nx, ny, nz = phi.shape
    if what == TRIANGLE:
        return _normal(tri, which, a, b, c)
    if what == THING:
        return _gradient(body, body_fine * a, body_fine * b, body_fine * c, 0.5)
    edge = 0.02
    if a < edge:
        return 1.0, 0.0, 0.0
    if a > nx - edge:
        return -1.0, 0.0, 0.0
    if b < edge:
        return 0.0, 1.0, 0.0
    if b > ny - edge:
        return 0.0, -1.0, 0.0
    if c < edge:
        return 0.0, 0.0, 1.0
    if c > nz - edge:
        return 0.0, 0.0, -1.0
    n0, n1, n2 = _slope(wall, wall_fine * a, wall_fine * b, wall_fine * c)
    if n0 * d0 + n1 * d1 + n2 * d2 > 0.0:
        return -n0, -n1, -n2
    return n0, n1, n2


@merged
def _whose(body_fine, owner, whose, what, which, a, b, c):
    """The number of the body that a ray has hit; -1 for a wall."""
    if what == TRIANGLE:
        return int(whose[which])
    if what != THING:
        return -1
    i = min(max(int(body_fine * a + 0.5), 0), owner.shape[0] - 1)
    j = min(max(int(body_fine * b + 0.5), 0), owner.shape[1] - 1)
    k = min(max(int(body_fine * c + 0.5), 0), owner.shape[2] - 1)
    return int(owner[i, j, k])


@merged
def _look(
    phi, dye, wall, wall_fine, rock, body, body_fine, owner, cell, block, shade, casts, lists, tri, whose, paint,
    sun, water, stone, every, what, which, a, b, c, d0, d1, d2, soak, shaded
):  # fmt: skip
    """Colour of the point that a ray has hit: of a wall, or of a body in its colour; arguments as in `_march`."""
    nx, ny, nz = phi.shape
    n0, n1, n2 = _facing(phi, wall, wall_fine, body, body_fine, tri, what, which, a, b, c, d0, d1, d2)
    mine = _whose(body_fine, owner, whose, what, which, a, b, c)
    facing = max(0.0, n0 * sun[0] + n1 * sun[1] + n2 * sun[2])
    dry, wet = 1.0, 1.0
    if shaded and facing > 0.0:
        dry, wet = _shadow(
            shade,
            casts,
            wall,
            wall_fine,
            body,
            body_fine,
            cell,
            block,
            lists,
            tri,
            a + 0.7 * n0,
            b + 0.7 * n1,
            c + 0.7 * n2,
            sun,
            soak,
        )
    around = 1.0
    if shaded and mine < PAINTED:
        around = _corner(phi, wall, wall_fine, rock, body, body_fine, a, b, c, n0, n1, n2, 0.06 * max(nx, ny, nz))
    # light from above and from the walls around, and the sun; shade of liquid has its colour
    dome = (0.66 + 0.04 * n1) * (0.60 + 0.40 * around)
    direct = 0.32 * facing * dry
    if mine >= 0:
        light = dome + 1.2 * direct * wet
        if mine >= PAINTED:
            p0, p1, p2 = _dye(dye, a, b, c)
            return light * p0, light * p1, light * p2
        return light * paint[mine, 0], light * paint[mine, 1], light * paint[mine, 2]
    # lines where a coordinate along the wall is a multiple of `every`
    line = 1.0
    if what != TRIANGLE:
        for axis in range(3):
            x = a if axis == 0 else (b if axis == 1 else c)
            n = n0 if axis == 0 else (n1 if axis == 1 else n2)
            if abs(n) < 0.8:
                t = x / every
                off = abs(t - np.floor(t + 0.5)) * every
                line = min(line, 0.93 + 0.07 * min(1.0, off / (0.09 * every)))
    most = max(water[0], water[1], water[2], 1e-6)
    l0, l1, l2 = dome + direct, dome + direct, dome + direct
    if wet < 1.0 and direct > 0.0:
        deep = np.log(wet)
        l0 = dome + direct * np.exp(deep * (2.0 - 1.5 * water[0] / most))
        l1 = dome + direct * np.exp(deep * (2.0 - 1.5 * water[1] / most))
        l2 = dome + direct * np.exp(deep * (2.0 - 1.5 * water[2] / most))
    return stone[0] * l0 * line, stone[1] * l1 * line, stone[2] * l2 * line
