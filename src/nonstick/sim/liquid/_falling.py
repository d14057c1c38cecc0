"""How freely liquid falls, and the velocity that it gains by falling for half a step.

Velocities of a step belong to its middle (`liquid`). Particles hold the velocity of its end, which is later by half a
step of their acceleration. Gravity is the only part of the acceleration that lasts: a particle adds the share of
gravity that neither pressure nor viscosity held in this step.
"""

import numpy as np
from numba import prange

from ...kernels import merged, parallel, parallel_sum


@parallel
def _free_share(share, d0, d1, d2, w0, w1, w2, g0, g1, g2, first):
    """share[c] = 1 if nothing holds cell c up, 0 if the pressure carries its whole weight, between 0 and 1.

    d0 d1 d2 are the velocities that the pressure took from the faces, w0 w1 w2 their open shares, and g0 g1 g2 is the
    velocity that gravity gave. Closed faces do not count; a cell without an open face along gravity is held.
    """
    nx, ny, nz = share.shape
    size = g0 * g0 + g1 * g1 + g2 * g2
    for plane in prange(nx):
        i = np.int64(plane)
        for j in range(ny):
            for k in range(nz):
                held = 0.0
                if g0 != 0.0 and first == 0:
                    held += g0 * _mean(d0[i, j, k], d0[i + 1, j, k], w0[i, j, k], w0[i + 1, j, k], g0)
                if g1 != 0.0:
                    held += g1 * _mean(d1[i, j, k], d1[i, j + 1, k], w1[i, j, k], w1[i, j + 1, k], g1)
                if g2 != 0.0:
                    held += g2 * _mean(d2[i, j, k], d2[i, j, k + 1], w2[i, j, k], w2[i, j, k + 1], g2)
                share[i, j, k] = min(max(1.0 - held / size, 0.0), 1.0)


@merged
def _mean(low, high, open_low, open_high, closed):
    """Mean of two faces weighted by their open shares; `closed` if both are closed."""
    total = open_low + open_high
    return (open_low * low + open_high * high) / total if total > 0.0 else closed


@parallel
def _look_up(value, share, x):
    """value[p] = share of the cell of particle p."""
    nx, ny, nz = share.shape
    for p in prange(value.size):
        i = min(max(int(x[0, p]), 0), nx - 1)
        j = min(max(int(x[1, p]), 0), ny - 1)
        k = min(max(int(x[2, p]), 0), nz - 1)
        value[p] = share[i, j, k]


@parallel
def _fall(out, vel, share, k0, k1, k2):
    """out[:, p] = velocity of particle p and share[p] · (k0, k1, k2); `out` may be the velocities themselves."""
    for p in prange(share.size):
        out[0, p] = vel[0, p] + share[p] * k0
        out[1, p] = vel[1, p] + share[p] * k1
        out[2, p] = vel[2, p] + share[p] * k2


@parallel_sum
def _gained(partial, vel, share, k0, k1, k2, batch):
    """partial[q] = kinetic energy per mass that `_fall` adds to the q-th batch of particles."""
    n = share.size
    for q in prange(partial.size):
        begin = np.uintp(q) * np.uintp(batch)
        total = 0.0
        for p in range(begin, min(np.uintp(n), begin + np.uintp(batch))):
            f = np.float64(share[p])
            total += f * k0 * (vel[0, p] + 0.5 * f * k0)
            total += f * k1 * (vel[1, p] + 0.5 * f * k1)
            total += f * k2 * (vel[2, p] + 0.5 * f * k2)
        partial[q] = total


@parallel_sum
def _work_on_held(work, vel, share, k0, k1, k2, batch):
    """work[q] = sum of (1 - share[p]) · (k0, k1, k2) · velocity over the q-th batch of particles."""
    n = share.size
    for q in prange(work.size):
        begin = np.uintp(q) * np.uintp(batch)
        total = 0.0
        for p in range(begin, min(np.uintp(n), begin + np.uintp(batch))):
            total += (1.0 - share[p]) * (k0 * vel[0, p] + k1 * vel[1, p] + k2 * vel[2, p])
        work[q] = total
