"""Ray marching a liquid level set in front of solids. Lengths are in cells, colours linear RGB."""

import numpy as np
from numba import prange

from . import parallel, serial
from ._interpolate import _sample


@serial
def _liquid(phi, a, b, c):
    return _sample(phi, a - 0.5, b - 0.5, c - 0.5)


@serial
def _gradient(f, a, b, c, shift, e):
    """Normalised central difference; `shift` is 0.5 for cell arrays and 0 for nodal ones."""
    a, b, c = a - shift, b - shift, c - shift
    g0 = _sample(f, a + e, b, c) - _sample(f, a - e, b, c)
    g1 = _sample(f, a, b + e, c) - _sample(f, a, b - e, c)
    g2 = _sample(f, a, b, c + e) - _sample(f, a, b, c - e)
    s = np.sqrt(g0 * g0 + g1 * g1 + g2 * g2) + 1e-12
    return g0 / s, g1 / s, g2 / s


@serial
def _sky(d1):
    """Brightness of the surroundings in direction with upward component d1."""
    t = 0.5 + 0.5 * d1
    return 0.72 + 0.28 * t


@serial
def _stone(solid, a, b, c, sun0, sun1, sun2, d0, d1, d2, every, box0, box1, box2):
    """Shade of a wall at a point: diffuse, with faint lines every `every` cells to show depth."""
    n0, n1, n2 = _gradient(solid, a, b, c, 0.0, 0.5)
    edge = 0.02
    if a < edge:
        n0, n1, n2 = 1.0, 0.0, 0.0
    elif a > box0 - edge:
        n0, n1, n2 = -1.0, 0.0, 0.0
    elif b < edge:
        n0, n1, n2 = 0.0, 1.0, 0.0
    elif b > box1 - edge:
        n0, n1, n2 = 0.0, -1.0, 0.0
    elif c < edge:
        n0, n1, n2 = 0.0, 0.0, 1.0
    elif c > box2 - edge:
        n0, n1, n2 = 0.0, 0.0, -1.0
    if n0 * d0 + n1 * d1 + n2 * d2 > 0.0:
        n0, n1, n2 = -n0, -n1, -n2
    light = 0.62 + 0.38 * max(0.0, n0 * sun0 + n1 * sun1 + n2 * sun2)
    # lines where a coordinate along the wall is a multiple of `every`
    line = 1.0
    for axis in range(3):
        x = a if axis == 0 else (b if axis == 1 else c)
        n = n0 if axis == 0 else (n1 if axis == 1 else n2)
        if abs(n) < 0.8:
            t = x / every
            off = abs(t - np.floor(t + 0.5)) * every
            line = min(line, 0.90 + 0.10 * min(1.0, off / 0.35))
    return light * line


@serial
def _look(what, solid, body, owner, paint, fine, stone, a, b, c, sun, d0, d1, d2, every, box0, box1, box2):
    """Colour of what a ray has met: a wall, or (what = 3) a body in its paint."""
    if what != 3:
        shade = _stone(solid, a, b, c, sun[0], sun[1], sun[2], d0, d1, d2, every, box0, box1, box2)
        return stone[0] * shade, stone[1] * shade, stone[2] * shade
    n0, n1, n2 = _gradient(body, fine * a, fine * b, fine * c, 0.0, 0.5)
    light = 0.45 + 0.55 * max(0.0, n0 * sun[0] + n1 * sun[1] + n2 * sun[2])
    i = min(max(int(fine * a + 0.5), 0), owner.shape[0] - 1)
    j = min(max(int(fine * b + 0.5), 0), owner.shape[1] - 1)
    k = min(max(int(fine * c + 0.5), 0), owner.shape[2] - 1)
    mine = owner[i, j, k]
    return light * paint[mine, 0], light * paint[mine, 1], light * paint[mine, 2]


@serial
def _through(phi, solid, body, fine, a, b, c, d0, d1, d2, limit, in_liquid):
    """March from a point; returns (what, a, b, c, liquid path length).

    what: 0 left the box, 1 solid, 2 liquid entered (only if not in_liquid), 3 a body. `body` is a distance in cells
    on nodes `fine` times as close as those of the grid.
    """
    nx, ny, nz = phi.shape
    wet = 0.0
    t = 0.0
    inside = in_liquid
    while t < limit:
        if a < 0.0 or b < 0.0 or c < 0.0 or a > nx or b > ny or c > nz:
            return 0, a, b, c, wet
        s = _sample(solid, a, b, c)
        if s < 0.0:
            return 1, a, b, c, wet
        o = _sample(body, fine * a, fine * b, fine * c)
        if o < 0.0:
            return 3, a + o * d0, b + o * d1, c + o * d2, wet
        s = min(s, o)
        p = _liquid(phi, a, b, c)
        if in_liquid:
            inside = p < 0.0
        elif p < 0.0:
            # back up to the surface by bisection over the last step
            low, high = -1.0, 0.0
            for _ in range(5):
                mid = 0.5 * (low + high)
                if _liquid(phi, a + mid * d0, b + mid * d1, c + mid * d2) < 0.0:
                    high = mid
                else:
                    low = mid
            return 2, a + high * d0, b + high * d1, c + high * d2, wet
        h = min(max(0.7 * min(abs(p), s), 0.12), 1.0)
        if in_liquid:
            h = min(max(s, 0.12), 0.6)
            if inside:
                wet += h
        a += h * d0
        b += h * d1
        c += h * d2
        t += h
    return 0, a, b, c, wet


@parallel
def _march(
    image, phi, solid, body, owner, paint, fine, hue, eye, forward, right, up, sun, water, thick, stone, sky, size,
    absorb, ambient, every
):  # fmt: skip
    """Fill image (h, w, 3). An orthographic camera: rays start on the plane through `eye`, `size` cells wide.

    `body` is the distance to bodies in cells, `owner` which body is nearest, on nodes `fine` times as close as
    those of the grid; body k has the colour paint[k].

    Liquid is coloured between `water` (hue 0) and `thick` (hue 1, over cells); `ambient` is its brightness in shade.
    """
    height, width = image.shape[0], image.shape[1]
    nx, ny, nz = phi.shape
    limit = 2.0 * (nx + ny + nz)
    d0, d1, d2 = forward[0], forward[1], forward[2]
    for row in prange(height):
        for col in range(width):
            x = (col + 0.5 - 0.5 * width) / width * size
            y = (0.5 * height - row - 0.5) / width * size
            a = eye[0] + x * right[0] + y * up[0]
            b = eye[1] + x * right[1] + y * up[1]
            c = eye[2] + x * right[2] + y * up[2]
            back = _sky(0.6 - row / height)
            r0, r1, r2 = sky[0] * back, sky[1] * back, sky[2] * back
            # enter the box
            near, far = -1e30, 1e30
            for axis in range(3):
                o = a if axis == 0 else (b if axis == 1 else c)
                d = d0 if axis == 0 else (d1 if axis == 1 else d2)
                n = nx if axis == 0 else (ny if axis == 1 else nz)
                if abs(d) < 1e-12:
                    if o < 0.0 or o > n:
                        near = 1e30
                else:
                    t0, t1 = -o / d, (n - o) / d
                    near = max(near, min(t0, t1))
                    far = min(far, max(t0, t1))
            if near < far:
                a += (near + 1e-6) * d0
                b += (near + 1e-6) * d1
                c += (near + 1e-6) * d2
                # the wall in front is cut away: walk on until the room behind it begins
                gone = 0.0
                length = far - near
                while gone < length:
                    s = _sample(solid, a, b, c)
                    if s > 0.0:
                        break
                    h = max(0.15, min(-s, 2.0))
                    a += h * d0
                    b += h * d1
                    c += h * d2
                    gone += h
                if gone < length:
                    what, a, b, c, _wet = _through(phi, solid, body, fine, a, b, c, d0, d1, d2, limit, False)
                    if what != 2:
                        r0, r1, r2 = _look(
                            what, solid, body, owner, paint, fine, stone, a, b, c, sun, d0, d1, d2, every, nx, ny, nz
                        )
                    else:
                        n0, n1, n2 = _gradient(phi, a, b, c, 0.5, 0.75)
                        # seen through the wall that was cut away: the wall's shape is the surface
                        m0, m1, m2 = _gradient(solid, a, b, c, 0.0, 0.5)
                        touch = _sample(solid, a, b, c) < 0.75 and m0 * d0 + m1 * d1 + m2 * d2 > 0.0
                        for axis in range(3):
                            x = a if axis == 0 else (b if axis == 1 else c)
                            d = d0 if axis == 0 else (d1 if axis == 1 else d2)
                            n = nx if axis == 0 else (ny if axis == 1 else nz)
                            if (x < 0.75 and d > 0.0) or (x > n - 0.75 and d < 0.0):
                                touch = True
                                side = 1.0 if d > 0.0 else -1.0
                                m0 = side if axis == 0 else 0.0
                                m1 = side if axis == 1 else 0.0
                                m2 = side if axis == 2 else 0.0
                        if touch:
                            n0, n1, n2 = -m0, -m1, -m2
                        cosine = min(1.0, abs(n0 * d0 + n1 * d1 + n2 * d2))
                        # refraction into water, index 1.33
                        eta = 0.75
                        k = 1.0 - eta * eta * (1.0 - cosine * cosine)
                        m = eta * cosine - np.sqrt(max(k, 0.0))
                        t0, t1, t2 = eta * d0 + m * n0, eta * d1 + m * n1, eta * d2 + m * n2
                        s = np.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
                        t0, t1, t2 = t0 / s, t1 / s, t2 / s
                        h = 0.2
                        if touch:
                            t0, t1, t2 = d0, d1, d2
                            h = 1.0
                        what, e0, e1, e2, wet = _through(
                            phi, solid, body, fine, a + h * t0, b + h * t1, c + h * t2, t0, t1, t2, limit, True
                        )
                        s0, s1, s2 = _look(
                            what, solid, body, owner, paint, fine, stone, e0, e1, e2, sun, t0, t1, t2, every, nx, ny, nz
                        )
                        clear = np.exp(-wet / absorb)
                        light = ambient + (1.0 - ambient) * max(0.0, n0 * sun[0] + n1 * sun[1] + n2 * sun[2])
                        q = _liquid(hue, a, b, c)
                        w0 = water[0] + q * (thick[0] - water[0])
                        w1 = water[1] + q * (thick[1] - water[1])
                        w2 = water[2] + q * (thick[2] - water[2])
                        u0 = clear * s0 * (0.55 + 0.45 * w0) + (1.0 - clear) * w0 * light
                        u1 = clear * s1 * (0.70 + 0.30 * w1) + (1.0 - clear) * w1 * light
                        u2 = clear * s2 * (0.85 + 0.15 * w2) + (1.0 - clear) * w2 * light
                        fresnel = 0.03 + 0.97 * (1.0 - cosine) ** 5
                        f0 = d0 + 2.0 * cosine * n0
                        f1 = d1 + 2.0 * cosine * n1
                        f2 = d2 + 2.0 * cosine * n2
                        glow = _sky(f1)
                        shine = max(0.0, f0 * sun[0] + f1 * sun[1] + f2 * sun[2]) ** 60 * 0.7
                        r0 = (1.0 - fresnel) * u0 + fresnel * sky[0] * glow + shine
                        r1 = (1.0 - fresnel) * u1 + fresnel * sky[1] * glow + shine
                        r2 = (1.0 - fresnel) * u2 + fresnel * sky[2] * glow + shine
            image[row, col, 0] = r0
            image[row, col, 1] = r1
            image[row, col, 2] = r2
