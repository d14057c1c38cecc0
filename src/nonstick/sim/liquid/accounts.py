"""The accounts of a step: the volume that the surface encloses, and the energy of the particles.

Volume. The measure is the volume of the level set outside solids (clip(½ - φ/dx, 0, 1) per cell, exact for flat
surfaces), plus the volume of particles outside it. The correction shifts the level set so that it encloses the volume
of the ledger. The shift is at most three quarters of a cell: liquid that hits a wall at CFL 2 is crushed by this much
in a step. Crowded particles are moved apart elsewhere (`spacing`), which keeps the shift small.

Energy. The energy of a closed run must not grow: energy that a step adds is taken from the particles that gained it.
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

from dataclasses import dataclass

import numpy as np

from ...grid.faces import FaceField
from ...parallel.partition import Partition
from ._energy import _energy, _gains, _take_gains
from .particles._particles import BATCH
from .particles.storage import Cloud
from .partition import ParticlePartition
from .settings import STEP, SURFACE
from .surface._surface import _volume_planes

LIMIT = SURFACE.shift


@dataclass
class Ledger:
    """Volumes in cells."""

    initial: float = 0.0
    inflow: float = 0.0
    outflow: float = 0.0
    measured: float = 0.0
    #: the last shift of the level set, in cells
    offset: float = 0.0
    #: the volume expected at the time of the measurement; outflow comes later in a step
    due: float = 0.0

    @property
    def expected(self) -> float:
        """The volume that is expected now."""
        return self.initial + self.inflow - self.outflow

    @property
    def error(self) -> float:
        """Relative difference between the measured and the expected volume."""
        least = 1e-9 * (self.initial + self.inflow)  # less is rounding: all liquid has flowed out
        return (self.measured - self.due) / self.due if self.due > least else 0.0

    def measure(self, found: float) -> None:
        """Record the measured volume."""
        self.measured, self.due = found, self.expected

    def array(self) -> np.ndarray:
        """All numbers, for a checkpoint."""
        return np.array([self.initial, self.inflow, self.outflow, self.measured, self.offset, self.due])

    def restore(self, array: np.ndarray) -> None:
        """Read the numbers of a checkpoint; older checkpoints have more numbers."""
        self.initial, self.inflow, self.outflow, self.measured, self.offset, self.due = map(float, array[:6])


#: used if there are no particles
NONE = np.empty(0, np.int64)


def volume(
    phi: np.ndarray,
    space: np.ndarray,
    offset: float = 0.0,
    start: np.ndarray = NONE,
    per_cell: float = 1.0,
    partition: Partition | None = None,
) -> float:
    """Volume of φ + offset < 0 in cells, φ in cells; `start` and `per_cell` describe particles sorted by cell.

    Several processes add their volumes: `space` and `start` then have nothing in ghost cells.
    """
    partial = np.empty(phi.shape[0])
    _volume_planes(partial, phi, space, offset, start, per_cell)
    found = float(partial.sum())
    return found if partition is None else partition.comm.total(found)


def shift_for(
    phi: np.ndarray, space: np.ndarray, target: float, guess: float, start: np.ndarray = NONE, per_cell: float = 1.0,
    partition: Partition | None = None,
) -> float:  # fmt: skip
    """The shift of φ, within ±LIMIT, for which φ encloses `target`, to a ten-thousandth; starts from `guess`.

    No shift encloses more than all space. A full tank has a target beyond it if slivers of cells hold no particle and
    count as gaps; the shift would end at its limit, as if the liquid had been crushed.

    Growing steps until the target is passed, then false position (the Illinois variant halves the value at an end that
    stays, because the volume hardly changes while a flat surface lies between two layers of cells).
    """
    if target <= 0.0:
        return 0.0
    room = float(space.sum())
    target = min(target, room if partition is None else partition.comm.total(room))
    low, high = -LIMIT, LIMIT
    over, under = 0.0, 0.0  # excess at low and lack at high, once they are known
    c, stride, last = min(max(guess, low), high), 0.02, 0
    for _ in range(30):
        gap = volume(phi, space, c, start, per_cell, partition) - target
        if abs(gap) < 1e-4 * target:
            break
        # more volume at smaller offsets: the root stays between low and high
        if gap > 0.0:
            low, over, under = c, gap, 0.5 * under if last > 0 else under
        else:
            high, under, over = c, -gap, 0.5 * over if last < 0 else over
        last = 1 if gap > 0.0 else -1
        if over > 0.0 and under > 0.0:
            c = low + (high - low) * over / (over + under)
        elif low < high:
            c = min(max(c + (stride if gap > 0.0 else -stride), low), high)
            stride *= 4.0
        else:
            break
    return c


#: a little more is taken, so that the sum does not grow by rounding of velocities
SAFETY = 1e-6


def energy(p: Cloud, gravity: np.ndarray, partition: ParticlePartition) -> tuple[float, float]:
    """Sums over particles of kinetic energy in (m/s)² and of -g · x in m/s² times cells."""
    parts = -(-p.n // BATCH)
    kinetic, height = np.zeros(parts), np.zeros(parts)
    _energy(kinetic, height, partition.position(p.x), p.vel, p.aff, p.affine, *gravity, BATCH)
    return partition.comm.total(float(kinetic.sum())), partition.comm.total(float(height.sum()))


def heat(mass: FaceField, before: FaceField, after: FaceField, partition: Partition) -> float:
    """Kinetic energy that viscosity has taken from the velocity `before`, for masses on the faces."""
    total = 0.0
    for axis, lost in (mass * (before - after) * (before + after)).each():
        total += 0.5 * float(partition.own_faces(lost, axis).sum())
    return max(partition.comm.total(total), 0.0)


def surplus(p: Cloud, gain: np.ndarray, partition: Partition, turned: np.ndarray | float = 0.0) -> float:
    """What the kinetic energy of particles has beyond that of the flow at the end of the step, in (m/s)².

    It is what the turning of the force added (the sum of `turned`), less what liquid gains that does not fall freely:
    its velocities are those of the middle of the step, and `gain` is what falling gives from there to the end. Pressure
    does no work on all of the liquid, so its kinetic energy grows by the work of gravity.

    This is a number of the flow: it must not change when particles give energy back. In still water the work of gravity
    is much larger than the kinetic energy, and slowing particles that rise would add energy.
    """
    return partition.comm.total(float(np.sum(turned)) - p.work_on_held(gain))


def give_back(p: Cloud, old: np.ndarray, push: np.ndarray, excess: float, partition: ParticlePartition) -> None:
    """Take `excess`, in (m/s)², from the particles that gained it; all particles give the part that these cannot give.

    `old` are the velocities before the step, `push` is gravity times its length.
    """
    parts = np.zeros(-(-p.n // BATCH))
    _gains(parts, p.vel, old, *push, STEP.given_back, BATCH)
    gained = partition.comm.total(float(parts.sum()))
    if gained > 0.0:
        share = min((1.0 + SAFETY) * excess / gained, 1.0)
        _take_gains(p.vel, p.aff, old, *push, STEP.given_back, share)
        excess -= share * gained
    if excess > 0.0:
        kinetic = energy(p, np.zeros(3), partition)[0]
        p.slow(float(np.sqrt(1.0 - min((1.0 + SAFETY) * excess / kinetic, STEP.given_back))) if kinetic > 0.0 else 1.0)
