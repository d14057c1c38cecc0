"""Gravity on faces whose mass is that of particles, and the divergence that straight moves need."""

import numpy as np

from ....discretise._pressure import LIGHTEST
from ....grid._levelset import _normal
from ....kernels import merged, parallel, prange
from ....kernels._interpolate import _sample, _velocity
from ..settings import STEP

HEAVIEST, RESOLVED = STEP.heaviest, STEP.resolved


@parallel
def _loads(rise, weight, pressure, fraction, liquid, hat, open_share, axis):
    """How much each face carries and how much its shape weighs: the rise of the pressure across it, and its hat mass.

    Both count by the open share, and are 0 where no cell beside the face has a pressure.
    """
    nx, ny, nz = hat.shape
    cx, cy, cz = liquid.shape
    for turn in prange(nx * ny):
        row = np.int64(turn)
        i, j = row // ny, row % ny
        for k in range(nz):
            rise[i, j, k], weight[i, j, k] = 0.0, 0.0
            a, b, c = i - (axis == 0), j - (axis == 1), k - (axis == 2)
            w = open_share[i, j, k]
            if a < 0 or b < 0 or c < 0 or i >= cx or j >= cy or k >= cz or w <= 0.0:
                continue
            below, above = liquid[a, b, c] != 0, liquid[i, j, k] != 0
            if below or above:
                low = pressure[a, b, c] * fraction[a, b, c] if below else 0.0
                high = pressure[i, j, k] * fraction[i, j, k] if above else 0.0
                rise[i, j, k], weight[i, j, k] = w * (high - low), w * hat[i, j, k]


@merged
def _share_carried(rise, weight, hat, head, i, j, k, axis):
    """The share of gravity that the pressure carries on a face, from 0 to 1, by `_loads`.

    A face inside the liquid tells itself. At the surface the faces around count too, one that has no pressure beside it
    by those in its plane: there a face may be so light that its rise of pressure is that of the last step, whatever
    happens to the liquid.
    """
    nx, ny, nz = hat.shape
    carried, heavy = rise[i, j, k], weight[i, j, k]
    if hat[i, j, k] < 1.0:
        alone = heavy <= 0.0
        carried, heavy = 0.0, 0.0
        for a in range(i if alone and axis == 0 else max(i - 1, 0), i + 1 if alone and axis == 0 else min(i + 2, nx)):
            for b in range(
                j if alone and axis == 1 else max(j - 1, 0), j + 1 if alone and axis == 1 else min(j + 2, ny)
            ):
                for c in range(
                    k if alone and axis == 2 else max(k - 1, 0), k + 1 if alone and axis == 2 else min(k + 2, nz)
                ):
                    carried += rise[a, b, c]
                    heavy += weight[a, b, c]
    return min(max(carried / (head * heavy), 0.0), 1.0) if heavy > 0.0 else 0.0


@parallel
def _add_weight(u, push, rise, weight, hat, open_share, mass, head, axis):
    """Add gravity to the faces of one axis: liquid that is carried weighs what its volume weighs.

    `push` is what gravity gives to liquid that falls. The share of it that the last pressure carries acts on the
    liquid's volume (hat mass times open share), the rest on its mass. So liquid at rest is in balance, however its
    particles lie, and liquid in flight falls with exactly `push`. A face that carries liquid has at least a part of its
    weight as mass, 1 / HEAVIEST, so that nothing is pushed harder than that if what carried it is gone. `rise` and
    `weight` are those of `_loads`, `head` is rho dx times gravity along the axis: the rise of the pressure over a cell
    at rest.
    """
    nx, ny, nz = u.shape
    for turn in prange(nx * ny):
        row = np.int64(turn)
        i, j = row // ny, row % ny
        for k in range(nz):
            w, own = open_share[i, j, k], weight[i, j, k]
            if w <= 0.0 or (hat[i, j, k] <= 0.0 and mass[i, j, k] <= 0.0):
                u[i, j, k] += push
                continue
            carried = _share_carried(rise, weight, hat, head, i, j, k, axis)
            if own > 0.0:
                mass[i, j, k] = max(mass[i, j, k], carried * own / HEAVIEST, LIGHTEST * w)
                u[i, j, k] += push * (1.0 - carried * (1.0 - own / mass[i, j, k]))
            else:
                u[i, j, k] += push * (1.0 - carried)


@merged
def _sides(phi, space, i, j, k, other, n):
    """Where the cells beside a cell, along an axis of n cells, have liquid: -1 or 0, and 0 or 1."""
    oi, oj, ok = int(other == 0), int(other == 1), int(other == 2)
    at = i if other == 0 else j if other == 1 else k
    low, high = 0, 0
    if at > 0 and phi[i - oi, j - oj, k - ok] < 0.0 and space[i - oi, j - oj, k - ok] > 0.25:
        low = -1
    if at + 1 < n and phi[i + oi, j + oj, k + ok] < 0.0 and space[i + oi, j + oj, k + ok] > 0.25:
        high = 1
    return low, high


@merged
def _slope(values, low, high, i, j, k, axis, other):
    """Change of a face component, at the centre of a cell, over a cell along another axis, by cells with liquid."""
    if high == low:
        return 0.0
    di, dj, dk = int(axis == 0), int(axis == 1), int(axis == 2)
    oi, oj, ok = int(other == 0), int(other == 1), int(other == 2)
    a, b, c = i + high * oi, j + high * oj, k + high * ok
    e, f, g = i + low * oi, j + low * oj, k + low * ok
    up = values[a, b, c] + values[a + di, b + dj, c + dk]
    down = values[e, f, g] + values[e + di, f + dj, g + dk]
    return (up - down) * (0.25 if high - low == 2 else 0.5)


@merged
def _resolved(strain):
    """1 if a step resolves a strain or a turn, 0 if it does not."""
    return min(max(2.0 - strain / RESOLVED, 0.0), 1.0)


@parallel
def _folding(out, phi, space, velocity, first, rate):
    """Divergence times the step with which straight moves keep volumes: ½ tr E², E the trace-free strain of the step.

    Particles that move along straight lines map a small volume by I + E, and det(I + E) = 1 + div + ½(div² - tr E²) to
    second order. So a step is of second order in time if its divergence is ½ tr E² and not zero (SHAKE; without it a
    steady vortex of 64 cells loses 7 % of its energy in a turn). Where a step does not resolve the flow, in splashes, E
    is not small, and there the divergence fades. It must not fade with the strain alone of liquid that turns: without
    it, discs that turn by 6° in a step grow by 8 % in a turn. `space` is the open part of cells.
    """
    nx, ny, nz = phi.shape
    u, v, w = velocity
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                out[i, j, k] = 0.0
                if phi[i, j, k] >= 0.0:
                    continue
                e00 = rate * (u[i + 1, j, k] - u[i, j, k]) if first == 0 else 0.0
                e11 = rate * (v[i, j + 1, k] - v[i, j, k])
                e22 = rate * (w[i, j, k + 1] - w[i, j, k])
                low1, high1 = _sides(phi, space, i, j, k, 1, ny)
                low2, high2 = _sides(phi, space, i, j, k, 2, nz)
                e12 = rate * _slope(v, low2, high2, i, j, k, 1, 2)
                e21 = rate * _slope(w, low1, high1, i, j, k, 2, 1)
                mean = (e00 + e11 + e22) / (3 - first)
                e11 -= mean
                e22 -= mean
                trace, size = e11 * e11 + e22 * e22 + 2.0 * e12 * e21, e11 * e11 + e22 * e22 + 0.5 * (e12 + e21) ** 2
                if first == 0:
                    e00 -= mean
                    low0, high0 = _sides(phi, space, i, j, k, 0, nx)
                    e01 = rate * _slope(u, low1, high1, i, j, k, 0, 1)
                    e02 = rate * _slope(u, low2, high2, i, j, k, 0, 2)
                    e10 = rate * _slope(v, low0, high0, i, j, k, 1, 0)
                    e20 = rate * _slope(w, low0, high0, i, j, k, 2, 0)
                    trace += e00 * e00 + 2.0 * (e01 * e10 + e02 * e20)
                    size += e00 * e00 + 0.5 * ((e01 + e10) ** 2 + (e02 + e20) ** 2)
                turn = max(size - trace, 0.0)
                out[i, j, k] = space[i, j, k] * 0.5 * trace
                if 1.5 * size + 0.5 * turn > (0.999 * RESOLVED) ** 2:  # a bound, which needs no roots
                    # |E| for a shear flow, 0 for liquid that only turns
                    strain = np.sqrt(size)
                    out[i, j, k] *= _resolved(np.sqrt(strain * (strain + np.sqrt(turn))))


@parallel
def _add_wall_folding(out, phi, space, centre, solid, shares, owner, turns, driving, velocity, first, rate):
    """Add to `_folding` what crosses the wall of cut cells: a straight way along a curved wall leaves it.

    A way u dt along the wall ends at the distance d from it. The liquid at the wall must move by -d along the normal
    besides, over the area of the wall. `solid` is the distance to walls at nodes, `shares` are the open ones of faces.

    A solid with a prescribed motion moves to its place along straight lines too, with the velocity `driving`, which
    has the divergence of its turn. What counts is the way relative to it, in its own axes at the end of the step.
    """
    nx, ny, nz = phi.shape
    f0, f1, f2 = shares
    fu, fv, fw = velocity[0].reshape(-1), velocity[1].reshape(-1), velocity[2].reshape(-1)
    g0, g1, g2 = driving[0].reshape(-1), driving[1].reshape(-1), driving[2].reshape(-1)
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                if phi[i, j, k] >= 0.0:
                    continue
                mine = owner[i, j, k]
                t0, t1, t2, driven = turns[mine, 0], turns[mine, 1], turns[mine, 2], turns[mine, 3]
                angle = np.sqrt(t0 * t0 + t1 * t1 + t2 * t2)
                if angle > 0.0:
                    out[i, j, k] += 2.0 * (1.0 - space[i, j, k]) * (np.cos(angle) - 1.0)
                a0 = f0[i + 1, j, k] - f0[i, j, k] if first == 0 else 0.0
                a1, a2 = f1[i, j + 1, k] - f1[i, j, k], f2[i, j, k + 1] - f2[i, j, k]
                area = np.sqrt(a0 * a0 + a1 * a1 + a2 * a2)
                if area <= 1e-6:
                    continue
                n0, n1, n2 = _normal(solid, i + 0.5, j + 0.5, k + 0.5)
                size = np.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
                if size < 0.5:
                    continue
                n0, n1, n2 = n0 / size, n1 / size, n2 / size
                s = centre[i, j, k]
                x, y, z = i + 0.5 - s * n0, j + 0.5 - s * n1, k + 0.5 - s * n2
                u0, u1, u2 = _velocity(fu, fv, fw, nx, ny, nz, x, y, z)
                if driven:
                    b0, b1, b2 = _velocity(g0, g1, g2, nx, ny, nz, x, y, z)
                    u0, u1, u2 = u0 - b0, u1 - b1, u2 - b2
                if first == 1:
                    u0 = 0.0
                turned = rate * ((t1 * u2 - t2 * u1) * n0 + (t2 * u0 - t0 * u2) * n1 + (t0 * u1 - t1 * u0) * n2)
                out[i, j, k] += area * turned * _resolved(angle)
                into = u0 * n0 + u1 * n1 + u2 * n2
                u0, u1, u2 = rate * (u0 - into * n0), rate * (u1 - into * n1), rate * (u2 - into * n2)
                way = np.sqrt(u0 * u0 + u1 * u1 + u2 * u2)
                if way > 0.0:
                    t0, t1, t2 = u0 / way, u1 / way, u2 / way  # the bend over a cell on both sides
                    bend = _sample(solid, x + t0, y + t1, z + t2) + _sample(solid, x - t0, y - t1, z - t2)
                    far = 0.5 * way * way * (bend - 2.0 * _sample(solid, x, y, z))
                    out[i, j, k] -= area * far * _resolved(2.0 * abs(far) / way)
