"""The liquid as a level set moved on the grid, without particles (Chentanez and Müller 2011).

In each step φ is extended into solids, with the peel-off rule of Chentanez–Müller §3.2: a solid cell next to liquid of
zero pressure takes its positive distance to the wall. Without this rule liquid would never separate. After the pressure
solve φ and the velocity are advected (semi-Lagrangian), and φ is made a distance again. Semi-Lagrangian steps lose
volume in thin places, so the correction of the ledger shifts φ, as for particles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ....core.columns import check_state
from ....grid.box import IndexBox
from ....grid.faces import FaceField, between
from ....grid.levelset import extend_into_solids
from ....grid.shapes import Shape
from ....scenes.scene import Scene
from ..accounts import Ledger, shift_for, volume
from ..flow.viscosity import Viscosity
from ..particles.seeding import first_velocity, region
from ..settings import SURFACE
from ..solids.on_grid import Solids
from ..sources.sources import Source
from ..tracking import Added, GridVelocity, StepFields
from ._levelset_moves import _advect_faces, _advect_level, _start_distance, _sweep_distance

BAND = SURFACE.band


class LevelSet:
    """Tracks the liquid by `level`, the distance to its surface outside solids, and `velocity` on the faces.

    It is a `tracker.Tracker`.
    """

    #: φ depends on which walls hold the liquid, and each step decides this again
    surface_is_current = False
    #: there are no particles
    count = 0
    #: half of the length of the last step
    lag = 0.0

    def __init__(self, scene: Scene, solids: Solids, ledger: Ledger, viscosity: Viscosity):
        self.scene, self.solids, self.ledger = scene, solids, ledger
        self.grid = solids.grid
        self.dx = scene.dx
        self.level = np.full(self.grid.three, BAND)
        self.velocity = solids.open.zeros()
        self.phi = np.full(self.grid.three, 1.5)
        self._mu = viscosity.mu
        self.gravity = self.grid.vector(scene.gravity)

    @property
    def phis(self) -> list[np.ndarray]:
        """φ alone: a surface on the grid does not know the sides of thin walls."""
        return [self.phi]

    def fill(self, kept: Sequence[IndexBox] = ()) -> None:
        """φ and velocity of the liquids of the scene."""
        for index, spec in enumerate(self.scene.model.liquid):
            shape = region(self.scene, spec.shape, f"liquid.{index}.shape")
            here = self._sample(shape)
            self.level = np.where(here < self.level, here, self.level)
            for axis, u in enumerate(self.velocity.user):
                points = self.grid.faces(axis)
                near = shape.sample(points) < 1.5 * self.dx
                there = [np.broadcast_to(x, near.shape)[near] for x in points]
                where = f"{self.scene.where}: liquid.{index}"
                u[near] = first_velocity(spec, self.scene.model.domain.size, there, where)[axis]
        self.level = np.clip(self.level, -BAND, BAND)
        self.level = _distance(self.level, np.zeros(self.grid.three, np.int8))
        self.ledger.initial = volume(self.level, self.solids.space)
        self.find_surface(None, self.solids.sticky)

    def _sample(self, shape: Shape) -> np.ndarray:
        """Distance to a shape at cell centres, in cells."""
        return self.grid.lift(shape.sample(self.solids.grid.cells())) / self.dx

    # -- in and out -----------------------------------------------------------------------------------

    def flow_in(self, sources: Sequence[Source], time: float, dt: float, pressure: np.ndarray | None) -> Added:
        """Fill the sources that flow with liquid of their velocity."""
        for source in sources:
            if not source.flows(time):
                continue
            shape = source.at(time)
            before = volume(self.level, self.solids.space)
            self.level = np.minimum(self.level, self._sample(shape))
            self.ledger.inflow += volume(self.level, self.solids.space) - before
            for axis, u in enumerate(self.velocity.user):
                points = self.grid.faces(axis)
                near = shape.sample(points) < 0.5 * self.dx
                # velocities are those of `lag` seconds ago
                given = source.velocity(axis, points, time) - self.lag * self.gravity[self.grid.axes.start + axis]
                u[near] = np.broadcast_to(given, near.shape)[near]
        return Added()

    def flow_out(self, regions: Sequence[Shape]) -> None:
        """Set the regions to air."""
        for shape in regions:
            before = volume(self.level, self.solids.space)
            self.level = np.maximum(self.level, -self._sample(shape))
            self.ledger.outflow += before - volume(self.level, self.solids.space)

    def extent(self) -> IndexBox | None:
        """All cells: the level set is kept everywhere."""
        return IndexBox.whole(self.grid.shape)

    def follow(self, old: IndexBox) -> None:
        """There is nothing to follow."""

    def viscosity(self) -> float:
        """One number for all cells: only particles can carry a viscosity that varies."""
        assert isinstance(self._mu, float)
        return self._mu

    # -- one step -------------------------------------------------------------------------------------

    def find_surface(self, pressure: np.ndarray | None, sticky: np.ndarray) -> None:
        """Shift the level set to the volume of the ledger; φ extends it into solids."""
        ledger, solids = self.ledger, self.solids
        if self.scene.model.volume.correct:
            ledger.offsets = np.array([shift_for(self.level, solids.space, ledger.expected, 0.0)])
            self.level += ledger.offset
        ledger.measure(volume(self.level, solids.space))
        inside = solids.centre < 0
        released = None if pressure is None else self._released(pressure, sticky) & ~inside
        self.phi = extend_into_solids(
            np.where(inside, 1.0, self.level), inside, released=released, solid_distance=np.abs(solids.centre)
        )

    def _released(self, pressure: np.ndarray, sticky: np.ndarray) -> np.ndarray:
        """The cells that have separated: liquid of zero pressure at separating walls."""
        return (pressure <= 0.0) & (self.level < 0.0) & (sticky == 0)

    def to_grid(self, dt: float) -> GridVelocity:
        """The velocity is on the grid already."""
        return GridVelocity(self.velocity.copy(), [self.velocity])

    def face_velocity(self) -> FaceField:
        """The velocity on the faces, of the middle of the last step; nothing is changed."""
        return self.velocity.copy()

    def even_out(self, step: StepFields) -> None:
        """There is nothing to even out."""

    def move(self, step: StepFields) -> None:
        """Advect φ and the velocity with the step."""
        solids, first, velocity = self.solids, self.grid.axes.start, step.velocity
        rate = step.dt / self.dx
        released = self._released(step.solved.pressure, step.sticky).astype(np.int8)
        # inside solids φ follows its liquid neighbours, so that the surface meets walls without a kink
        beyond = np.where(self.phi > 0.0, np.maximum(self.phi, self.level), self.phi)
        # air enters where the velocity points out of a wall, for any pressure
        beyond = np.where(self._leaving(step), np.maximum(beyond, -solids.centre), beyond)
        source = np.where(solids.centre < 0.0, np.minimum(beyond, BAND), self.level)
        moved = np.empty_like(self.level)
        _advect_level(moved, np.ascontiguousarray(source), *velocity, first, rate, BAND - 0.5, released)
        self.level = _distance(moved, released)
        self.velocity = velocity.zeros()
        for axis, carried in self.velocity.each():
            _advect_faces(carried, velocity[axis], *velocity, axis, first, rate)
        self.lag = 0.5 * step.dt

    def _leaving(self, step: StepFields) -> np.ndarray:
        """Cells in separating walls where the velocity points out of the wall by more than `leave` cells per step."""
        solids = self.solids
        out = np.zeros(self.grid.three)
        for a, u in (step.velocity - solids.velocity if solids.moving else step.velocity).each():
            if out.shape[a] > 1:  # one cell across: there is nothing to differ from
                out += between(u, a) * np.gradient(solids.centre, axis=a)
        return (solids.centre < 0.0) & (step.dt / self.dx * out > SURFACE.leave) & (step.sticky == 0)

    # -- numbers --------------------------------------------------------------------------------------

    def fastest(self) -> float:
        """The largest velocity on a face."""
        return self.velocity.largest()

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy of the cells, weighted by their liquid share."""
        grid = self.solids.grid
        share = self.solids.space * np.clip(0.5 - self.level, 0.0, 1.0)
        each = self.scene.model.physics.density * self.dx**self.scene.dimension
        kinetic = potential = 0.0
        for a, g, x in zip(self.grid.axes, self.gravity[self.grid.axes.start :], grid.cells()):
            kinetic += 0.5 * float((share * between(self.velocity[a], a) ** 2).sum())
            if g:
                potential -= g * float((share * self.grid.lift(x)).sum())
        return each * kinetic, each * potential

    # -- frames and checkpoints -----------------------------------------------------------------------

    def frame_arrays(self) -> dict[str, np.ndarray]:
        """Cell centres in the liquid are written in place of particles."""
        wet = (self.level < 0.0) & (self.solids.centre > 0.0)
        index = np.argwhere(wet)[:, self.grid.axes.start :]
        speed = [between(u, a)[wet] for a, u in self.velocity.each()]
        return {
            "position": ((index + 0.5) * self.dx).astype(np.float32),
            "velocity": np.stack(speed, axis=1).astype(np.float32),
        }

    def state(self) -> dict[str, np.ndarray]:
        """The level set and the face velocities."""
        return {"level": self.level, **{f"velocity{a}": u for a, u in self.velocity.each()}}

    def check(self, state: Mapping[str, np.ndarray]) -> None:
        """Refuse a state that is not one of this grid."""
        check_state(state, self.state())

    def everywhere(self) -> np.ndarray:
        """φ over all cells, in the user's dimension."""
        return self.grid.drop(self.phi)

    def restore_surface(self) -> None:
        """Each step finds φ again."""

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """The level set and the face velocities of a checkpoint."""
        self.level = state["level"]
        self.velocity = FaceField((state[f"velocity{a}"] for a in self.grid.axes), self.grid.axes)


def _distance(phi: np.ndarray, released: np.ndarray) -> np.ndarray:
    """The distance to the surface φ = 0; `released` is 1 in cells that have separated from a side of the grid."""
    out, fixed = np.empty_like(phi), np.empty(phi.shape, np.int8)
    _start_distance(out, fixed, phi, BAND, released)
    _sweep_distance(out, fixed, 1)
    return out
