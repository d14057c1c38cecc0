"""The interface of trackers, which carry the liquid from step to step, and the data that a step gives to them.

A step is the same for every tracker: φ, velocity on the faces, forces, pressure, and the liquid moves with the new
velocity. `Tracker` has the few operations that depend on how the liquid is represented. There are two trackers:
`particles.Particles` and `levelset.LevelSet`.

All arrays have three axes (`grid.mac`), lengths are in cells and velocities in m/s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ...discretise.stokes import StokesSolution
from ...discretise.viscosity import ViscositySolution
from ...grid.box import IndexBox
from ...grid.faces import FaceField
from ...grid.shapes import Shape
from .flow.masses import Masses
from .flow.pressure import PressureResult
from .flow.viscosity import Skin
from .sources.sources import Source


@dataclass
class GridVelocity:
    """The velocity of the liquid on the faces at the beginning of a step."""

    #: the step changes it in place
    velocity: FaceField
    #: the velocity before forces, in each layer beside thin walls
    before: list[FaceField]
    #: mass of the particles in each layer, 1 on a face inside the liquid; None if the grid itself carries the liquid
    mass: list[FaceField] | None = None
    #: divergence (1/s) that the moves of the tracker need, over cells; None: zero
    divergence: np.ndarray | None = None


@dataclass
class StepFields:
    """What the parts of a step know of it."""

    dt: float
    #: the time in which forces and pressure act: from the middle of the last step to the middle of this step
    kick: float
    #: how many steps were before this one
    number: int
    #: velocity on the faces: before forces in each layer, and at the end of the step on all faces that the liquid may
    #: reach
    before: list[FaceField]
    velocity: FaceField
    masses: Masses
    #: 1 in cells next to a wall that does not let liquid separate
    sticky: np.ndarray
    #: the divergence that the liquid must have, over cells, in 1/s; None: zero
    divergence: np.ndarray | None = None
    #: viscosity, a number or an array over cells; 0 if none acts
    mu: np.ndarray | float = 0.0
    #: faces in the air that thick liquid takes along, for each axis that has some
    skin: dict[int, Skin] = field(default_factory=dict)
    #: cells whose walls hold thick liquid by pressure too; None: no cells
    hold: np.ndarray | None = None
    #: the pressure solve; a step with split viscosity has two
    outcome: PressureResult | None = None
    #: the solution for viscosity, if it acts
    viscous: ViscositySolution | StokesSolution | None = None
    #: the pressure above which a cell counts as pressed
    least: float = 0.0
    #: beside thin walls: the velocity at the end of the step as each colour sees it
    beside: list[FaceField] = field(default_factory=list)
    #: displacement that evens out the particles, in cells, for each layer; none without it
    shifts: list[FaceField] = field(default_factory=list)
    #: the longest way of liquid in the step along an axis, in cells
    way: float = 0.0
    #: boxes of cells of the domain in which liquid has particles at any depth: sources and outflows
    kept: list[IndexBox] = field(default_factory=list)

    def follow(self, old: IndexBox, new: IndexBox) -> None:
        """Let what moves the liquid cover another box of cells, on three axes."""

        def moved(field: FaceField) -> FaceField:
            return field.map(lambda a: old.moved(a, new))

        self.velocity = moved(self.velocity)
        for fields in (self.before, self.beside, self.shifts):
            fields[:] = map(moved, fields)

    @property
    def solved(self) -> PressureResult:
        """The pressure solve, after it is done."""
        assert self.outcome is not None
        return self.outcome


@dataclass
class Added:
    """The liquid that sources have added at the beginning of a step."""

    #: divergence (1/s) that makes room for it; None if no liquid must move away
    divergence: np.ndarray | None = None
    #: (kind, message) for the log
    remarks: list[tuple[str, str]] = field(default_factory=list)


class Tracker(Protocol):
    """The liquid itself. A tracker is made with (scene, solids, ledger, viscosity) and keeps the ledger up to date."""

    #: distance to the surface at cell centres, negative in liquid, extended into solids, as the pressure solve needs it
    phi: np.ndarray
    #: the velocity that `to_grid` returns is that of the liquid this long ago: at the middle of the last step
    lag: float
    #: present gravity in m/s²
    gravity: np.ndarray

    @property
    def phis(self) -> list[np.ndarray]:
        """φ in each layer beside thin walls (`solids.layers`); φ alone without them."""

    @property
    def surface_is_current(self) -> bool:
        """True if φ belongs to the present liquid; a step then need not compute it."""

    @property
    def count(self) -> int:
        """Number of particles; 0 if there are none."""

    def fill(self, kept: Sequence[IndexBox] = ()) -> None:
        """Make the initial liquid and start the ledger; `kept` is that of `StepFields`."""

    def flow_in(self, sources: Sequence[Source], time: float, dt: float, pressure: np.ndarray | None) -> Added:
        """Add the liquid that sources emit at the beginning of a step of length dt; `pressure` as below."""

    def flow_out(self, regions: Sequence[Shape]) -> None:
        """Remove the liquid in the regions."""

    def extent(self) -> IndexBox | None:
        """The cells of the domain with liquid, in the user's dimension; None if there is none."""

    def follow(self, old: IndexBox) -> None:
        """Let all fields cover the grid of the solids, after they covered this box."""

    def viscosity(self) -> np.ndarray | float:
        """Dynamic viscosity: a number, or an array over cells."""

    def find_surface(self, pressure: np.ndarray | None, sticky: np.ndarray) -> None:
        """Compute φ and keep its volume equal to that of the ledger.

        `pressure` is that of the last step (None before the first), `sticky` is 1 next to walls that do not let liquid
        separate.
        """

    def to_grid(self, dt: float) -> GridVelocity:
        """The velocity on the faces, for the step of dt that begins; its arrays may be changed."""

    def face_velocity(self) -> FaceField:
        """The velocity on the faces, to look at; nothing is changed."""

    def even_out(self, step: StepFields) -> None:
        """Find the displacement that evens out particles."""

    def move(self, step: StepFields) -> None:
        """Take the velocity of the step and move with it."""

    def fastest(self) -> float:
        """The largest component of the liquid's velocity."""

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy in joule (per metre of depth in 2D); height is above the domain's corner.

        Both are those of the middle of the last step.
        """

    def frame_arrays(self) -> dict[str, np.ndarray]:
        """Positions and velocities for a frame file, in metres and m/s."""

    def state(self) -> dict[str, np.ndarray]:
        """The whole state of the tracker; a run continues from it bit for bit."""

    def check(self, state: Mapping[str, np.ndarray]) -> None:
        """Refuse a state that `state` of a tracker of this scene cannot have returned."""

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a state, on a grid that covers the domain. Ledger and solids are up to date."""

    def restore_surface(self) -> None:
        """φ at the end of the last step, as it was; the grid covers the active box."""

    def everywhere(self) -> np.ndarray:
        """φ over all cells of this process, in cells and the user's dimension."""
