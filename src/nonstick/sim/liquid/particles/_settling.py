"""The move of particles by what a level set lacks."""

from ....kernels import merged, parallel, prange
from ....kernels._interpolate import _between_centres, _sample

#: particles that a thread moves at a time
BATCH = 4096


@merged
def _mixed(f, i0, i1, j0, j1, k0, k1, fx, fy, fz):
    """The trilinear value of a field over cells between eight centres."""
    low = (1.0 - fy) * ((1.0 - fz) * f[i0, j0, k0] + fz * f[i0, j0, k1])
    low += fy * ((1.0 - fz) * f[i0, j1, k0] + fz * f[i0, j1, k1])
    high = (1.0 - fy) * ((1.0 - fz) * f[i1, j0, k0] + fz * f[i1, j0, k1])
    high += fy * ((1.0 - fz) * f[i1, j1, k0] + fz * f[i1, j1, k1])
    return (1.0 - fx) * low + fx * high


@parallel
def _settle(x, vel, aff, w0, w1, w2, near, solid, margin, first):
    """Move particles by the ways w0 w1 w2 of cells, in place; a cell counts where `near` is 1.

    A way fades where less than half of the cells around count. A particle stays if it would come nearer than
    `margin` to a wall or a side of the grid. Its velocity follows its gradient, if it has one. `first` is the
    first axis.
    """
    n, (nx, ny, nz) = x.shape[1], near.shape
    for block in prange((n + BATCH - 1) // BATCH):
        begin = block * BATCH
        for p in range(begin, min(n, begin + BATCH)):
            a, b, c = x[0, p], x[1, p], x[2, p]
            i0, i1, fx = _between_centres(a, nx)
            j0, j1, fy = _between_centres(b, ny)
            k0, k1, fz = _between_centres(c, nz)
            known = _mixed(near, i0, i1, j0, j1, k0, k1, fx, fy, fz)
            if known <= 0.0:
                continue
            share = 1.0 / max(known, 0.5)
            d0 = share * _mixed(w0, i0, i1, j0, j1, k0, k1, fx, fy, fz) if first == 0 else 0.0
            d1 = share * _mixed(w1, i0, i1, j0, j1, k0, k1, fx, fy, fz)
            d2 = share * _mixed(w2, i0, i1, j0, j1, k0, k1, fx, fy, fz)
            a, b, c = a + d0, b + d1, c + d2
            inside = margin <= b <= ny - margin and margin <= c <= nz - margin
            inside = inside and (first > 0 or margin <= a <= nx - margin)
            if not inside or _sample(solid, a, b, c) < margin:
                continue
            x[0, p], x[1, p], x[2, p] = a, b, c
            if aff.shape[0] == 9:
                vel[0, p] += aff[0, p] * d0 + aff[1, p] * d1 + aff[2, p] * d2
                vel[1, p] += aff[3, p] * d0 + aff[4, p] * d1 + aff[5, p] * d2
                vel[2, p] += aff[6, p] * d0 + aff[7, p] * d1 + aff[8, p] * d2
