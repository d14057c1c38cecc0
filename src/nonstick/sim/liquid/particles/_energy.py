"""Energy of particles.

An APIC particle is a small cloud of mass on the faces around it: with value v and gradient c of a velocity component it
gives `Σ w_i (v + c · (x_i - x))² / 2` to the faces, which is `v²/2 + cᵀ D c / 2` with the inertia `D = Σ w_i (x_i -
x)(x_i - x)ᵀ` of the transfer's weights, for the trilinear hat diag(f (1 - f)), f the place of the particle between two
faces (Jiang et al. 2015, §5). Counted like this, both transfers can only lose energy.

Velocities belong to the middle of a step, so heights are those of its middle too: then liquid in flight keeps its
energy exactly, and a step can only lose what its projection takes.
"""

import numpy as np

from ....kernels import merged, parallel_sum, prange


@merged
def _inertia(a):
    """f (1 - f) with the place f of coordinate a between two faces, and between two centres."""
    on, off = a - np.floor(a), a + 0.5 - np.floor(a + 0.5)
    return on * (1.0 - on), off * (1.0 - off)


@parallel_sum
def _energy(kinetic, height, x, vel, aff, affine, g0, g1, g2, back, batch):
    """Sums over the q-th batch of particles: kinetic energy and -g · x, per mass; `aff` is read if affine.

    x is taken where the particle was `back` (in cells per m/s) before. Entries of `aff` that a 2D grid does not use are
    zero.
    """
    n = x.shape[1]
    for q in prange(kinetic.size):
        begin = np.uintp(q) * np.uintp(batch)
        end = min(np.uintp(n), begin + np.uintp(batch))
        motion, rise = 0.0, 0.0
        for p in range(begin, end):
            v0, v1, v2 = np.float64(vel[0, p]), np.float64(vel[1, p]), np.float64(vel[2, p])
            motion += v0 * v0 + v1 * v1 + v2 * v2
            rise -= g0 * (x[0, p] - back * v0) + g1 * (x[1, p] - back * v1) + g2 * (x[2, p] - back * v2)
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
