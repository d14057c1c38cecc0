"""Keeps the energy of a closed run from growing: energy that a step adds is taken from the particles that gained it.

An exact projection only removes energy, if energy is computed with the volume of liquid in the pressure equation. But
particles carry the mass. Where an impact has crowded them, or where the surface or a wall cuts a face, the particles at
a face have more mass than its volume. The pressure then throws them out with more energy than there was before: in one
step, up to 1.4 % of all energy that a splash can lose. No other part of a step adds as much. Transfers only lose energy
(`_energy`), steps in time lose it to second order, and when evening out lifts particles, their kinetic energy is
reduced by the same amount.

A wave pays for this. Its energy goes from height to motion and back. At the surface the pressure acts on volumes and
particles carry the mass, so the sum would rise and fall a little, twice in a period: by 1 % of the kinetic energy
with 96 cells along the wave, whatever the steps. Every rise is taken away and every fall stays, which takes 1 % of
the energy of such a wave in a period (3 % with 48 cells, 10 % with 32).
"""

from __future__ import annotations

import numpy as np

from ._energy import _energy, _gains, _take_gains
from ._particles import BATCH
from .alone import Alone
from .cloud import Cloud
from .layout import Layout

#: largest share of its kinetic energy that a particle which gained energy gives back in a step
GIVEN_BACK = 0.9
#: largest share of their kinetic energy that all particles give, if the particles that gained cannot give enough
ALL = 0.9
#: a little more is taken, so that the sum does not grow by rounding of velocities
SAFETY = 1e-6


def energy(p: Cloud, gravity: np.ndarray, ranks: Alone) -> tuple[float, float]:
    """Sums over particles of kinetic energy in (m/s)² and of -g · x in m/s² times cells."""
    parts = -(-p.n // BATCH)
    kinetic, height = np.zeros(parts), np.zeros(parts)
    _energy(kinetic, height, ranks.position(p.x), p.vel, p.aff, p.affine, *gravity, BATCH)
    return ranks.sum(float(kinetic.sum())), ranks.sum(float(height.sum()))


def heat(
    mass: list[np.ndarray], before: list[np.ndarray], after: list[np.ndarray], layout: Layout, ranks: Alone
) -> float:
    """Kinetic energy that viscosity has taken from the velocity `before`, for masses on the faces."""
    total = 0.0
    for axis in layout.axes:
        u, v = before[axis], after[axis]
        total += 0.5 * float(ranks.own_faces(mass[axis] * (u - v) * (u + v), axis).sum())
    return max(ranks.sum(total), 0.0)


def surplus(p: Cloud, gain: np.ndarray, ranks: Alone, turned: np.ndarray | float = 0.0) -> float:
    """What the kinetic energy of particles has beyond that of the flow at the end of the step, in (m/s)².

    It is what the turning of the force added (the sum of `turned`), less what liquid gains that does not fall freely:
    its velocities are those of the middle of the step, and `gain` is what falling gives from there to the end. Pressure
    does no work on all of the liquid, so its kinetic energy grows by the work of gravity.

    This is a number of the flow: it must not change when particles give energy back. In still water the work of gravity
    is much larger than the kinetic energy, and slowing particles that rise would add energy.
    """
    return ranks.sum(float(np.sum(turned)) - p.work_on_held(gain))


def give_back(p: Cloud, old: np.ndarray, push: np.ndarray, excess: float, ranks: Alone) -> None:
    """Take `excess`, in (m/s)², from the particles that gained it; all particles give the part that these cannot give.

    `old` are the velocities before the step, `push` is gravity times its length.
    """
    parts = np.zeros(-(-p.n // BATCH))
    _gains(parts, p.vel, old, *push, GIVEN_BACK, BATCH)
    gained = ranks.sum(float(parts.sum()))
    if gained > 0.0:
        share = min((1.0 + SAFETY) * excess / gained, 1.0)
        _take_gains(p.vel, p.aff, old, *push, GIVEN_BACK, share)
        excess -= share * gained
    if excess > 0.0:
        kinetic = energy(p, np.zeros(3), ranks)[0]
        p.slow(float(np.sqrt(1.0 - min((1.0 + SAFETY) * excess / kinetic, ALL))) if kinetic > 0.0 else 1.0)
