"""Energy of particles, and taking back what they gained from nothing.

An APIC particle is a small cloud of mass on the faces around it: with value v and gradient c of a velocity
component it hands `Σ w_i (v + c · (x_i - x))² / 2` to the faces, which is `v²/2 + cᵀ D c / 2` with the inertia
`D = Σ w_i (x_i - x)(x_i - x)ᵀ` of the transfer's weights, for the trilinear hat diag(f (1 - f)), f the place of the
particle between two faces (Jiang et al. 2015, §5). Both transfers can only lose energy counted so.
"""

import numpy as np
from numba import prange

from . import parallel, serial


@serial
def _spin(x, aff, p, first):
    """Energy of the affine part of one particle, per mass."""
    total = 0.0
    for b in range(first, 3):
        on = x[b, p] - np.floor(x[b, p])
        off = on + 0.5 if on < 0.5 else on - 0.5
        on, off = on * (1.0 - on), off * (1.0 - off)
        for a in range(first, 3):
            c = np.float64(aff[3 * a + b, p])
            total += c * c * (on if a == b else off)
    return 0.5 * total


@parallel
def _energy(kinetic, height, x, vel, aff, first, affine, g0, g1, g2, batch):
    """Sums over the q-th batch of particles: kinetic energy and -g · x, per mass; `aff` is read if affine."""
    n = x.shape[1]
    for q in prange(kinetic.size):
        motion, rise = 0.0, 0.0
        for p in range(q * batch, min(n, (q + 1) * batch)):
            v0, v1, v2 = np.float64(vel[0, p]), np.float64(vel[1, p]), np.float64(vel[2, p])
            motion += 0.5 * (v0 * v0 + v1 * v1 + v2 * v2)
            if affine:
                motion += _spin(x, aff, p, first)
            rise -= g0 * x[0, p] + g1 * x[1, p] + g2 * x[2, p]
        kinetic[q] = motion
        height[q] = rise


@serial
def _gain(vel, old, p, g0, g1, g2, most):
    """What a particle gained over the step beside gravity's work, per mass; 0 if it lost, at most `most` of all it has.

    g0 g1 g2 are gravity times the length of the step.
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
    """Every particle gives back this share of what it gained, by slowing down."""
    for p in prange(vel.shape[1]):
        gain = share * _gain(vel, old, p, g0, g1, g2, most)
        if gain > 0.0:
            v0, v1, v2 = np.float64(vel[0, p]), np.float64(vel[1, p]), np.float64(vel[2, p])
            factor = np.float32(np.sqrt(1.0 - 2.0 * gain / (v0 * v0 + v1 * v1 + v2 * v2)))
            for a in range(3):
                vel[a, p] *= factor
            for a in range(aff.shape[0]):
                aff[a, p] *= factor
