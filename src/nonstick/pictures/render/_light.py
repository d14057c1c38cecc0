"""The light that falls on what a ray has hit: one sun with shadows, a bright surrounding, shade of liquid.

The shade of the liquid is how far the light of the sun has come through liquid, for every cell of a frame.

    w(x) = ∫ [φ < 0] along the way from x to the sun

is computed plane by plane from the side where the sun stands, W(x) = W(x + d) + the wet share of the way d to the next
plane, with W and φ interpolated there. The interpolation widens a shadow with the distance from what casts it, as the
size of a real sun does. One pass over the cells costs less than a march towards the sun for every ray that sees a wall.
"""

import numpy as np

from ...kernels import merged, serial
from ._blocks import BODY, SOLID, TRIANGLES, WALL, _nearest_triangle, _normal, _step
from ._rays import PAINTED, THING, TRIANGLE, _dye, _inverse, _off, _open, _sharp_normal, _slope, _upward, _value


@merged
def _sky(d1):
    """Brightness of the surroundings in direction with upward component d1: a bright dome above a darker floor."""
    t = min(1.0, max(0.0, 0.5 + 1.4 * d1))
    return 0.62 + 0.38 * t * t * (3.0 - 2.0 * t)


@merged
def _sunlit(wall, wall_fine, body, body_fine, cell, block, lists, tri, a, b, c, sun):
    """The share of the sun that walls and bodies let through to a point.

    A wall with no open space behind it belongs to the container and lets light through: otherwise a closed sphere would
    be dark inside.
    """
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
                return 0.0
        else:
            if _nearest_triangle(lists, tri, cell.shape, code, a, b, c, d0, d1, d2, h)[1] >= 0:
                return 0.0
            t = 0.0
            while t < h:
                x, y, z = a + t * d0, b + t * d1, c + t * d2
                gap, hidden = 2.0, False
                if code & WALL:
                    w = np.float64(_value(wall, wall_fine * x, wall_fine * y, wall_fine * z))
                    gap, hidden = abs(w), w < 0.0
                    walled = walled or hidden
                if walled and not hidden:
                    return 0.0
                if code & BODY:
                    o = np.float64(_off(body, body_fine, x, y, z))
                    if o < 0.0:
                        return 0.0
                    # the edge of a shadow is softened by how closely the ray passes the body
                    closest = min(closest, 12.0 * o / max(way + t, 1.0))
                    gap = min(gap, o)
                t += max(gap, 0.45)
        a += h * d0
        b += h * d1
        c += h * d2
        way += h
    return closest


@merged
def _shadow(scene, a, b, c, sun, soak):
    """(share of the sun that walls and bodies let through, the same for liquid) at a point."""
    _, _, wall, wall_fine, _, body, body_fine, _, cell, block, shade, casts, lists, tri, _, _ = scene
    damp = 0.45 + 0.55 * np.exp(-max(np.float64(_value(shade, a - 0.5, b - 0.5, c - 0.5)), 0.0) / soak)
    if not casts:
        return 1.0, damp
    return _sunlit(wall, wall_fine, body, body_fine, cell, block, lists, tri, a, b, c, sun), damp


@merged
def _corner(scene, a, b, c, n0, n1, n2, reach):
    """How open the surroundings of a wall point are (0..1): corners and the ground under objects are darker."""
    phi, _, wall, wall_fine, rock, body, body_fine = scene[:7]
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
def _facing(scene, what, which, a, b, c, d0, d1, d2):
    """The normal of what a ray has hit, towards the ray."""
    nx, ny, nz = scene.phi.shape
    if what == TRIANGLE:
        return _normal(scene.tri, which, a, b, c)
    if what == THING:
        fine = scene.body_fine
        return _sharp_normal(scene.body, fine * a, fine * b, fine * c)
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
    fine = scene.wall_fine
    n0, n1, n2 = _slope(scene.wall, fine * a, fine * b, fine * c)
    if n0 * d0 + n1 * d1 + n2 * d2 > 0.0:
        return -n0, -n1, -n2
    return n0, n1, n2


@merged
def _whose(scene, what, which, a, b, c):
    """The number of the body that a ray has hit; -1 for a wall."""
    if what == TRIANGLE:
        return int(scene.whose[which])
    if what != THING:
        return -1
    body_fine, owner = scene.body_fine, scene.owner
    i = min(max(int(body_fine * a + 0.5), 0), owner.shape[0] - 1)
    j = min(max(int(body_fine * b + 0.5), 0), owner.shape[1] - 1)
    k = min(max(int(body_fine * c + 0.5), 0), owner.shape[2] - 1)
    return int(owner[i, j, k])


@merged
def _look(scene, look, what, which, a, b, c, d0, d1, d2, shaded):
    """Colour of the point that a ray has hit: of a wall, or of a body in its colour."""
    sun, water, stone, every = look.sun, look.water, look.stone, look.every
    nx, ny, nz = scene.phi.shape
    n0, n1, n2 = _facing(scene, what, which, a, b, c, d0, d1, d2)
    mine = _whose(scene, what, which, a, b, c)
    facing = max(0.0, n0 * sun[0] + n1 * sun[1] + n2 * sun[2])
    dry, wet = 1.0, 1.0
    if shaded and facing > 0.0:
        dry, wet = _shadow(scene, a + 0.7 * n0, b + 0.7 * n1, c + 0.7 * n2, sun, 1.5 * look.absorb)
    around = 1.0
    if shaded and mine < PAINTED:
        around = _corner(scene, a, b, c, n0, n1, n2, 0.06 * max(nx, ny, nz))
    # light from above and from the walls around, and the sun; shade of liquid has its colour
    dome = (0.66 + 0.04 * n1) * (0.60 + 0.40 * around)
    direct = 0.32 * facing * dry
    if mine >= 0:
        light = dome + 1.2 * direct * wet
        if mine >= PAINTED:
            p0, p1, p2 = _dye(scene.dye, a, b, c)
            return light * p0, light * p1, light * p2
        paint = scene.paint
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


def shade_of(phi: np.ndarray, stone: np.ndarray, sun: np.ndarray) -> np.ndarray:
    """Length of the way in liquid from the centre of each cell to the sun; solid cells of `stone` hold no liquid."""
    out = np.empty(phi.shape, np.float32)
    along = int(np.argmax(np.abs(sun)))
    first, second = (a for a in range(3) if a != along)
    # planes in their order from the sun on
    order = slice(None, None, -1 if sun[along] > 0.0 else 1)
    views = [field.transpose(along, first, second)[order] for field in (out, phi, stone)]
    steep = abs(sun[along])
    _sum_shade(*views, sun[first] / steep, sun[second] / steep, 1.0 / steep)
    return out


@serial
def _sum_shade(out, phi, stone, u, v, long):
    """out[0] belongs to the plane nearest to the sun, in direction (-1, u, v) over `long` from plane to plane."""
    planes, rows, cols = out.shape
    i0, j0 = 0 if u >= 0.0 else -1, 0 if v >= 0.0 else -1
    x, y = np.float32(u - i0), np.float32(v - j0)
    c00, c01, c10, c11 = (1 - x) * (1 - y), (1 - x) * y, x * (1 - y), x * y
    way, nothing = np.float32(long), np.float32(0.0)
    # the last plane and its φ with a border: beyond the box φ is continued, and the light comes through nothing
    w, f = np.zeros((rows + 2, cols + 2), np.float32), np.ones((rows + 2, cols + 2), np.float32)
    for k in range(planes):
        for i in range(rows):
            for j in range(cols):
                own = np.float32(1.0) if stone[k, i, j] == SOLID else phi[k, i, j]
                if k == 0:
                    out[k, i, j] = np.float32(0.5) * way if own < nothing else nothing
                    continue
                a, b = i + 1 + i0, j + 1 + j0
                g = c00 * f[a, b] + c01 * f[a, b + 1] + c10 * f[a + 1, b] + c11 * f[a + 1, b + 1]
                before = c00 * w[a, b] + c01 * w[a, b + 1] + c10 * w[a + 1, b] + c11 * w[a + 1, b + 1]
                # the share of the way with φ < 0 if φ is linear on it
                inside = max(-own, nothing) + max(-g, nothing)
                out[k, i, j] = before + way * (inside / (abs(own) + abs(g) + np.float32(1e-20)))
        for i in range(rows):
            for j in range(cols):
                w[i + 1, j + 1] = out[k, i, j]
                f[i + 1, j + 1] = np.float32(1.0) if stone[k, i, j] == SOLID else phi[k, i, j]
        for i in range(rows):
            f[i + 1, 0], f[i + 1, cols + 1] = f[i + 1, 1], f[i + 1, cols]
        for j in range(cols + 2):
            f[0, j], f[rows + 1, j] = f[1, j], f[rows, j]


@serial
def _casts(wall, wall_fine, body, cell, block, lists, tri, sun):
    """Does any wall cast a shadow? Asked for a point before the wall in every cell that walls cut or the box bounds.

    `body`, `lists` and `tri` are empty: bodies and triangles always cast shadows.
    """
    nx, ny, nz = cell.shape
    f = wall_fine
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                side = i == 0 or j == 0 or k == 0 or i == nx - 1 or j == ny - 1 or k == nz - 1
                if cell[i, j, k] == SOLID or not (side or cell[i, j, k] & WALL):
                    continue
                a, b, c = i + 0.5, j + 0.5, k + 0.5
                w = np.float64(_value(wall, f * a, f * b, f * c))
                if cell[i, j, k] & WALL:
                    n0, n1, n2 = _slope(wall, f * a, f * b, f * c)
                    if n0 * sun[0] + n1 * sun[1] + n2 * sun[2] <= 0.0 and not side:
                        continue
                    a, b, c = a + (0.7 - w) * n0, b + (0.7 - w) * n1, c + (0.7 - w) * n2
                elif w < 0.0:
                    continue
                if _sunlit(wall, f, body, 1.0, cell, block, lists, tri, a, b, c, sun) == 0.0:
                    return True
    return False
