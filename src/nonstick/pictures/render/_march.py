"""Ray marching a liquid level set in front of solids: one sun with shadows, a bright surrounding, clear liquid.

Lengths are in cells, colours linear RGB. A ray goes from the eye into the box of the domain, whose walls on the
viewer's side are cut away like those of solids there. `_rays` computes the paths of rays, `_light` the light on what
they hit, and this file their colours, and which pixels need rays of their own: in smooth parts of a picture every
second one of every second row is enough.
"""

from typing import NamedTuple

import numpy as np

from ...kernels import merged, parallel, prange, serial
from ._blocks import SOLID, SURFACES, _step
from ._light import _look, _sky
from ._rays import OUT, STONE, WATER, _dye, _inverse, _open, _slope, _through, _upward, _value


class View(NamedTuple):
    """A camera at `eye` that looks along `forward`.

    `window` is (left, top, size of a pixel) of the picture on the plane at distance 1.
    """

    eye: np.ndarray
    forward: np.ndarray
    right: np.ndarray
    up: np.ndarray
    window: np.ndarray


class Look(NamedTuple):
    """Colours and light."""

    #: direction to the sun; main colour of the liquid, which its shade takes; walls; background
    sun: np.ndarray
    water: np.ndarray
    stone: np.ndarray
    sky: np.ndarray
    #: depth to which one sees into the liquid; brightness of its shaded side; distance of the lines on walls
    absorb: float
    ambient: float
    every: float


@merged
def _edges(scene, t, eye, d0, d1, d2, wide):
    """How dark the edges of the box are along a ray (0..1), without edges behind the distance t.

    `wide` is half the width of a line at distance 1. An edge shows where it bounds the room, not inside solids.
    """
    phi, _, wall, wall_fine, rock = scene[:5]
    nx, ny, nz = phi.shape
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
            way = (q0 - eye[0]) * d0 + (q1 - eye[1]) * d1 + (q2 - eye[2]) * d2
            if way <= 0.0 or way > t + 1.0:
                continue
            x, y, z = eye[0] + way * d0 - q0, eye[1] + way * d1 - q1, eye[2] + way * d2 - q2
            off = np.sqrt(x * x + y * y + z * z) / (wide * way)
            if off < 2.0 and _open(wall, wall_fine, rock, q0, q1, q2) > 0.0:
                dark = max(dark, 1.0 - 0.5 * off)
    return dark


@merged
def _surface(scene, a, b, c, d0, d1, d2):
    """Normal of the liquid where a ray hits it, and True if this is at a wall that was cut away.

    At a wall that was cut away, the normal is that of the wall.
    """
    phi, wall, f = scene.phi, scene.wall, scene.wall_fine
    nx, ny, nz = phi.shape
    m0, m1, m2, touch = 0.0, 0.0, 0.0, False
    if _value(wall, f * a, f * b, f * c) < 0.75:
        m0, m1, m2 = _slope(wall, f * a, f * b, f * c)
        touch = m0 * d0 + m1 * d1 + m2 * d2 > 0.0
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
    n0, n1, n2 = _slope(phi, a - 0.5, b - 0.5, c - 0.5)
    return n0, n1, n2, False


@merged
def _enter(scene, a, b, c, d0, d1, d2):
    """How far a ray goes until it comes into the open space of the box; -1 if it never does.

    The wall in front is cut away. This depends on the view and the solids, not on the liquid.
    """
    wall, wall_fine, rock, cell, block = scene.wall, scene.wall_fine, scene.rock, scene.cell, scene.block
    nx, ny, nz = cell.shape
    d0, d1, d2 = _upward(d0), _upward(d1), _upward(d2)
    e0, e1, e2 = _inverse(d0), _inverse(d1), _inverse(d2)
    near, far = 0.0, 1e30
    for axis in range(3):
        o = a if axis == 0 else (b if axis == 1 else c)
        e = e0 if axis == 0 else (e1 if axis == 1 else e2)
        n = nx if axis == 0 else (ny if axis == 1 else nz)
        t0, t1 = -o * e, (n - o) * e
        near = max(near, min(t0, t1))
        far = min(far, max(t0, t1))
    if near >= far:
        return -1.0
    near += 1e-6
    a, b, c = max(a + near * d0, 0.0), max(b + near * d1, 0.0), max(c + near * d2, 0.0)
    while near < far:
        h, code = _step(block, cell, a, b, c, d0, d1, d2, e0, e1, e2)
        if code != SOLID:
            if code & SURFACES == 0 and rock.size == 1:
                return near
            room = _open(wall, wall_fine, rock, a, b, c)
            if room > 0.0:
                return near
            h = max(0.1, min(-room, h))
        a += h * d0
        b += h * d1
        c += h * d2
        near += h
    return -1.0


@merged
def _mixed(seen, mirrored, dye, deep, light, fresnel, shine):
    """What is seen through liquid of some depth, and what its surface mirrors.

    Light of the liquid's own colour passes deeper: thin water is pale and greenish, deep water blue.
    """
    most, fog = max(dye[0], dye[1], dye[2], 1e-6), 1.0 - np.exp(-deep)
    u0 = seen[0] * np.exp(-deep * (1.35 - 0.8 * dye[0] / most)) + fog * dye[0] * light
    u1 = seen[1] * np.exp(-deep * (1.35 - 0.8 * dye[1] / most)) + fog * dye[1] * light
    u2 = seen[2] * np.exp(-deep * (1.35 - 0.8 * dye[2] / most)) + fog * dye[2] * light
    r0 = (1.0 - fresnel) * u0 + fresnel * mirrored[0] + shine
    r1 = (1.0 - fresnel) * u1 + fresnel * mirrored[1] + shine
    r2 = (1.0 - fresnel) * u2 + fresnel * mirrored[2] + shine
    return r0, r1, r2


@merged
def _ray(scene, look, view, d0, d1, d2, start):
    """Colour of one ray that comes into the open space at the distance `start` from the eye, and how far it goes."""
    eye, sun, absorb, ambient = view.eye, look.sun, look.absorb, look.ambient
    a, b, c = max(eye[0] + start * d0, 0.0), max(eye[1] + start * d1, 0.0), max(eye[2] + start * d2, 0.0)
    # Up to three legs: from the eye, bent into the liquid, mirrored by it; one loop, so that each is compiled once.
    depth = 0.0
    d0_, d1_, d2_ = d0, d1, d2
    n0, n1, n2, touch, cosine, wet, fresnel, light = 0.0, 0.0, 0.0, False, 1.0, 0.0, 0.0, 1.0
    dye = through = mirrored = (0.0, 0.0, 0.0)
    h0, h1, h2 = a, b, c
    for leg in range(3):
        what, a, b, c, way, which = _through(scene, a, b, c, d0_, d1_, d2_, leg == 1, 8.0 * absorb)
        if leg == 0:
            depth = (a - eye[0]) * d0 + (b - eye[1]) * d1 + (c - eye[2]) * d2
        seen = what != WATER
        if leg == 1:
            wet += way
            seen = wet < 7.9 * absorb
        elif leg == 2 and what == WATER:
            mirrored = dye[0] * ambient + 0.1, dye[1] * ambient + 0.1, dye[2] * ambient + 0.1
        elif leg == 2 and what == STONE:
            # the container's wall above and towards the viewer counts as cut away
            ahead, f = view.forward, scene.wall_fine
            m0, m1, m2 = _slope(scene.wall, f * a, f * b, f * c)
            seen = m0 * ahead[0] + m1 * ahead[1] + m2 * ahead[2] < 0.1 and m1 > -0.4
        elif leg == 2:
            seen = what != OUT
        if seen:
            shaded = leg == 0 or (leg == 1 and wet < 2.5 * absorb)
            colour = _look(scene, look, what, which, a, b, c, d0_, d1_, d2_, shaded)
            if leg == 0:
                return colour[0], colour[1], colour[2], depth
            if leg == 1:
                through = colour
            else:
                mirrored = colour
        if leg == 0:
            n0, n1, n2, touch = _surface(scene, a, b, c, d0, d1, d2)
            cosine = min(1.0, abs(n0 * d0 + n1 * d1 + n2 * d2))
            light = ambient + (1.0 - ambient) * max(0.0, n0 * sun[0] + n1 * sun[1] + n2 * sun[2])
            dye = _dye(scene.dye, a, b, c)
            h0, h1, h2 = a, b, c
            wet = 1.0 if touch else 0.2
            if not touch:
                # refraction into water, index 1.33
                eta = 0.75
                k = 1.0 - eta * eta * (1.0 - cosine * cosine)
                m = eta * cosine - np.sqrt(max(k, 0.0))
                d0_, d1_, d2_ = eta * d0 + m * n0, eta * d1 + m * n1, eta * d2 + m * n2
                t = np.sqrt(d0_ * d0_ + d1_ * d1_ + d2_ * d2_)
                d0_, d1_, d2_ = d0_ / t, d1_ / t, d2_ / t
            a, b, c = a + wet * d0_, b + wet * d1_, c + wet * d2_
        elif leg == 1:
            # the surface reflects obstacles, other liquid, or else the bright surroundings
            fresnel = 0.02 + 0.98 * (1.0 - cosine) ** 4
            d0_, d1_, d2_ = d0 + 2.0 * cosine * n0, d1 + 2.0 * cosine * n1, d2 + 2.0 * cosine * n2
            glow = 1.1 * _sky(d1_)
            mirrored = 0.97 * glow, 0.985 * glow, glow
            if fresnel < 0.08 or touch:
                break
            a, b, c = h0 + 0.6 * n0, h1 + 0.6 * n1, h2 + 0.6 * n2
    toward = max(0.0, d0_ * sun[0] + d1_ * sun[1] + d2_ * sun[2])
    shine = 0.0 if touch else 0.25 * toward**30 + 0.6 * toward**180
    r0, r1, r2 = _mixed(through, mirrored, dye, wet / absorb, light, fresnel, shine)
    return r0, r1, r2, depth


@parallel
def _march(image, todo, entry, lined, offsets, scene, look, view):
    """Set pixels of image (h, w, 3) to the mean of as many rays as `todo` says, through `offsets` (in pixels).

    A pixel with todo > 1 has the ray through the first offset, the middle, already: its colour is part of the mean.
    `entry` (h, w, offsets) keeps the results of `_enter`; it holds nan where there is none yet. `lined` marks the
    pixels an edge of the box may cross.
    """
    eye, forward, right, up, window, sky = view.eye, view.forward, view.right, view.up, view.window, look.sky
    height, width = image.shape[0], image.shape[1]
    # neighbouring rows take about the same time, but the top of a picture takes less than the bottom: threads share
    # both
    stride = 8
    part = (height + stride - 1) // stride
    for index in prange(stride * part):
        row = index % part * stride + index // part
        if row >= height:
            continue
        for col in range(width):
            count = int(todo[row, col])
            if count == 0:
                continue
            s0, s1, s2 = 0.0, 0.0, 0.0
            if count > 1:
                s0, s1, s2 = image[row, col, 0], image[row, col, 1], image[row, col, 2]
            for k in range(min(count - 1, 1), count):
                x = window[0] + (col + offsets[k, 0]) * window[2]
                y = window[1] - (row + offsets[k, 1]) * window[2]
                d0 = forward[0] + x * right[0] + y * up[0]
                d1 = forward[1] + x * right[1] + y * up[1]
                d2 = forward[2] + x * right[2] + y * up[2]
                t = 1.0 / np.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
                d0, d1, d2 = d0 * t, d1 * t, d2 * t
                start = entry[row, col, k]
                if np.isnan(start):
                    start = _enter(scene, eye[0], eye[1], eye[2], d0, d1, d2)
                    entry[row, col, k] = start
                if start >= 0.0:
                    r0, r1, r2, depth = _ray(scene, look, view, d0, d1, d2, start)
                else:
                    # a studio: light floor and wall, a little darker towards the corners
                    v = row / height - 0.45
                    h = col / width - 0.5
                    back = 1.0 - 0.30 * (v * v + 0.6 * h * h) - 0.05 * max(0.0, v)
                    r0, r1, r2, depth = sky[0] * back, sky[1] * back, sky[2] * back, 1e30
                dark = 0.0
                if lined[row, col] != 0:
                    dark = 0.4 * _edges(scene, depth, eye, d0, d1, d2, window[2])
                s0 += r0 + (0.30 - r0) * dark
                s1 += r1 + (0.33 - r1) * dark
                s2 += r2 + (0.38 - r2) * dark
            image[row, col, 0] = s0 / count
            image[row, col, 1] = s1 / count
            image[row, col, 2] = s2 / count


@serial
def _bend(image, r0, c0, r1, c1, r2, c2):
    """The largest second difference of three pixels in a colour."""
    out = 0.0
    for k in range(3):
        out = max(out, abs(image[r0, c0, k] - 2.0 * image[r1, c1, k] + image[r2, c2, k]))
    return out


@serial
def _rough(image, bent):
    """bent = how much the picture bends at every second pixel of every second row, over these pixels."""
    h, w = bent.shape
    for i in range(h):
        up, down = 2 * max(i - 1, 0), 2 * min(i + 1, h - 1)
        for j in range(w):
            left, right = 2 * max(j - 1, 0), 2 * min(j + 1, w - 1)
            row, col = 2 * i, 2 * j
            out = max(_bend(image, up, col, row, col, down, col), _bend(image, row, left, row, col, row, right))
            bent[i, j] = max(out, _bend(image, up, left, row, col, down, right))


@serial
def _between(image, todo, lined, bent, rough):
    """Interpolate the pixels between every second one; todo = 1 where these bend by more than `rough`, or in lines.

    Straight lines between pixels 2 apart err by an eighth of the second difference.
    """
    h, w, _ = image.shape
    for row in range(h):
        r0, r1 = row - row % 2, min(row + row % 2, h - 1 - (h - 1) % 2)
        for col in range(w):
            c0, c1 = col - col % 2, min(col + col % 2, w - 1 - (w - 1) % 2)
            todo[row, col] = 0
            if row == r0 and col == c0:
                continue
            most = max(bent[r0 // 2, c0 // 2], bent[r0 // 2, c1 // 2], bent[r1 // 2, c0 // 2], bent[r1 // 2, c1 // 2])
            if most > rough or lined[row, col] != 0:
                todo[row, col] = 1
                continue
            for k in range(3):
                both = image[r0, c0, k] + image[r0, c1, k] + image[r1, c0, k] + image[r1, c1, k]
                image[row, col, k] = 0.25 * both


@serial
def _differ(image, r0, c0, r1, c1):
    """The largest difference of two pixels in a colour."""
    out = 0.0
    for k in range(3):
        out = max(out, abs(image[r0, c0, k] - image[r1, c1, k]))
    return out


@serial
def _contrast(image, todo, some, much):
    """Rays for pixels that differ from a neighbour: todo = 3 above `some`, 5 above `much`, else 0."""
    h, w, _ = image.shape
    todo[:] = 0
    for row in range(h):
        for col in range(w):
            for side in range(2):
                r, c = row + side, col + 1 - side
                if r < h and c < w:
                    off = _differ(image, row, col, r, c)
                    if off > some:
                        rays = 5 if off > much else 3
                        todo[row, col] = max(todo[row, col], rays)
                        todo[r, c] = max(todo[r, c], rays)
