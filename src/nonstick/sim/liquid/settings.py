"""The numbers of the liquid that were tuned by hand, one class a room; lengths are in cells.

`docs/explanation/settings.md` lists them with what changes if one is halved or doubled. Kernels read them when they are
compiled, so a value is changed here and not while a program runs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SurfaceSettings:
    """The level set of the particles, and the level set without particles."""

    #: particles within this distance of a centre count
    radius: float = 1.5
    #: share of the weight of a full neighbourhood below which particles are spray
    spray: float = 0.15
    #: how far φ of particles may be off, by where they lie
    unsure: float = 0.2
    #: the largest distance to which φ is continued
    farthest: float = 4.0
    #: a cell is well filled from this share of the particles it has room for, and crowded from that many times them
    filled: float = 0.5
    crowded: float = 1.5
    #: liquid behind an open face is deep from this on: a cell in the corner of a solid cannot be air next to it
    deep: float = 0.6
    #: centres farther from a wall than this, in it or before it, have nothing to do with it
    wall: float = 1.25
    #: gaps at a wall of this width do not count under pressure, nor gaps of cells that hold the share `full`
    slack: float = 0.2
    full: float = 0.9
    #: largest shift of the level set that holds its volume
    shift: float = 0.75
    #: without particles: φ is kept a distance so far from the surface, and liquid leaves a wall by so much in a step
    band: float = 8.0
    leave: float = 0.01


@dataclass(frozen=True)
class BoxSettings:
    """The active box of a step (`active_box`)."""

    #: it begins and ends at multiples of this, which blocks of particles and of multigrid divide
    align: int = 8
    #: if it were a larger share of the domain, it is the domain
    most: float = 0.75


@dataclass(frozen=True)
class SpacingSettings:
    """Evening out the particles."""

    #: red-black sweeps of a step
    sweeps: int = 12
    #: share of the excess of a cell that a step removes
    strength: float = 0.5
    #: mean excess around a cell inside the liquid that counts as noise; that of a cell at the surface; and the largest
    #: that counts in a step
    noise: float = 0.1
    slack: float = 0.15
    largest: float = 2.0
    #: longest displacement of a particle along an axis in a step
    longest: float = 0.2


@dataclass(frozen=True)
class SeedingSettings:
    """Where particles begin, and where a source may put one."""

    #: least distance of a particle from a wall
    margin: float = 0.02
    #: particles that are less than this below the surface start on the lattice itself
    calm: float = 1.0
    #: share of a cell that must have room for particles to be filled by a source
    partly: float = 0.75
    #: a place deeper in a wall, in widths of a particle, gets none; particles on a wall are moved out of it later
    deepest: float = 0.25


@dataclass(frozen=True)
class LoopSettings:
    """How loops over particles are cut into pieces; results do not depend on `batch` and `ahead`."""

    #: planes of cells of a block whose particles one thread adds to the grid
    block: int = 4
    #: particles that a thread moves at a time
    batch: int = 4096
    #: velocities are loaded so many particles before they are needed, where they do not follow each other
    ahead: int = 16


@dataclass(frozen=True)
class SolidSettings:
    """Solids and bodies on the grid."""

    #: faces with at most this open share count as closed: the pressure may drive a fast jet through them
    sliver: float = 0.05
    #: a face with less room for the mass of particles is nearly in a wall, and the few there do not say how dense the
    #: liquid is
    least_room: float = 0.1
    #: faces so near to a body take its velocity
    room: float = 4.0
    #: largest growth of a body that gives it its volume on the grid
    growth: float = 0.25
    #: largest overlap of bodies at the beginning, as a share of a body's least half extent
    overlap: float = 0.1
    #: walls are thin up to this thickness along their normal
    thin: float = 2.0
    #: distances to the sides of thin walls are continued this far beyond the places of a side
    depth: float = 5.0
    #: lines along each axis across a face at the end of a thin wall, which say how much of it is open
    lines: int = 8


@dataclass(frozen=True)
class StepSettings:
    """Which pressures count, and the limits of a step."""

    #: share of the weight of a cell, over its face, up to which a pressure is noise of liquid in flight
    light: float = 0.01
    #: share of the largest pressure up to which a pressure is an error of the solver; without gravity: a pressure that
    #: moves liquid by less than this in a step is noise
    error: float = 1e-6
    #: strain of a step up to which its flow is resolved in time; what makes it second order is gone at twice this
    resolved: float = 0.125
    #: most that the shape of carried liquid may weigh, over the mass of its particles
    heaviest: float = 6.0
    #: layers of cells beyond the particles to which their viscosity is continued
    near: int = 3
    #: without particles in deep liquid: layers around a cell in which it looks for some, and how far liquid moves from
    #: the cells it was chosen in before they are chosen again
    deep: int = 2


SURFACE = SurfaceSettings()
BOX = BoxSettings()
SPACING = SpacingSettings()
SEEDING = SeedingSettings()
LOOPS = LoopSettings()
SOLIDS = SolidSettings()
STEP = StepSettings()
