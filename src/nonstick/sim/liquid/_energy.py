"""Energy of particles, and the removal of energy that they gained without work.

An APIC particle is a small cloud of mass on the faces around it: with value v and gradient c of a velocity component it
gives `Σ w_i (v + c · (x_i - x))² / 2` to the faces, which is `v²/2 + cᵀ D c / 2` with the inertia `D = Σ w_i (x_i -
x)(x_i - x)ᵀ` of the transfer's weights, for the trilinear hat diag(f (1 - f)), f the place of the particle between two
faces (Jiang et al. 2015, §5). Counted like this, both transfers can only lose energy.

Velocities of a step belong to its middle (`liquid`). Particles hold the velocity of its end, which is later by half a
step of their acceleration. Gravity is the only part of the acceleration that lasts: a particle adds the share of
gravity that neither pressure nor viscosity held in this step, and the energy that it gains by this is counted.
"""

import numpy as np
from numba import prange

from ...kernels import merged, parallel, parallel_sum


@merged
def _inertia(a):
    """f (1 - f) with the place f of coordinate a between two faces, and between two centres."""
    on, off = a - np.floor(a), a + 0.5 - np.floor(a + 0.5)
    return on * (1.0 - on), off * (1.0 - off)


@parallel_sum
def _energy(kinetic, height, x, vel, aff, affine, g0, g1, g2, batch):
    """Sums over the q-th batch of particles: kinetic energy and -g · x, per mass; `aff` is read if affine.

    Entries of `aff` that a 2D grid does not use are zero.
    """
    n = x.shape[1]
    for q in prange(kinetic.size):
        begin = np.uintp(q) * np.uintp(batch)
        end = min(np.uintp(n), begin + np.uintp(batch))
        motion, rise = 0.0, 0.0
        for p in range(begin, end):
            v0, v1, v2 = np.float64(vel[0, p]), np.float64(vel[1, p]), np.float64(vel[2, p])
            motion += v0 * v0 + v1 * v1 + v2 * v2
            rise -= g0 * x[0, p] + g1 * x[1, p] + g2 * x[2, p]
        if affine:
            for p in range(begin, end):
                on0, off0 = _inertia(x[0, p])
                on1, off1 = _inertia(x[1, p])
                on2, off2 = _inertia(x[2, p])
                c0, c1, c2 = np.float64(aff[0, p]), np.float64(aff[1, p]), np.float64(aff[2, p])
                c3, c4, c5 = np.float64(aff[3, p]), np.float64(aff[4, p]), np.float64(aff[5, p])
                c6, c7, c8 = np.float64(aff[6, p]), np.float64(aff[7, p]), np.float64(aff[8, p])
                motion += on0 * c0 * c0 + on1 * c4 * c4 + on2 * c8 * c8
                motion += off0 * (c3 * c3 + c6 * c6) + off1 * (c1 * c1 + c7 * c7) + off2 * (c2 * c2 + c5 * c5)
        kinetic[q] = 0.5 * motion
        height[q] = rise


@merged
def _gain(vel, old, p, g0, g1, g2, most):
    """Energy per mass that a particle gained in a step, without the work of gravity.

    It is 0 if the particle lost energy, and at most the share `most` of its kinetic energy. g0 g1 g2 are gravity times
    the length of the step.
    """
    v0, v1, v2 = np.float64(vel[0, p]), np.float64(vel[1, p]), np.float64(vel[2, p])
    o0, o1, o2 = np.float64(old[0, p]), np.float64(old[1, p]), np.float64(old[2, p])
    has = 0.5 * (v0 * v0 + v1 * v1 + v2 * v2)
    had = 0.5 * (o0 * o0 + o1 * o1 + o2 * o2)
    return min(max(has - had - (v0 * g0 + v1 * g1 + v2 * g2), 0.0), most * has)


@parallel
def _gains(partial, vel, old, g0, g1, g2, most, batch):
    """partial[q] = sum of the gains over the q-th batch of particles."""
    n = vel.shape[1]
    for q in prange(partial.size):
        total = 0.0
        for p in range(q * batch, min(n, (q + 1) * batch)):
            total += _gain(vel, old, p, g0, g1, g2, most)
        partial[q] = total


@parallel
def _take_gains(vel, aff, old, g0, g1, g2, most, share):
    """Every particle gives back this share of the energy it gained, by slowing down."""
    for p in prange(vel.shape[1]):
        gain = share * _gain(vel, old, p, g0, g1, g2, most)
        if gain > 0.0:
            v0, v1, v2 = np.float64(vel[0, p]), np.float64(vel[1, p]), np.float64(vel[2, p])
            factor = np.float32(np.sqrt(1.0 - 2.0 * gain / (v0 * v0 + v1 * v1 + v2 * v2)))
            for a in range(3):
                vel[a, p] *= factor
            for a in range(aff.shape[0]):
                aff[a, p] *= factor


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
