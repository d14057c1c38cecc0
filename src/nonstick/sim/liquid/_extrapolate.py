"""Extrapolates values layer by layer, and removes the velocity that walls forbid."""

import numpy as np
from numba import prange

from ...kernels import merged, parallel, serial
from ...kernels._interpolate import _sample
from ._surface import _normal

#: open share up to which a face counts as closed
SLIVER = 0.05


@parallel
def _known_faces(known, open_share, mass, phi, axis, with_liquid):
    """1 on faces whose velocity is known: particles are near, or the face borders a liquid cell.

    With `with_liquid`, faces that are closed or almost closed (open share up to SLIVER) are always unknown. The
    pressure may drive a fast but thin jet through a sliver of a face at the surface. Particles around it would take its
    velocity, although their mass is many times that of the jet.
    """
    nx, ny, nz = known.shape
    cx, cy, cz = phi.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                good = mass[i, j, k] > 1e-9
                if with_liquid:
                    if open_share[i, j, k] <= SLIVER:
                        good = False
                    elif not good:
                        a = phi[max(i - (axis == 0), 0), max(j - (axis == 1), 0), max(k - (axis == 2), 0)]
                        b = phi[min(i, cx - 1), min(j, cy - 1), min(k, cz - 1)]
                        good = a < 0.0 or b < 0.0
                known[i, j, k] = 1 if good else 0


@merged
def _touches_liquid(phi, open_share, axis, i, j, k):
    """True if a face is open and borders a liquid cell: the pressure acts on it."""
    nx, ny, nz = open_share.shape
    if i < 0 or j < 0 or k < 0 or i >= nx or j >= ny or k >= nz or open_share[i, j, k] <= SLIVER:
        return False
    cx, cy, cz = phi.shape
    low = phi[max(i - (axis == 0), 0), max(j - (axis == 1), 0), max(k - (axis == 2), 0)]
    return low < 0.0 or phi[min(i, cx - 1), min(j, cy - 1), min(k, cz - 1)] < 0.0


@parallel
def _hold_surface(u, before, taken, push, free, thin, open_share, mass, phi, axis):
    """Let the pressure act on liquid in cells that the surface cuts below their centres, where no face is an unknown.

    Such a cell (0 <= φ < ½) counts as air, but holds liquid. The faces around it that border no liquid cell would fall
    freely and pull its particles down, through the surface. They lose what the pressure took from the faces next to
    them (`taken`) of what gravity gave them (`push`): all of it up to φ = ¼, then less, nothing from φ = ½ on.

    The slope of the surface must accelerate them too, and pressure alone would feed a shear between them and the
    liquid. So, to the share `thin`, they take the velocity of the faces next to them that border liquid, continued
    linearly: each direction with two of them, a and b, in a row gives 2a - b, and the mean over these directions counts
    (if there are none, the mean of the neighbours a). This is right without viscosity. The viscosity solve knows that
    no shear acts on a surface: `thin` is 0 for thick liquid. It is done as far as the pressure holds the liquid there:
    `free` is the share of gravity that it does not hold, over cells. `before` is the velocity before the pressure
    acted.
    """
    nx, ny, nz = u.shape
    cx, cy, cz = phi.shape
    least, most = min(push, 0.0), max(push, 0.0)
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                if mass[i, j, k] <= 1e-9 or open_share[i, j, k] <= SLIVER:
                    continue
                p, q, r = max(i - (axis == 0), 0), max(j - (axis == 1), 0), max(k - (axis == 2), 0)
                e, f, g = min(i, cx - 1), min(j, cy - 1), min(k, cz - 1)
                a, b = phi[p, q, r], phi[e, f, g]
                if a < 0.0 or b < 0.0:
                    continue
                share = min(max(2.0 - 4.0 * min(a, b), 0.0), 1.0)
                straight, lines, total, count = 0.0, 0, 0.0, 0
                if share * thin > 0.0:
                    for way in range(6):
                        step = 1 if way % 2 else -1
                        di = step if way // 2 == 0 else 0
                        dj = step if way // 2 == 1 else 0
                        dk = step if way // 2 == 2 else 0
                        if not _touches_liquid(phi, open_share, axis, i + di, j + dj, k + dk):
                            continue
                        near = u[i + di, j + dj, k + dk]
                        total += near
                        count += 1
                        if _touches_liquid(phi, open_share, axis, i + 2 * di, j + 2 * dj, k + 2 * dk):
                            straight += 2.0 * near - u[i + 2 * di, j + 2 * dj, k + 2 * dk]
                            lines += 1
                own = before[i, j, k] - share * min(max(taken[i, j, k], least), most)
                if count > 0:
                    held = 1.0 - (free[p, q, r] if a < b else free[e, f, g])
                    own += thin * share * held * ((straight / lines if lines > 0 else total / count) - own)
                u[i, j, k] = own


@parallel
def _keep_known(largest, u, known):
    """Unknown values become 0; largest[r] = max|u| of the known ones along row r of the last axis."""
    nx, ny, nz = u.shape
    flat, have = u.reshape(-1), known.reshape(-1)
    for row in prange(nx * ny):
        best = 0.0
        begin = np.uintp(row) * np.uintp(nz)
        for t in range(begin, begin + np.uintp(nz)):
            value = flat[t] if have[t] == 1 else 0.0
            flat[t] = value
            best = max(best, abs(value))
        largest[row] = best


@parallel
def _extrapolate(u, known, queue, layers):
    """Fill unknown values layer by layer with the mean of their known neighbours.

    `known` is 1 where u holds a value and 0 elsewhere, and is 1 on the filled band afterwards. `queue`
    receives the linear indices of the filled entries, layer by layer; returns their number.
    A layer reads only values of earlier layers, so the result does not depend on the order.
    """
    nx, ny, nz = u.shape
    flat, have = u.reshape(-1), known.reshape(-1)
    rows = nx * ny
    first = np.empty(rows + 1, np.int64)
    mark = np.empty(u.size, np.int8)
    end = 0
    for _layer in range(layers):
        # Whole rows of bytes are compared as vectors, which is cheaper than following a front.
        first[0] = end
        for turn in prange(rows):
            row = np.int64(turn)
            i, j = row // ny, row % ny
            here = row * nz
            below = here - ny * nz if i > 0 else here
            above = here + ny * nz if i + 1 < nx else here
            left = here - nz if j > 0 else here
            right = here + nz if j + 1 < ny else here
            for k in range(nz):
                mark[np.uintp(here + k)] = (
                    have[np.uintp(below + k)]
                    | have[np.uintp(above + k)]
                    | have[np.uintp(left + k)]
                    | have[np.uintp(right + k)]
                )
            for k in range(nz - 1):
                mark[np.uintp(here + k)] |= have[np.uintp(here + k + 1)]
            for k in range(1, nz):
                mark[np.uintp(here + k)] |= have[np.uintp(here + k - 1)]
            count = 0
            for k in range(nz):
                new = mark[np.uintp(here + k)] & ~have[np.uintp(here + k)]
                mark[np.uintp(here + k)] = new
                count += new
            first[row + 1] = count
        for row in range(rows):
            first[row + 1] += first[row]
        begin, end = end, first[rows]
        for turn in prange(rows):
            row = np.int64(turn)
            at = first[row]
            if first[row + 1] > at:
                for t in range(row * nz, (row + 1) * nz):
                    if mark[np.uintp(t)] != 0:
                        queue[at] = t
                        at += 1
        for step in prange(end - begin):
            t = np.int64(queue[begin + np.int64(step)])
            k = t % nz
            j = (t // nz) % ny
            i = t // (nz * ny)
            total, count = 0.0, 0
            if i > 0 and have[t - ny * nz] == 1:
                total += flat[t - ny * nz]
                count += 1
            if i + 1 < nx and have[t + ny * nz] == 1:
                total += flat[t + ny * nz]
                count += 1
            if j > 0 and have[t - nz] == 1:
                total += flat[t - nz]
                count += 1
            if j + 1 < ny and have[t + nz] == 1:
                total += flat[t + nz]
                count += 1
            if k > 0 and have[t - 1] == 1:
                total += flat[t - 1]
                count += 1
            if k + 1 < nz and have[t + 1] == 1:
                total += flat[t + 1]
                count += 1
            flat[t] = total / count
        for step in prange(end - begin):
            have[queue[begin + np.int64(step)]] = 1
    return end


@serial
def _continue_linearly(u, known, layers):
    """Fill unknown values layer by layer, linearly along the axes: an affine field is extended exactly.

    `known` is 1 where u holds a value and 0 elsewhere, and is 1 on the filled band afterwards. Each direction with two
    known values a, b in a row gives 2a - b. The result is the mean over these directions; if there are none, the mean
    of the known neighbours.
    """
    nx, ny, nz = u.shape
    for _layer in range(layers):
        for i in range(nx):
            for j in range(ny):
                for k in range(nz):
                    if known[i, j, k] != 0:
                        continue
                    straight, lines, total, count = 0.0, 0, 0.0, 0
                    for way in range(6):
                        step = 1 if way % 2 else -1
                        di = step if way // 2 == 0 else 0
                        dj = step if way // 2 == 1 else 0
                        dk = step if way // 2 == 2 else 0
                        a, b, c = i + di, j + dj, k + dk
                        if a < 0 or b < 0 or c < 0 or a >= nx or b >= ny or c >= nz or known[a, b, c] != 1:
                            continue
                        total += u[a, b, c]
                        count += 1
                        e, f, g = a + di, b + dj, c + dk
                        if e < 0 or f < 0 or g < 0 or e >= nx or f >= ny or g >= nz or known[e, f, g] != 1:
                            continue
                        straight += 2.0 * u[a, b, c] - u[e, f, g]
                        lines += 1
                    if lines:
                        u[i, j, k] = straight / lines
                        known[i, j, k] = 2
                    elif count:
                        u[i, j, k] = total / count
                        known[i, j, k] = 2
        for i in range(nx):
            for j in range(ny):
                for k in range(nz):
                    if known[i, j, k] == 2:
                        known[i, j, k] = 1


@parallel
def _continue_into_solids(u, grade, queue, count, open_share, wall, moving, axis):
    """Continue u linearly into solids, two layers deep: a rotation keeps its rate up to the wall and beyond.

    `queue` lists `count` faces that `_extrapolate` has filled; those of them that are closed (open share up to SLIVER)
    are changed. `grade` is 1 where u was known before, 0 elsewhere, and becomes 2 on faces that are changed. Each
    direction with two known faces a, b in a row gives 2a - b, and u becomes the mean over these directions. The second
    layer uses the first one.

    Along its own axis u must not become faster on the way into the solid, relative to it: a is taken instead. Drops
    that leave a wall and stretch would take such a velocity with them, stretch more, and speed up without a force.
    `wall` is the velocity of solids on these faces, read if `moving`.
    """
    nx, ny, nz = u.shape
    values, found = np.empty(count), np.empty(count, np.bool_)
    for _layer in range(2):
        for q in prange(count):
            t = np.int64(queue[q])
            k = t % nz
            j = (t // nz) % ny
            i = t // (nz * ny)
            found[q] = False
            if open_share[i, j, k] > SLIVER or grade[i, j, k] != 0:
                continue
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
                    at_rest = wall[i, j, k] if moving else 0.0
                    if way // 2 == axis and more * (near - at_rest) > 0.0:
                        more = 0.0
                    total += near + more
                    lines += 1
            if lines > 0:
                values[q], found[q] = total / lines, True
        for q in range(count):  # not parallel: two parallel loops of one length would be merged into one
            if found[q]:
                t = np.int64(queue[q])
                u[t // (nz * ny), (t // nz) % ny, t % nz] = values[q]
                grade[t // (nz * ny), (t // nz) % ny, t % nz] = 2


@parallel
def _constrain(values, queue, count, axis, u, v, w, open_share, solid, su, sv, sw, moving, sticky, first):
    """Velocity that walls allow on the extrapolated faces of one axis that lie inside a solid.

    The component of the relative velocity along the wall normal is removed: always at sticky walls; at separating walls
    only if it points into the wall, because otherwise liquid that is about to leave would be held back. `sticky` is 1
    in cells next to a sticky wall; su sv sw, the velocity of walls, are read if `moving`. values[q] belongs to the face
    queue[q].
    """
    nx, ny, nz = open_share.shape
    cx, cy, cz = sticky.shape
    for q in prange(count):
        t = np.int64(queue[q])
        k = t % nz
        j = (t // nz) % ny
        i = t // (nz * ny)
        a = i + (0.0 if axis == 0 else 0.5)
        b = j + (0.0 if axis == 1 else 0.5)
        c = k + (0.0 if axis == 2 else 0.5)
        own = u[i, j, k] if axis == 0 else (v[i, j, k] if axis == 1 else w[i, j, k])
        values[q] = own
        if open_share[i, j, k] > SLIVER:
            continue
        hold = sticky[min(i, cx - 1), min(j, cy - 1), min(k, cz - 1)] == 1
        at = i if axis == 0 else (j if axis == 1 else k)
        last = (nx if axis == 0 else (ny if axis == 1 else nz)) - 1
        if at == 0 or at == last:  # a side of the grid
            if hold:
                values[q] = 0.0
            else:
                values[q] = max(own, 0.0) if at == 0 else min(own, 0.0)
            continue
        n0, n1, n2 = _normal(solid, a, b, c)
        # velocity at the middle of the face: its own component, and the mean of four values for each other component
        r0, r1, r2 = own, own, own
        if axis != 0 and first == 0:
            r0 = _sample(u, a, b - 0.5, c - 0.5)
        if axis != 1:
            r1 = _sample(v, a - 0.5, b, c - 0.5)
        if axis != 2:
            r2 = _sample(w, a - 0.5, b - 0.5, c)
        if first == 1:
            r0 = 0.0
        if moving:
            r0 -= _sample(su, a, b - 0.5, c - 0.5) if first == 0 else 0.0
            r1 -= _sample(sv, a - 0.5, b, c - 0.5)
            r2 -= _sample(sw, a - 0.5, b - 0.5, c)
        into = r0 * n0 + r1 * n1 + r2 * n2
        if into < 0.0 or hold:
            values[q] = own - into * (n0 if axis == 0 else (n1 if axis == 1 else n2))


@serial
def _put(u, queue, count, values):
    """u[queue[q]] = values[q]"""
    flat = u.reshape(-1)
    for q in range(count):
        flat[queue[q]] = values[q]
