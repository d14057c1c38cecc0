"""The path of a ray: the fields it samples and what it hits.

Lengths are in cells. `_blocks` says where a ray must look at the fields.
"""

from typing import NamedTuple

import numpy as np

from ...grid._levelset import _normal
from ...kernels import merged, serial
from ._blocks import BODY, LIQUID, SOLID, SURFACES, WALL, WET, _nearest_triangle, _step


class RayScene(NamedTuple):
    """All that rays can meet; the arrays of one frame.

    Functions that are called at every step of a ray take single arrays, and the others unpack this tuple once: numba
    counts references to the entries of a tuple, which makes rays slower.
    """

    #: level set of the liquid over cells; colours of the liquid over cells, or one (1, 1, 1, 3)
    phi: np.ndarray
    dye: np.ndarray
    #: distance to walls at nodes `wall_fine` times as close as those of the grid
    wall: np.ndarray
    wall_fine: float
    #: distance to solids of triangles at the nodes of the grid; (1, 1, 1) without
    rock: np.ndarray
    #: distance to bodies and number of the nearest one, likewise; (1, 1, 1) without bodies
    body: np.ndarray
    body_fine: float
    owner: np.ndarray
    #: codes of cells and blocks, see `_blocks`
    cell: np.ndarray
    block: np.ndarray
    #: shade of the liquid over cells, and do walls or bodies cast shadows; see `_light`
    shade: np.ndarray
    casts: bool
    #: triangles by cell, their corners and normals (see `_blocks`), and whose they are: a body's number, or -1 for
    #: a wall
    lists: np.ndarray
    tri: np.ndarray
    whose: np.ndarray
    #: colours of bodies; a body whose number is `PAINTED` or more has the colours of the dye
    paint: np.ndarray


#: what a ray can hit
OUT, STONE, WATER, THING, TRIANGLE = 0, 1, 2, 3, 4
#: a body with this number has the colours of the dye
PAINTED = 100


@merged
def _value(f, a, b, c):
    """Trilinear value at node coordinates, clamped at the border; every axis has at least two nodes."""
    nx, ny, nz = f.shape
    a, b, c = min(max(a, 0.0), nx - 1.0001), min(max(b, 0.0), ny - 1.0001), min(max(c, 0.0), nz - 1.0001)
    i, j, k = int(a), int(b), int(c)
    x, y, z = np.float32(a - i), np.float32(b - j), np.float32(c - k)
    i0, j0, k0, i1, j1, k1 = np.uintp(i), np.uintp(j), np.uintp(k), np.uintp(i + 1), np.uintp(j + 1), np.uintp(k + 1)
    f00, f01, f10, f11 = f[i0, j0, k0], f[i0, j1, k0], f[i1, j0, k0], f[i1, j1, k0]
    f00 += z * (f[i0, j0, k1] - f00)
    f01 += z * (f[i0, j1, k1] - f01)
    f10 += z * (f[i1, j0, k1] - f10)
    f11 += z * (f[i1, j1, k1] - f11)
    f00 += y * (f01 - f00)
    f10 += y * (f11 - f10)
    return f00 + x * (f10 - f00)


@merged
def _liquid(phi, a, b, c):
    return _value(phi, a - 0.5, b - 0.5, c - 0.5)


@merged
def _off(body, fine, a, b, c):
    """Distance to the nearest body; a large number if there are none."""
    if body.size == 1:
        return np.float32(1e3)
    return _value(body, fine * a, fine * b, fine * c)


@merged
def _open(wall, wall_fine, rock, a, b, c):
    """Distance to walls and solids of triangles at a point."""
    d = np.float64(_value(wall, wall_fine * a, wall_fine * b, wall_fine * c))
    if rock.size == 1:
        return d
    return min(d, np.float64(_value(rock, a, b, c)))


@serial
def _slope(f, a, b, c):
    """Normalised central difference over one node to both sides, at node coordinates."""
    g0 = np.float64(_value(f, a + 1.0, b, c) - _value(f, a - 1.0, b, c))
    g1 = np.float64(_value(f, a, b + 1.0, c) - _value(f, a, b - 1.0, c))
    g2 = np.float64(_value(f, a, b, c + 1.0) - _value(f, a, b, c - 1.0))
    s = np.sqrt(g0 * g0 + g1 * g1 + g2 * g2) + 1e-12
    return g0 / s, g1 / s, g2 / s


@serial
def _sharp_normal(f, a, b, c):
    """The normal from differences over half a node to both sides: edges of bodies stay sharp. Compiled once."""
    return _normal(f, a, b, c)


@merged
def _dye(dye, a, b, c):
    """Colour of the liquid at a point."""
    nx, ny, nz, _ = dye.shape
    if dye.size == 3:
        return np.float64(dye[0, 0, 0, 0]), np.float64(dye[0, 0, 0, 1]), np.float64(dye[0, 0, 0, 2])
    a, b, c = min(max(a - 0.5, 0.0), nx - 1.001), min(max(b - 0.5, 0.0), ny - 1.001), min(max(c - 0.5, 0.0), nz - 1.001)
    i, j, k = int(a), int(b), int(c)
    s0, s1, s2 = 0.0, 0.0, 0.0
    for corner in range(8):
        p, q, r = corner & 1, corner >> 1 & 1, corner >> 2
        w = (a - i if p else i + 1 - a) * (b - j if q else j + 1 - b) * (c - k if r else k + 1 - c)
        s0 += w * dye[i + p, j + q, k + r, 0]
        s1 += w * dye[i + p, j + q, k + r, 1]
        s2 += w * dye[i + p, j + q, k + r, 2]
    return s0, s1, s2


@merged
def _inverse(d):
    """1/d, large instead of infinite; a component of 1e-9 never decides."""
    return 1.0 / d if abs(d) > 1e-9 else 1e9


@merged
def _upward(d):
    """A direction's component without zeros, so that the next border lies ahead."""
    return d if abs(d) > 1e-9 else 1e-9


@serial
def _back(f, shift, fine, a, b, c, d0, d1, d2, step):
    """How far to go back to the surface from a point inside it: two secants over the last step."""
    low, high, outside, inside = -step, 0.0, 0.0, 0.0
    for turn in range(3):
        t = -step if turn == 0 else (0.0 if turn == 1 else high - inside * (high - low) / (inside - outside))
        v = np.float64(_value(f, fine * (a + t * d0) - shift, fine * (b + t * d1) - shift, fine * (c + t * d2) - shift))
        if v < 0.0:
            high, inside = t, v
        else:
            low, outside = t, v
        if high == -step or (turn == 1 and v >= 0.0):  # both ends are on one side
            return t
    return high - inside * (high - low) / (inside - outside)


@merged
def _left(nx, ny, nz, a, b, c, d0, d1, d2):
    """How far a point that has left the box is beyond the side it left by."""
    h = 0.0
    h = max(h, -a / -d0 if a < 0.0 else ((a - nx) / d0 if a > nx else 0.0))
    h = max(h, -b / -d1 if b < 0.0 else ((b - ny) / d1 if b > ny else 0.0))
    return max(h, -c / -d2 if c < 0.0 else ((c - nz) / d2 if c > nz else 0.0))


@merged
def _sample(phi, wall, wall_fine, body, body_fine, code, x, y, z, inside):
    """How far the nearest surface of a cell is, at most 2; STONE or THING inside one, else OUT; whether it is liquid.

    Inside a body the distance is negative. Where the cell has no surface of the liquid, `inside` stays as it was.
    """
    gap = 2.0
    if code & WALL:
        gap = np.float64(_value(wall, wall_fine * x, wall_fine * y, wall_fine * z))
        if gap < 0.0:
            return gap, STONE, inside
    if code & BODY:
        o = np.float64(_off(body, body_fine, x, y, z))
        if o < 0.0:
            return o, THING, inside
        gap = min(gap, o)
    if code & LIQUID:
        p = np.float64(_liquid(phi, x, y, z))
        inside = p < 0.0
        gap = min(gap, abs(p))
    return gap, OUT, inside


@merged
def _through(scene, a, b, c, d0, d1, d2, in_liquid, enough):
    """March from a point; returns (what, a, b, c, liquid path length, number of the triangle).

    what: OUT left the box, STONE a wall, WATER liquid entered (only if not in_liquid), THING a body, TRIANGLE. After
    the distance `enough` in liquid nothing behind it is visible.
    """
    phi, _, wall, wall_fine, _, body, body_fine, _, cell, block, _, _, lists, tri, _, _ = scene
    nx, ny, nz = phi.shape
    wet = 0.0
    d0, d1, d2 = _upward(d0), _upward(d1), _upward(d2)
    e0, e1, e2 = _inverse(d0), _inverse(d1), _inverse(d2)
    # Steps continue across cells: for the distance `spare` nothing can be hit of what was `known` at the last sample.
    spare, known, step, inside = 0.0, 0, 0.5, False
    for _ in range(8 * (nx + ny + nz)):
        if a < 0.0 or b < 0.0 or c < 0.0 or a > nx or b > ny or c > nz:
            # back to the point where it passed the side, which decides what is visible
            h = _left(nx, ny, nz, a, b, c, d0, d1, d2)
            return OUT, a - h * d0, b - h * d1, c - h * d2, max(wet - h, 0.0) if in_liquid else 0.0, -1
        h, code = _step(block, cell, a, b, c, d0, d1, d2, e0, e1, e2)
        if code & SURFACES == 0:
            spare, step = 0.0, 0.5
            if code == SOLID:
                t = _back(wall, 0.0, wall_fine, a, b, c, d0, d1, d2, 0.5)
                return STONE, a + t * d0, b + t * d1, c + t * d2, wet, -1
            if code == WET:
                if not in_liquid:
                    t = _back(phi, 0.5, 1.0, a, b, c, d0, d1, d2, 0.5)
                    return WATER, a + t * d0, b + t * d1, c + t * d2, wet, -1
                wet += h
                if wet > enough:
                    return OUT, a, b, c, wet, -1
        else:
            far, which = _nearest_triangle(lists, tri, phi.shape, code, a, b, c, d0, d1, d2, h)
            if code & LIQUID == 0:
                inside = code & WET != 0
                if inside and not in_liquid:
                    return WATER, a, b, c, wet, -1
            if code & SURFACES & ~known:
                spare, step = 0.0, 0.5
            t = 0.0
            while True:
                way = min(spare, far - t)
                t += way
                if in_liquid and inside:
                    wet += way
                    if wet > enough:
                        return OUT, a + t * d0, b + t * d1, c + t * d2, wet, -1
                if t >= far:
                    spare -= way
                    break
                x, y, z = a + t * d0, b + t * d1, c + t * d2
                gap, what, inside = _sample(phi, wall, wall_fine, body, body_fine, code, x, y, z, inside)
                if what == STONE:
                    t = _back(wall, 0.0, wall_fine, x, y, z, d0, d1, d2, step)
                    return STONE, x + t * d0, y + t * d1, z + t * d2, wet, -1
                if what == THING:
                    return THING, x + gap * d0, y + gap * d1, z + gap * d2, wet, -1
                if code & LIQUID and inside and not in_liquid:
                    t = _back(phi, 0.5, 1.0, x, y, z, d0, d1, d2, step)
                    return WATER, x + t * d0, y + t * d1, z + t * d2, wet, -1
                step = min(max(0.9 * gap, 0.3), 1.0)
                spare, known = step, code
            if which >= 0:
                return TRIANGLE, a + far * d0, b + far * d1, c + far * d2, wet, which
        a, b, c = a + h * d0, b + h * d1, c + h * d2
    return OUT, a, b, c, wet, -1
