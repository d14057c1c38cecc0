"""Ray marching a liquid level set in front of solids: one sun with shadows, a bright surrounding, clear liquid.

Lengths are in cells, colours linear RGB. A ray goes from the eye into the box of the domain, whose walls on the
viewer's side are cut away like those of solids there. `_rays` computes the paths of rays; this file computes their
colours.
"""

import numpy as np
from numba import prange

from ..kernels import parallel, serial
from ._rays import _gradient, _leap, _liquid, _off, _through, _value


@serial
def _sky(d1):
    """Brightness of the surroundings in direction with upward component d1: a bright dome above a darker floor."""
    t = min(1.0, max(0.0, 0.5 + 1.4 * d1))
    return 0.62 + 0.38 * t * t * (3.0 - 2.0 * t)


@serial
def _shadow(phi, solid, body, fine, full, a, b, c, sun, soak):
    """(share of the sun that walls and bodies let through, the same for liquid) at a point.

    A wall with no open space behind it belongs to the container and lets light through: otherwise a closed sphere would
    be dark inside.
    """
    nx, ny, nz = phi.shape
    wet, walled = 0.0, False
    closest = 1.0
    t = 0.0
    for _ in range(40 * (nx + ny + nz)):
        if a < 0.0 or b < 0.0 or c < 0.0 or a > nx or b > ny or c > nz:
            break
        h, kind = _leap(full, a, b, c, sun[0], sun[1], sun[2])
        if kind == 2:
            wet += h
            if wet > 4.0 * soak:
                break
        elif kind == 3:
            walled = True
        elif kind == 0:
            if walled:
                return 0.0, 1.0
        else:
            s = _value(solid, a, b, c)
            o = _off(body, fine, a, b, c)
            if o < 0.0:
                return 0.0, 1.0
            if s < 0.0:
                walled = True
                h = min(max(-s, 0.3), 2.0)
            else:
                if walled:
                    return 0.0, 1.0
                # the edge of a shadow is softened by how closely the ray passes the body
                closest = min(closest, 12.0 * o / max(t, 1.0))
                p = _liquid(phi, a, b, c)
                h = min(max(0.8 * min(s, o, abs(p)), 0.4), 1.2)
                if p < 0.0:
                    wet += h
                    if wet > 4.0 * soak:
                        break
        a += h * sun[0]
        b += h * sun[1]
        c += h * sun[2]
        t += h
    return closest, 0.45 + 0.55 * np.exp(-wet / soak)


@serial
def _corner(solid, body, fine, a, b, c, n0, n1, n2, nx, ny, nz, reach):
    """How open the surroundings of a wall point are (0..1): corners and the ground under objects are darker."""
    dark = 0.0
    for k in range(1, 4):
        t = reach * k / 3.0
        x, y, z = a + t * n0, b + t * n1, c + t * n2
        d = min(_value(solid, x, y, z), _off(body, fine, x, y, z))
        d = min(d, x, nx - x, y, ny - y, z, nz - z)
        dark += max(0.0, t - d) / t * (0.5**k)
    return 1.0 - min(1.0, dark / 0.875)


@serial
def _look(
    what, phi, solid, body, owner, paint, fine, full, stone, a, b, c, sun, d0, d1, d2, every, soak, water, shaded
):
    """Colour of the point that a ray has hit: a wall, or (what = 3) a body in its colour."""
    nx, ny, nz = phi.shape
    reach = 0.06 * max(nx, ny, nz)
    if what == 3:
        n0, n1, n2 = _gradient(body, fine * a, fine * b, fine * c, 0.0, 0.5)
    else:
        n0, n1, n2 = _gradient(solid, a, b, c, 0.0, 0.5)
        edge = 0.02
        if a < edge:
            n0, n1, n2 = 1.0, 0.0, 0.0
        elif a > nx - edge:
            n0, n1, n2 = -1.0, 0.0, 0.0
        elif b < edge:
            n0, n1, n2 = 0.0, 1.0, 0.0
        elif b > ny - edge:
            n0, n1, n2 = 0.0, -1.0, 0.0
        elif c < edge:
            n0, n1, n2 = 0.0, 0.0, 1.0
        elif c > nz - edge:
            n0, n1, n2 = 0.0, 0.0, -1.0
        if n0 * d0 + n1 * d1 + n2 * d2 > 0.0:
            n0, n1, n2 = -n0, -n1, -n2
    facing = max(0.0, n0 * sun[0] + n1 * sun[1] + n2 * sun[2])
    dry, wet = 1.0, 1.0
    if shaded and facing > 0.0:
        dry, wet = _shadow(phi, solid, body, fine, full, a + 0.7 * n0, b + 0.7 * n1, c + 0.7 * n2, sun, soak)
    around = 1.0
    if shaded:
        around = _corner(solid, body, fine, a, b, c, n0, n1, n2, nx, ny, nz, reach)
    # light from above and from the walls around, and the sun; shade of liquid has its colour
    dome = (0.66 + 0.04 * n1) * (0.60 + 0.40 * around)
    direct = 0.32 * facing * dry
    if what == 3:
        i = min(max(int(fine * a + 0.5), 0), owner.shape[0] - 1)
        j = min(max(int(fine * b + 0.5), 0), owner.shape[1] - 1)
        k = min(max(int(fine * c + 0.5), 0), owner.shape[2] - 1)
        mine = owner[i, j, k]
        light = dome + 1.2 * direct * wet
        return light * paint[mine, 0], light * paint[mine, 1], light * paint[mine, 2]
    # lines where a coordinate along the wall is a multiple of `every`
    line = 1.0
    for axis in range(3):
        x = a if axis == 0 else (b if axis == 1 else c)
        n = n0 if axis == 0 else (n1 if axis == 1 else n2)
        if abs(n) < 0.8:
            t = x / every
            off = abs(t - np.floor(t + 0.5)) * every
            line = min(line, 0.93 + 0.07 * min(1.0, off / (0.05 * every)))
    most = max(water[0], water[1], water[2], 1e-6)
    l0 = (dome + direct * wet ** (2.0 - 1.5 * water[0] / most)) * line
    l1 = (dome + direct * wet ** (2.0 - 1.5 * water[1] / most)) * line
    l2 = (dome + direct * wet ** (2.0 - 1.5 * water[2] / most)) * line
    return stone[0] * l0, stone[1] * l1, stone[2] * l2


@serial
def _edges(t, eye, d0, d1, d2, solid, nx, ny, nz, wide):
    """How dark the edges of the box are along a ray (0..1), without edges behind the distance t.

    `wide` is half the width of a line at distance 1. An edge shows where it bounds the room, not inside solids.
    """
    dark = 0.0
    for axis in range(3):
        n = nx if axis == 0 else (ny if axis == 1 else nz)
        for corner in range(4):
            high, other = corner & 1, corner >> 1
            p0 = 0.0 if axis == 0 else float(nx * high)
            p1 = 0.0 if axis == 1 else float(ny * (high if axis == 0 else other))
            p2 = 0.0 if axis == 2 else float(nz * other)
            # the closest points of the ray eye + s d and of the line p + u e
            e = d0 if axis == 0 else (d1 if axis == 1 else d2)
            w0, w1, w2 = eye[0] - p0, eye[1] - p1, eye[2] - p2
            down = 1.0 - e * e
            if down < 1e-9:
                continue
            dw = d0 * w0 + d1 * w1 + d2 * w2
            ew = w0 if axis == 0 else (w1 if axis == 1 else w2)
            u = min(max((ew - e * dw) / down, 0.0), float(n))
            q0 = p0 + (u if axis == 0 else 0.0)
            q1 = p1 + (u if axis == 1 else 0.0)
            q2 = p2 + (u if axis == 2 else 0.0)
            s = (q0 - eye[0]) * d0 + (q1 - eye[1]) * d1 + (q2 - eye[2]) * d2
            if s > t + 1.0:
                continue
            x, y, z = eye[0] + s * d0 - q0, eye[1] + s * d1 - q1, eye[2] + s * d2 - q2
            off = np.sqrt(x * x + y * y + z * z) / (wide * s)
            if off < 2.0 and _value(solid, q0, q1, q2) > 0.0:
                dark = max(dark, 1.0 - 0.5 * off)
    return dark


@serial
def _surface(phi, solid, a, b, c, d0, d1, d2):
    """Normal of the liquid where a ray hits it, and True if this is at a wall that was cut away.

    At a wall that was cut away, the normal is that of the wall.
    """
    nx, ny, nz = phi.shape
    n0, n1, n2 = _gradient(phi, a, b, c, 0.5, 0.75)
    m0, m1, m2 = _gradient(solid, a, b, c, 0.0, 0.5)
    touch = _value(solid, a, b, c) < 0.75 and m0 * d0 + m1 * d1 + m2 * d2 > 0.0
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
        return -m0, -m1, -m2, True
    return n0, n1, n2, False


@serial
def _ray(
    phi, solid, body, owner, paint, fine, full, hue, eye, d0, d1, d2, ahead, sun, water, thick, stone, absorb, ambient,
    every, wide
):  # fmt: skip
    """Colour of one ray from the eye; the first is negative where there is only the background."""
    nx, ny, nz = phi.shape
    a, b, c = eye[0], eye[1], eye[2]
    near, far = 0.0, 1e30
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
    if near >= far:
        return -1.0, 0.0, 0.0, 1e30
    a, b, c = a + (near + 1e-6) * d0, b + (near + 1e-6) * d1, c + (near + 1e-6) * d2
    # the wall in front is cut away: continue until the open space behind it begins
    gone, length = 0.0, far - near
    while gone < length:
        h, kind = _leap(full, a, b, c, d0, d1, d2)
        if kind != 3:
            s = _value(solid, a, b, c)
            if s > 0.0:
                break
            h = max(0.15, min(-s, 2.0))
        a += h * d0
        b += h * d1
        c += h * d2
        gone += h
    if gone >= length:
        return -1.0, 0.0, 0.0, 1e30
    # Up to three legs: from the eye, bent into the liquid, mirrored by it; one loop, so that each is compiled once.
    depth, soak = 0.0, 1.5 * absorb
    d0_, d1_, d2_ = d0, d1, d2
    n0, n1, n2, touch, cosine, wet, fresnel, light = 0.0, 0.0, 0.0, False, 1.0, 0.0, 0.0, 1.0
    w0, w1, w2 = 0.0, 0.0, 0.0
    s0, s1, s2 = 0.0, 0.0, 0.0
    g0, g1, g2 = 0.0, 0.0, 0.0
    h0, h1, h2 = a, b, c
    for leg in range(3):
        what, a, b, c, way = _through(phi, solid, body, fine, full, a, b, c, d0_, d1_, d2_, leg == 1, 8.0 * absorb)
        if leg == 0:
            depth = (a - eye[0]) * d0 + (b - eye[1]) * d1 + (c - eye[2]) * d2
        seen = what != 2
        if leg == 1:
            wet += way
            seen = wet < 7.9 * absorb
        elif leg == 2 and what == 2:
            g0, g1, g2 = w0 * ambient + 0.1, w1 * ambient + 0.1, w2 * ambient + 0.1
        elif leg == 2 and what == 1:
            # the container's wall above and towards the viewer counts as cut away
            m0, m1, m2 = _gradient(solid, a, b, c, 0.0, 0.5)
            seen = m0 * ahead[0] + m1 * ahead[1] + m2 * ahead[2] < 0.1 and m1 > -0.4
        elif leg == 2:
            seen = what == 3
        if seen:
            s0_, s1_, s2_ = _look(
                what, phi, solid, body, owner, paint, fine, full, stone, a, b, c, sun, d0_, d1_, d2_, every, soak,
                water, leg == 0 or (leg == 1 and wet < 4.0 * absorb),
            )  # fmt: skip
            if leg == 0:
                return s0_, s1_, s2_, depth
            if leg == 1:
                s0, s1, s2 = s0_, s1_, s2_
            else:
                g0, g1, g2 = s0_, s1_, s2_
        if leg == 0:
            n0, n1, n2, touch = _surface(phi, solid, a, b, c, d0, d1, d2)
            cosine = min(1.0, abs(n0 * d0 + n1 * d1 + n2 * d2))
            light = ambient + (1.0 - ambient) * max(0.0, n0 * sun[0] + n1 * sun[1] + n2 * sun[2])
            q = _liquid(hue, a, b, c)
            w0 = water[0] + q * (thick[0] - water[0])
            w1 = water[1] + q * (thick[1] - water[1])
            w2 = water[2] + q * (thick[2] - water[2])
            h0, h1, h2 = a, b, c
            wet = 1.0 if touch else 0.2
            if not touch:
                # refraction into water, index 1.33
                eta = 0.75
                k = 1.0 - eta * eta * (1.0 - cosine * cosine)
                m = eta * cosine - np.sqrt(max(k, 0.0))
                d0_, d1_, d2_ = eta * d0 + m * n0, eta * d1 + m * n1, eta * d2 + m * n2
                s = np.sqrt(d0_ * d0_ + d1_ * d1_ + d2_ * d2_)
                d0_, d1_, d2_ = d0_ / s, d1_ / s, d2_ / s
            a, b, c = a + wet * d0_, b + wet * d1_, c + wet * d2_
        elif leg == 1:
            # the surface reflects obstacles, other liquid, or else the bright surroundings
            fresnel = 0.02 + 0.98 * (1.0 - cosine) ** 4
            d0_, d1_, d2_ = d0 + 2.0 * cosine * n0, d1 + 2.0 * cosine * n1, d2 + 2.0 * cosine * n2
            glow = 1.1 * _sky(d1_)
            g0, g1, g2 = 0.97 * glow, 0.985 * glow, glow
            if fresnel < 0.08 or touch:
                break
            a, b, c = h0 + 0.6 * n0, h1 + 0.6 * n1, h2 + 0.6 * n2
    # light of the liquid's own colour passes deeper: thin water is pale and greenish, deep water blue
    most, deep, fog = max(w0, w1, w2, 1e-6), wet / absorb, 1.0 - np.exp(-wet / absorb)
    u0 = s0 * np.exp(-deep * (1.35 - 0.8 * w0 / most)) + fog * w0 * light
    u1 = s1 * np.exp(-deep * (1.35 - 0.8 * w1 / most)) + fog * w1 * light
    u2 = s2 * np.exp(-deep * (1.35 - 0.8 * w2 / most)) + fog * w2 * light
    toward = max(0.0, d0_ * sun[0] + d1_ * sun[1] + d2_ * sun[2])
    shine = 0.0 if touch else 0.25 * toward**30 + 0.6 * toward**180
    r0 = (1.0 - fresnel) * u0 + fresnel * g0 + shine
    r1 = (1.0 - fresnel) * u1 + fresnel * g1 + shine
    r2 = (1.0 - fresnel) * u2 + fresnel * g2 + shine
    return r0, r1, r2, depth


@parallel
def _march(
    image, todo, lined, offsets, phi, solid, body, owner, paint, fine, full, hue, eye, forward, right, up, window, sun,
    water, thick, stone, sky, absorb, ambient, every
):  # fmt: skip
    """Fill the pixels of image (h, w, 3) marked in `todo` with the mean of rays through `offsets` (in pixels).

    A camera at `eye` looks along `forward`; `window` is (left, top, size of a pixel) of the picture on the plane at
    distance 1. `lined` marks the pixels an edge of the box may cross. `body` is the distance to bodies in cells,
    `owner` which body is nearest, on nodes `fine` times as close as those of the grid; body k has the colour paint[k].
    Liquid is coloured between `water` (hue 0) and `thick` (hue 1, over cells); `ambient` is its brightness in shade.
    """
    height, width = image.shape[0], image.shape[1]
    nx, ny, nz = phi.shape
    # neighbouring rows take about the same time, but the top of a picture takes less than the bottom: threads share
    # both
    stride = 8
    part = (height + stride - 1) // stride
    for index in prange(stride * part):
        row = index % part * stride + index // part
        if row >= height:
            continue
        for col in range(width):
            if todo[row, col] == 0:
                continue
            s0, s1, s2 = 0.0, 0.0, 0.0
            for k in range(offsets.shape[0]):
                x = window[0] + (col + offsets[k, 0]) * window[2]
                y = window[1] - (row + offsets[k, 1]) * window[2]
                d0 = forward[0] + x * right[0] + y * up[0]
                d1 = forward[1] + x * right[1] + y * up[1]
                d2 = forward[2] + x * right[2] + y * up[2]
                s = np.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
                d0, d1, d2 = d0 / s, d1 / s, d2 / s
                r0, r1, r2, depth = _ray(
                    phi, solid, body, owner, paint, fine, full, hue, eye, d0, d1, d2, forward, sun, water, thick,
                    stone, absorb, ambient, every, window[2]
                )  # fmt: skip
                if r0 < 0.0:
                    # a studio: light floor and wall, a little darker towards the corners
                    v = row / height - 0.45
                    h = col / width - 0.5
                    back = 1.0 - 0.30 * (v * v + 0.6 * h * h) - 0.05 * max(0.0, v)
                    r0, r1, r2 = sky[0] * back, sky[1] * back, sky[2] * back
                dark = 0.0
                if lined[row, col] != 0:
                    dark = 0.4 * _edges(depth, eye, d0, d1, d2, solid, nx, ny, nz, window[2])
                s0 += r0 + (0.30 - r0) * dark
                s1 += r1 + (0.33 - r1) * dark
                s2 += r2 + (0.38 - r2) * dark
            image[row, col, 0] = s0 / offsets.shape[0]
            image[row, col, 1] = s1 / offsets.shape[0]
            image[row, col, 2] = s2 / offsets.shape[0]
