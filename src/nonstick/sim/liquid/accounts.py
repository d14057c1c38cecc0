"""The accounts of a step: the volume that the surface encloses, and the energy of the particles.

The measure of volume is that of the level set outside solids (clip(½ - φ/dx, 0, 1) per cell, exact for flat surfaces),
plus the volume of particles outside it. The correction shifts the level set so that it encloses the volume of the
ledger, in each chamber that of its own particles: liquid does not feel what happens behind a wall. The shift is at most
three quarters of a cell: liquid that hits a wall at CFL 2 is crushed by this much in a step. Crowded particles are
moved apart elsewhere (`spacing`), which keeps the shift small.

Energy is measured and reported. Nothing acts on it: a projection adds none, because pressure moves the same mass that
carries the velocities (`flow.masses`), and what evening out and straight moves add is small.

An APIC particle is a small cloud of mass on the faces around it: with value v and gradient c of a velocity component it
gives `Σ w_i (v + c · (x_i - x))² / 2` to the faces, which is `v²/2 + cᵀ D c / 2` with the inertia `D = Σ w_i (x_i -
x)(x_i - x)ᵀ` of the transfer's weights, for the trilinear hat diag(f (1 - f)), f the place of the particle between two
faces (Jiang et al. 2015, §5). Counted like this, both transfers can only lose energy.

Velocities belong to the middle of a step, so heights are those of its middle too: then liquid in flight keeps its
energy exactly, and a step can only lose what its projection takes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...kernels import merged, parallel_sum, prange
from ...parallel.partition import Partition
from .particles._particles import BATCH
from .particles.storage import Cloud
from .partition import ParticlePartition
from .settings import SURFACE
from .surface._surface import _volume_planes


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


LIMIT = SURFACE.shift


@dataclass
class Ledger:
    """Volumes in cells."""

    initial: float = 0.0
    inflow: float = 0.0
    outflow: float = 0.0
    measured: float = 0.0
    #: the last shift of the level set in each chamber, in cells
    offsets: np.ndarray = field(default_factory=lambda: np.zeros(1))
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
        return np.array([self.initial, self.inflow, self.outflow, self.measured, self.due, *self.offsets])

    def restore(self, array: np.ndarray) -> None:
        """Read the numbers of a checkpoint."""
        self.initial, self.inflow, self.outflow, self.measured, self.due = map(float, array[:5])
        self.offsets = array[5:].copy()

    @property
    def offset(self) -> float:
        """The largest shift of the level set, with its sign."""
        return float(max(self.offsets, key=abs, default=0.0))


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
    partition: Partition | None = None, room: float | None = None,
) -> float:  # fmt: skip
    """The shift of φ, within ±LIMIT, for which φ encloses `target`, to a ten-thousandth; starts from `guess`.

    No shift encloses more than all space: `room`, if `space` covers only a part of it. A full tank has a target beyond
    it if slivers of cells hold no particle and count as gaps; the shift would end at its limit, as if the liquid had
    been crushed.

    Growing steps until the target is passed, then false position (the Illinois variant halves the value at an end that
    stays, because the volume hardly changes while a flat surface lies between two layers of cells).
    """
    if target <= 0.0:
        return 0.0
    target = min(target, float(space.sum()) if room is None else room)
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


def energy(p: Cloud, gravity: np.ndarray, back: float, partition: ParticlePartition) -> tuple[float, float]:
    """Sums over particles of kinetic energy in (m/s)² and of -g · x in m/s² times cells, `back` as in `_energy`."""
    parts = -(-p.n // BATCH)
    kinetic, height = np.zeros(parts), np.zeros(parts)
    _energy(kinetic, height, partition.position(p.x), p.vel, p.aff, p.affine, *gravity, back, BATCH)
    return partition.comm.total(float(kinetic.sum())), partition.comm.total(float(height.sum()))
