"""The shade of the liquid: how far the light of the sun has come through liquid, for every cell of a frame.

    w(x) = ∫ [φ < 0] along the way from x to the sun

is computed plane by plane from the side where the sun stands, W(x) = W(x + d) + the wet share of the way d to the next
plane, with W and φ interpolated there. The interpolation widens a shadow with the distance from what casts it, as the
size of a real sun does. One pass over the cells costs less than a march towards the sun for every ray that sees a wall.
"""

import numpy as np

from ..kernels import merged, serial
from ._blocks import SOLID, SURFACES, WALL, _step
from ._rays import _inverse, _slope, _upward, _value


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
    # the last plane and its φ with a border: beyond the box φ goes on, and the light comes through nothing
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


@merged
def _walled_off(wall, wall_fine, cell, block, a, b, c, d0, d1, d2):
    """Does a wall with open space behind it stand between a point and the sun?"""
    nx, ny, nz = cell.shape
    d0, d1, d2 = _upward(d0), _upward(d1), _upward(d2)
    e0, e1, e2 = _inverse(d0), _inverse(d1), _inverse(d2)
    walled = False
    for _ in range(8 * (nx + ny + nz)):
        if a < 0.0 or b < 0.0 or c < 0.0 or a > nx or b > ny or c > nz:
            break
        h, code = _step(block, cell, a, b, c, d0, d1, d2, e0, e1, e2)
        if code == SOLID:
            walled = True
        elif code & SURFACES == 0:
            if walled:
                return True
        else:
            t = 0.0
            while t < h:
                x, y, z = a + t * d0, b + t * d1, c + t * d2
                w = np.float64(_value(wall, wall_fine * x, wall_fine * y, wall_fine * z))
                if w < 0.0:
                    walled = True
                elif walled:
                    return True
                t += max(abs(w), 0.45)
        a, b, c = a + h * d0, b + h * d1, c + h * d2
    return False


@serial
def _casts(wall, wall_fine, cell, block, sun):
    """Does any wall cast a shadow? Asked for a point before the wall in every cell that walls cut or the box bounds."""
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
                if _walled_off(wall, f, cell, block, a, b, c, sun[0], sun[1], sun[2]):
                    return True
    return False
