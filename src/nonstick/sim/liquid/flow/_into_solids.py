"""Which faces have a velocity; closed ones: continued linearly into solids, without the part that walls forbid.

The kernels for closed faces work on a list of them, given by their places in the flat array of their axis.
"""

import numpy as np

from ....grid._levelset import _unit
from ....kernels import merged, parallel, prange, serial
from ....kernels._interpolate import _mix
from ..settings import SOLIDS

SLIVER = SOLIDS.sliver


@merged
def _borders_liquid(phi, i, j, k, axis):
    """Whether face (i, j, k) of an axis borders a liquid cell."""
    cx, cy, cz = phi.shape
    a = phi[max(i - (axis == 0), 0), max(j - (axis == 1), 0), max(k - (axis == 2), 0)]
    b = phi[min(i, cx - 1), min(j, cy - 1), min(k, cz - 1)]
    return a < 0.0 or b < 0.0


@parallel
def _keep_known(largest, known, u, open_share, mass, phi, axis):
    """Faces are known if they are open, and border a liquid cell or have particles near; u becomes 0 on others.

    Faces that are closed or almost closed (open share up to SLIVER) are always unknown: the pressure may drive a fast
    but thin jet through them. largest[r] = max|u| of the known ones along row r of the last axis.
    """
    nx, ny, nz = u.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            best = 0.0
            for k in range(nz):
                good = mass[i, j, k] > 1e-9 or _borders_liquid(phi, i, j, k, axis)
                good = good and open_share[i, j, k] > SLIVER
                known[i, j, k] = good
                value = u[i, j, k] if good else 0.0
                u[i, j, k] = value
                best = max(best, abs(value))
            largest[i * ny + j] = best


@serial
def _keep_closed(queue, count, open_share):
    """Move the closed ones (open share up to SLIVER) of the first `count` faces to the front; returns their number."""
    flat = open_share.reshape(-1)
    kept = 0
    for q in range(count):
        t = queue[q]
        if flat[np.uintp(t)] <= SLIVER:
            queue[kept] = t
            kept += 1
    return kept


@parallel
def _continue_into_solids(values, queue, u, grade, wall, moving, axis, distance):
    """Continue u linearly into solids, by one layer: a rotation keeps its rate up to the wall and beyond.

    `queue` lists closed faces. `grade` is above 0 where u is known, and 0 elsewhere. Each direction with two known
    faces a, b in a row gives 2a - b, and values[q] is the mean over these directions; it is NaN if there are none, or
    if the face queue[q] is known already.

    Along its own axis u must not become faster on the way into the solid, relative to it: a is taken instead. Drops
    that leave a wall and stretch would take such a velocity with them, stretch more, and speed up without a force.
    `wall` is the velocity of solids on these faces, read if `moving`.

    Liquid clings to walls where `distance` (to the wall, in cells, shaped like u) is not above 0; an array of size 1
    stands for none, and NaN for a wall that it does not cling to. If such a wall is nearer to the face queue[q] than to
    a, then u follows the parabola through a, b and the velocity of the wall. This is limited to steps between 0 and
    twice a - b: at a boundary layer thinner than a cell, where a and b differ little, the liquid is not held back.
    """
    nx, ny, nz = u.shape
    clings = distance.size == u.size
    for q in prange(queue.size):
        t = np.int64(queue[q])
        k = t % nz
        j = (t // nz) % ny
        i = t // (nz * ny)
        values[q] = np.nan
        if grade[i, j, k] != 0:
            continue
        at_rest = wall[i, j, k] if moving else 0.0
        total, lines = 0.0, 0
        for way in range(6):
            step = 1 if way % 2 else -1
            di = step if way // 2 == 0 else 0
            dj = step if way // 2 == 1 else 0
            dk = step if way // 2 == 2 else 0
            a, b, c = i + 2 * di, j + 2 * dj, k + 2 * dk
            if a < 0 or b < 0 or c < 0 or a >= nx or b >= ny or c >= nz:
                continue
            if grade[i + di, j + dj, k + dk] > 0 and grade[a, b, c] > 0:
                near = u[i + di, j + dj, k + dk]
                more = near - u[a, b, c]
                if clings:
                    deep, high = -distance[i, j, k], distance[i + di, j + dj, k + dk]
                    if deep >= 0.0 and high >= deep and high > 0.0:
                        share = high / (high + deep)
                        one = (near - (wall[i + di, j + dj, k + dk] if moving else 0.0)) / share
                        two = (u[a, b, c] - (wall[a, b, c] if moving else 0.0)) / (share + 1.0)
                        curved = at_rest + (share - 1.0) * (2.0 * one - two) - near
                        more = min(max(curved, min(0.0, 2.0 * more)), max(0.0, 2.0 * more))
                if way // 2 == axis and more * (near - at_rest) > 0.0:
                    more = 0.0
                total += near + more
                lines += 1
        if lines > 0:
            values[q] = total / lines


@parallel
def _put_found(u, grade, queue, values):
    """u[queue[q]] = values[q], and grade 2 there, except where the value is NaN."""
    flat, have = u.reshape(-1), grade.reshape(-1)
    for q in prange(queue.size):
        if not np.isnan(values[q]):
            t = np.uintp(queue[q])
            flat[t] = values[q]
            have[t] = 2


@merged
def _halfway(f, q, stride):
    """The mean of two entries of a flat array."""
    return f[np.uintp(q)] + 0.5 * (f[np.uintp(q + stride)] - f[np.uintp(q)])


@merged
def _slopes(f, q, own, one, other):
    """Differences of nodal values over a cell, at the middle of a face: along its own axis, and along the other two.

    q is the lowest node of the face in the flat array; own, one and other are the strides of the axes.
    """
    g = _mix(f, q, own, one, other, 0.5, 0.5, 0.5) - _mix(f, q - own, own, one, other, 0.5, 0.5, 0.5)
    g1 = _halfway(f, q + one, other) - _halfway(f, q, other)
    return g, g1, _halfway(f, q + other, one) - _halfway(f, q, one)


@merged
def _mean_around(f, i, j, k, axis, other):
    """Mean of the four values of the component `other` around face (i, j, k) of another axis."""
    a, b, c = i - (axis == 0), j - (axis == 1), k - (axis == 2)
    low, high = min(axis, other), max(axis, other)
    d, e = a + (low == 0), b + (low == 1)
    g, h = high == 1, c + (high == 2)
    near, far = f[a, b, c], f[d, e, c]
    near += 0.5 * (f[a, b + g, h] - near)
    far += 0.5 * (f[d, e + g, h] - far)
    return near + 0.5 * (far - near)


@parallel
def _constrain(values, queue, axis, u, v, w, solid, su, sv, sw, moving, sticky, first):
    """Velocity that walls allow on closed faces of one axis.

    The component of the relative velocity along the wall normal is removed: always at sticky walls; at separating walls
    only if it points into the wall, because otherwise liquid that is about to leave would be held back. `sticky` is 1
    in cells next to a sticky wall; su sv sw, the velocity of walls, are read if `moving`. values[q] belongs to the face
    queue[q].
    """
    cx, cy, cz = sticky.shape
    nx, ny, nz = cx + (axis == 0), cy + (axis == 1), cz + (axis == 2)
    flat = solid.reshape(-1)
    s0, s1 = (cy + 1) * (cz + 1), cz + 1
    for q in prange(queue.size):
        t = np.int64(queue[q])
        k = t % nz
        j = (t // nz) % ny
        i = t // (nz * ny)
        own = u[i, j, k] if axis == 0 else (v[i, j, k] if axis == 1 else w[i, j, k])
        hold = sticky[min(i, cx - 1), min(j, cy - 1), min(k, cz - 1)] == 1
        at = i if axis == 0 else (j if axis == 1 else k)
        last = (nx if axis == 0 else (ny if axis == 1 else nz)) - 1
        if at == 0 or at == last:  # a side of the grid
            if hold:
                values[q] = 0.0
            else:
                values[q] = max(own, 0.0) if at == 0 else min(own, 0.0)
            continue
        node = i * s0 + j * s1 + k
        if axis == 0:
            n0, n1, n2 = _slopes(flat, node, s0, s1, 1)
        elif axis == 1:
            n1, n0, n2 = _slopes(flat, node, s1, s0, 1)
        else:
            n2, n0, n1 = _slopes(flat, node, 1, s0, s1)
        n0, n1, n2 = _unit(n0, n1, n2)
        # velocity at the middle of the face: its own component, and the mean of four values for each other component
        r0, r1, r2 = 0.0, own, own
        if first == 0:
            r0 = _mean_around(u, i, j, k, axis, 0) if axis != 0 else own
            if moving:
                r0 -= _mean_around(su, i, j, k, axis, 0) if axis != 0 else su[i, j, k]
        if axis != 1:
            r1 = _mean_around(v, i, j, k, axis, 1)
        if axis != 2:
            r2 = _mean_around(w, i, j, k, axis, 2)
        if moving:
            r1 -= _mean_around(sv, i, j, k, axis, 1) if axis != 1 else sv[i, j, k]
            r2 -= _mean_around(sw, i, j, k, axis, 2) if axis != 2 else sw[i, j, k]
        into = r0 * n0 + r1 * n1 + r2 * n2
        values[q] = own
        if into < 0.0 or hold:
            values[q] = own - into * (n0 if axis == 0 else (n1 if axis == 1 else n2))


@parallel
def _put(u, queue, values):
    """u[queue[q]] = values[q]"""
    flat = u.reshape(-1)
    for q in prange(queue.size):
        flat[np.uintp(queue[q])] = values[q]
