"""Level sets on cells: extension into solids, and the functions of which surfaces from particles are made."""

import numpy as np

from ..kernels import merged, parallel, prange
from ..kernels._interpolate import _sample


@merged
def _slope(field, a, b, c):
    """Central difference of a nodal field at (a, b, c), per cell of the field."""
    g0 = _sample(field, a + 0.5, b, c) - _sample(field, a - 0.5, b, c)
    g1 = _sample(field, a, b + 0.5, c) - _sample(field, a, b - 0.5, c)
    g2 = _sample(field, a, b, c + 0.5) - _sample(field, a, b, c - 0.5)
    return g0, g1, g2


@merged
def _unit(g0, g1, g2):
    """A vector of length 1, or zero."""
    size = np.sqrt(g0 * g0 + g1 * g1 + g2 * g2)
    if size > 1e-9:
        return g0 / size, g1 / size, g2 / size
    return 0.0, 0.0, 0.0


@merged
def _normal(solid, a, b, c):
    """The normal of walls at (a, b, c), from their nodal distance; zero where it is flat."""
    g0, g1, g2 = _slope(solid, a, b, c)
    return _unit(g0, g1, g2)


@merged
def _towards_image(n0, n1, n2, up):
    """The direction m of mirror images in a wall with the normal n, with n · m = 1.

    It is the normal, and along the horizontal where the wall is steep, so that a level surface stays level up to it.
    """
    rise = n0 * up[0] + n1 * up[1] + n2 * up[2]
    level = 1.0 - rise * rise
    if level > 0.25:
        return (n0 - rise * up[0]) / level, (n1 - rise * up[1]) / level, (n2 - rise * up[2]) / level
    return n0, n1, n2


@merged
def _tabulated(table, at):
    """The value between the entries of a table; the last two entries go on beyond its end."""
    q = min(int(at), table.size - 2)
    return table[q] + (at - q) * (table[q + 1] - table[q])


@merged
def _eikonal(a, b, c):
    """The x with max(x - a, 0)² + max(x - b, 0)² + max(x - c, 0)² = 1, in cells (Zhao 2005).

    The distance of a cell from a surface, from the distances of its neighbours: |∇φ| = 1 by upwind differences.
    """
    a, b = min(a, b), max(a, b)
    b, c = min(b, c), max(b, c)
    a, b = min(a, b), max(a, b)
    x = a + 1.0
    if x > b:
        x = 0.5 * (a + b + np.sqrt(max(2.0 - (a - b) * (a - b), 0.0)))
        if x > c:
            s = a + b + c
            x = (s + np.sqrt(max(s * s - 3.0 * (a * a + b * b + c * c - 1.0), 0.0))) / 3.0
    return x


#: φ is that of a plane so near to the surface, in cells; farther away it is only known to be large
STRAIGHT = 0.9
#: what tells the φ of a cell: a row of two others near the surface, one with the second farther away, one in deep
#: liquid, any neighbour
ROW, LONG, DEEP, ANY = 0, 1, 2, 3


@parallel
def _continue_linearly(values, cells, phi, known, centre, rule):
    """values[q] = φ of cells[q], whose φ is not known, from cells that are `known`; NaN if they do not tell.

    By the rule ROW two known cells a, b in a row, both nearer to the surface than STRAIGHT, give 2a - b; by LONG the
    second may be farther away by a cell. By DEEP, where both are deep, the cell is too. By ANY a neighbour gives its φ.
    Of the six rows that one counts whose a is farthest from walls, by their distance `centre`. Rows that lead to the
    other side of a wall do not: in the middle of a cell this distance grows the other way.
    """
    nx, ny, nz = phi.shape
    flat, told, away = phi.reshape(-1), known.reshape(-1), centre.reshape(-1)
    for q in prange(cells.size):
        t = np.int64(cells[q])
        row = t // nz
        values[q] = np.nan
        best = -np.inf
        for way in range(6):
            axis = way // 2
            n = nx if axis == 0 else ny if axis == 1 else nz
            at = row // ny if axis == 0 else row % ny if axis == 1 else t - row * nz
            stride = ny * nz if axis == 0 else nz if axis == 1 else 1
            ahead, behind = at, n - 1 - at  # cells up to the sides of the grid
            if way % 2:
                ahead, behind = behind, ahead
            else:
                stride = -stride
            if ahead < 1 or not told[np.uintp(t + stride)]:
                continue
            here = away[np.uintp(t + stride)]
            if here <= best or here < away[np.uintp(t - stride if behind > 0 else t)]:
                continue
            near = flat[np.uintp(t + stride)]
            if rule == ANY:
                best, values[q] = here, near
                continue
            if ahead < 2 or not told[np.uintp(t + 2 * stride)]:
                continue
            far = flat[np.uintp(t + 2 * stride)]
            if rule == DEEP and max(near, far) <= -STRAIGHT:
                best, values[q] = here, min(2.0 * near - far, -STRAIGHT)
            elif rule < DEEP and abs(near) < STRAIGHT and abs(far) < STRAIGHT + rule:
                best, values[q] = here, 2.0 * near - far


@merged
def _liquid_around(phi, i, j, k):
    """True if one of the nine cells around (i, j, k) in its plane across the last axis has liquid."""
    nx, ny, nz = phi.shape
    if k < 0 or k >= nz:
        return False
    for a in range(max(i - 1, 0), min(i + 2, nx)):
        for b in range(max(j - 1, 0), min(j + 2, ny)):
            if phi[a, b, k] < 0.0:
                return True
    return False


@parallel
def _extend_into_solids(out, phi, solid, released, distance):
    """out = phi, extended into solid cells next to liquid; see `nonstick.grid.levelset`.

    `released` and `distance` are empty if not given.
    """
    nx, ny, nz = phi.shape
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            before, here, after, looked = False, False, False, -2  # liquid around k - 1, k, k + 1 for k = looked
            for k in range(nz):
                out[i, j, k] = phi[i, j, k]
                if not solid[i, j, k]:
                    continue
                if looked != k - 1:
                    here, after = _liquid_around(phi, i, j, k - 1), _liquid_around(phi, i, j, k)
                before, here, after, looked = here, after, _liquid_around(phi, i, j, k + 1), k
                if not (before or here or after):
                    continue
                best = 4  # number of axes along which the nearest liquid neighbour is offset
                total = 0.0
                count = 0
                held = 0
                for a in range(max(i - 1, 0), min(i + 2, nx)):
                    for b in range(max(j - 1, 0), min(j + 2, ny)):
                        for c in range(max(k - 1, 0), min(k + 2, nz)):
                            if solid[a, b, c] or not phi[a, b, c] < 0.0:
                                continue
                            if released.size == 0 or not released[a, b, c]:
                                held += 1
                            kind = (a != i) + (b != j) + (c != k)
                            if kind < best:
                                best, total, count = kind, 0.0, 0
                            if kind == best:
                                total += phi[a, b, c]
                                count += 1
                if count == 0:
                    continue
                if held > 0:
                    if phi[i, j, k] >= 0.0:
                        out[i, j, k] = total / count
                elif distance.size > 0:
                    out[i, j, k] = distance[i, j, k]
                else:
                    out[i, j, k] = abs(total / count)
