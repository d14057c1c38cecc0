"""Which faces have a velocity, and the extrapolation of values beyond them, layer by layer."""

import numpy as np
from numba import prange

from ....kernels import merged, parallel, serial
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
def _known_faces(known, open_share, phi, axis):
    """1 on faces that are open and border a liquid cell, 0 elsewhere.

    Faces that are closed or almost closed (open share up to SLIVER) are always unknown. The pressure may drive a fast
    but thin jet through a sliver of a face at the surface. Particles around it would take its velocity, although their
    mass is many times that of the jet.
    """
    nx, ny, nz = known.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                known[i, j, k] = open_share[i, j, k] > SLIVER and _borders_liquid(phi, i, j, k, axis)


@parallel
def _find_taken(taken, known, after, open_share, phi, axis):
    """taken - after on the faces of `_known_faces`, 0 on others; `taken` is the velocity before on entry."""
    nx, ny, nz = taken.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                good = open_share[i, j, k] > SLIVER and _borders_liquid(phi, i, j, k, axis)
                known[i, j, k] = good
                taken[i, j, k] = taken[i, j, k] - after[i, j, k] if good else 0.0


@parallel
def _keep_known(largest, known, u, open_share, mass, phi, axis):
    """Faces are known if they are open, and border a liquid cell or have particles near; u becomes 0 on others.

    Open is what `_known_faces` calls so. largest[r] = max|u| of the known ones along row r of the last axis.
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


@merged
def _is_wet(phi, open_share, axis, i, j, k):
    """Whether there is a face (i, j, k) of an axis that `_known_faces` calls known."""
    nx, ny, nz = open_share.shape
    if i < 0 or j < 0 or k < 0 or i >= nx or j >= ny or k >= nz:
        return False
    return open_share[i, j, k] > SLIVER and _borders_liquid(phi, i, j, k, axis)


@parallel
def _hold_surface(u, taken, once, push, limit, free, thin, open_share, mass, phi, axis):
    """Let the pressure act on liquid in cells that the surface cuts below their centres, where no face is an unknown.

    Such a cell (0 <= φ < ½) counts as air, but holds liquid. The faces around it that border no liquid cell would fall
    freely and pull its particles down, through the surface. They lose what the pressure took from the faces next to
    them (`taken`) of what gravity gave them (`push`): all of it up to φ = ¼, then less, nothing from φ = ½ on; and this
    only `once`, which is 1 or, later in the same step, 0.

    The slope of the surface must accelerate them too, and pressure alone would feed a shear between them and the
    liquid. So, to the share `thin`, they take the velocity of the faces next to them that border liquid, continued
    linearly: each direction with two of them, a and b, in a row gives 2a - b, and the mean over these directions counts
    (if there are none, the mean of the neighbours a). It changes a velocity by at most `limit`, which is what the slope
    can do: in a splash 2a - b is no velocity of the liquid, and doubled the speed of single particles. This is right
    without viscosity. The viscosity solve knows that no shear acts on a surface: `thin` is 0 for thick liquid. It is
    done as far as the pressure holds the liquid there: `free` is the share of gravity that it does not hold, over
    cells. Both cells of a face count, by their liquid: the one with more of it would depend on rounding errors.
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
                share = min(max(2.0 - 4.0 * min(a, b), 0.0), 1.0)
                if a < 0.0 or b < 0.0 or share <= 0.0:
                    continue
                own = u[i, j, k] - once * share * min(max(taken[i, j, k], least), most)
                straight, lines, total, count = 0.0, 0, 0.0, 0
                for way in range(6 if thin > 0.0 else 0):
                    step = 1 if way % 2 else -1
                    di = step if way // 2 == 0 else 0
                    dj = step if way // 2 == 1 else 0
                    dk = step if way // 2 == 2 else 0
                    if _is_wet(phi, open_share, axis, i + di, j + dj, k + dk):
                        near = u[i + di, j + dj, k + dk]
                        total += near
                        count += 1
                        if _is_wet(phi, open_share, axis, i + 2 * di, j + 2 * dj, k + 2 * dk):
                            straight += 2.0 * near - u[i + 2 * di, j + 2 * dj, k + 2 * dk]
                            lines += 1
                if count > 0:
                    wa, wb = max(0.5 - a, 0.0), max(0.5 - b, 0.0)  # liquid shares of the two cells
                    held = 1.0 - (wa * free[p, q, r] + wb * free[e, f, g]) / (wa + wb)
                    change = (straight / lines if lines > 0 else total / count) - own
                    own += thin * share * held * min(max(change, -limit), limit)
                u[i, j, k] = own


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
    # the box of all known values, which grows by a cell with every layer
    low, high = np.array((nx, ny, nz)), np.array((-1, -1, -1))
    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                if known[i, j, k] == 1:
                    low[0], low[1], low[2] = min(low[0], i), min(low[1], j), min(low[2], k)
                    high[0], high[1], high[2] = max(high[0], i), max(high[1], j), max(high[2], k)
    for layer in range(1, layers + 1):
        first, last = np.maximum(low - layer, 0), np.minimum(high + layer + 1, np.array(u.shape))
        for i in range(first[0], last[0]):
            for j in range(first[1], last[1]):
                for k in range(first[2], last[2]):
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
        for i in range(first[0], last[0]):
            for j in range(first[1], last[1]):
                for k in range(first[2], last[2]):
                    if known[i, j, k] == 2:
                        known[i, j, k] = 1
