"""The energy of a closed run never grows: what a step adds is taken from the particles that got it.

Exact projection only takes energy away, counted by the volumes of liquid the pressure equation sees. Particles
carry mass: where an impact has crowded them, or where the surface or a wall cuts a face, the particles at a face
weigh more than its volume, and are thrown out with more energy than was there (up to 1.4 % of all that a splash
can lose, in one step). Nothing else in a step adds so much: transfers only lose (`nonstick.kernels._energy`), steps in
time lose to second order, what evening out lifts is paid for.
"""

from __future__ import annotations

import numpy as np

from ._energy import _energy, _gains, _take_gains
from ._particles import BATCH
from .particles import Particles

#: largest share of its kinetic energy one particle that gained gives back in a step
MOST = 0.9
#: and the same for all of them together, if those that gained have not enough
ALL = 0.1
#: rounding of velocities must not let the sum grow
SAFETY = 1e-6


def energy(p: Particles, gravity: np.ndarray) -> tuple[float, float]:
    """Sums over particles of kinetic energy in (m/s)² and of -g · x in m/s² times cells."""
    parts = -(-p.n // BATCH)
    kinetic, height = np.zeros(parts), np.zeros(parts)
    _energy(kinetic, height, p.x, p.vel, p.aff, p.affine, *gravity, BATCH)
    return float(kinetic.sum()), float(height.sum())


def give_back(p: Particles, old: np.ndarray, push: np.ndarray, excess: float) -> None:
    """Take `excess`, in (m/s)², from the particles that gained, and what they cannot give from all motion there is.

    `old` are the velocities before the step, `push` is gravity times its length.
    """
    parts = np.zeros(-(-p.n // BATCH))
    _gains(parts, p.vel, old, *push, MOST, BATCH)
    gained = float(parts.sum())
    if gained > 0.0:
        share = min((1.0 + SAFETY) * excess / gained, 1.0)
        _take_gains(p.vel, p.aff, old, *push, MOST, share)
        excess -= share * gained
    if excess > 0.0:
        kinetic = energy(p, np.zeros(3))[0]
        p.slow(float(np.sqrt(1.0 - min((1.0 + SAFETY) * excess / kinetic, ALL))) if kinetic > 0.0 else 1.0)
