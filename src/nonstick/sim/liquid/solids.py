"""The walls of a scene on its grid: distance at nodes, open faces, room in cells, velocity, what lets go.

The sides of the domain coincide with the sides of the grid and are kept out of the nodal distance: faces
there are closed, particles are clamped, and the surface is mirrored exactly. Rigid bodies are walls that are
where their pose says; their velocity is read again by `refresh` after forces have changed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...bodies.body import RigidBody
from ...bodies.motion import Prescribed
from ...discretise.coupling import Body, Coupling
from ...grid.fractions import centre_distance, close_edges, open_fractions
from ...grid.labels import wall_cells
from ...grid.mac import Grid
from ...grid.shapes import Box, Shape
from ...kernels._solids import _open_space, _room
from ...scenes.geometry import build
from ...scenes.scene import Scene
from ...scenes.schema import Keyed

#: nodal distance where there is no solid, in cells
FAR = 1e3
#: the velocity of a body is laid out this many cells around it
REACH = 4.0


@dataclass
class Wall:
    """One solid: its distance at time 0 and how it behaves; or a rigid body, which knows where it is."""

    shape: Shape
    container: bool
    pressure: str
    separation: float | Keyed
    adhesion: float
    motion: Prescribed | None
    body: RigidBody | None = None


class Solids:
    """All walls of a scene, updated to a time by `update`."""

    def __init__(self, scene: Scene, bodies: Sequence[RigidBody] = ()):
        self.scene = scene
        self.grid = Grid(scene.shape, scene.dx)
        self.d = scene.dimension
        model = scene.model
        middle = [0.5 * s for s in model.domain.size]
        self.walls = [
            Wall(build(s.shape, scene.folder), s.container, s.pressure or model.walls.pressure, s.separation,
                 s.adhesion, None if s.motion is None else Prescribed(s.motion, middle, self.d))
            for s in model.solid
        ]  # fmt: skip
        if any(n * scene.dx > s * (1 + 1e-9) for n, s in zip(scene.shape, model.domain.size)):
            inside = Box((-1e3 * scene.dx,) * self.d, tuple(model.domain.size))
            self.walls.append(
                Wall(inside, True, model.walls.pressure, model.walls.separation, model.walls.adhesion, None)
            )
        for body, b in zip(bodies, model.bodies):
            mode = b.pressure or model.walls.pressure
            self.walls.append(Wall(body.shape, False, mode, b.separation, b.adhesion, None, body))
        self.moving = any(w.motion is not None or w.body is not None for w in self.walls)
        #: a wall moves by a law; bodies stay where they are until `place`
        self.driven = any(w.motion is not None for w in self.walls)
        self._pose: bytes | None = None
        self._still: dict[int, np.ndarray] = {}
        self._static: tuple[np.ndarray, ...] | None = None
        self.coupling: Coupling | None = None
        self.time = -1.0
        self.three = (1,) * (3 - self.d) + self.grid.shape
        faces = [self._lift_shape(self.grid.face_shape(a)) for a in range(self.d)]
        still = [np.zeros((2, 1, 1))] * (3 - self.d) + [np.zeros(s) for s in faces]
        #: velocity of the walls at the faces, three arrays
        self.velocity: list[np.ndarray] = still
        self.update(0.0)

    def _lift_shape(self, shape):
        return (1,) * (3 - self.d) + tuple(shape)

    def update(self, time: float) -> bool:
        """Move the walls to where they are at `time`; says whether any is elsewhere than before."""
        if self.time >= 0.0 and not self.moving and not self._varies():
            self.time = time
            return False
        grid, d = self.grid, self.d
        bodies = [w.body for w in self.walls if w.body is not None]
        pose = b"".join(np.append(b.centre, b.orientation).tobytes() for b in bodies)
        moved = self.driven or pose != self._pose
        self.time, self._pose = time, pose
        if not moved:
            self.refresh()
        else:
            nodes = grid.nodes()
            #: distance to each wall at the nodes in metres; of bodies only around them
            self.distances = [self._distance(index, nodes) for index in range(len(self.walls))]
            self._lay_out()
            phi = self.phi
            self.weights = self._open_faces()
            #: open share of the faces, always three arrays
            self.open = [np.zeros((2, 1, 1))] * (3 - d) + [w.reshape(self._lift_shape(w.shape)) for w in self.weights]
            self.space = np.empty(self.three)
            _open_space(self.space, self.nodes, 4)
            self.room = np.empty(self.three)
            _room(self.room, self.space, self.nodes, 2)
            #: distance at cell centres, in metres and the user's dimension, and in cells on three axes
            self.centre = centre_distance(phi)
            self.middle = np.ascontiguousarray(self.centre.reshape(self.three) / grid.dx)
            self._label(self.distances)
        self._behave()
        return moved

    def _lay_out(self) -> None:
        phi = np.full(self.grid.node_shape, FAR * self.grid.dx)
        for here in self.distances:
            np.minimum(phi, here, out=phi)
        #: distance at the nodes in metres, in the user's dimension
        self.phi = phi
        lifted = np.repeat(phi[None], 2, axis=0) if self.d == 2 else phi
        #: the same in cells and always 3D, for the particle kernels
        self.nodes = np.ascontiguousarray(lifted / self.grid.dx)

    def place(self) -> None:
        """The distances, and nothing else, with the bodies where they are now."""
        nodes = self.grid.nodes()
        for index, wall in enumerate(self.walls):
            if wall.body is not None:
                self.distances[index] = self._distance(index, nodes)
        self._lay_out()

    def _open_faces(self) -> tuple[np.ndarray, ...]:
        """Open shares of all faces. What bodies cover is kept apart, because the pressure moves them."""
        grid, d = self.grid, self.d
        static = [here for wall, here in zip(self.walls, self.distances) if wall.body is None]
        if self._static is None or self.driven:
            weights = [np.ones(grid.face_shape(a)) for a in range(d)]
            if static:
                weights = list(open_fractions(np.minimum.reduce(static)))
            self._static = tuple(close_edges(w, a) for a, w in enumerate(weights))
        still = self._static
        bodies = [w.body for w in self.walls if w.body is not None]
        if not bodies:
            return still
        on_grid = [self._covering(b, here) for b, here in zip(bodies, self.distances[len(static) :])]
        #: the bodies as the pressure solve sees them; None without bodies
        self.coupling = Coupling(on_grid, still, None, grid.shape, grid.dx)
        self._own = list(zip(bodies, self.coupling.covered))
        return self.coupling.weights

    def _covering(self, body: RigidBody, distance: np.ndarray) -> Body:
        """A body in the window of the grid around it."""
        near = distance < 2.0 * self.grid.dx
        corner, part = [], []
        for axis, n in enumerate(distance.shape):
            hit = np.flatnonzero(near.any(axis=tuple(a for a in range(self.d) if a != axis)))
            low, high = (int(hit[0]), int(hit[-1]) + 1) if hit.size else (0, 2)
            low = min(low, n - 2)
            corner.append(low)
            part.append(slice(low, max(high, low + 2)))
        spin = float(body.spin[0]) if self.d == 2 else body.spin
        at = distance[tuple(part)], body.centre, body.velocity, spin
        if not body.dynamic:
            return Body(*at, corner=tuple(corner))
        return Body(*at, body.density, body.mass, body.inertia, tuple(corner))

    def push(self, motions: Sequence[tuple[np.ndarray, np.ndarray | float]]) -> None:
        """Give the bodies the velocities and spins they have after a solve."""
        for (body, _), (velocity, spin) in zip(self._own, motions):
            if body.dynamic:
                body.velocity, body.spin = np.array(velocity, float), np.atleast_1d(np.array(spin, float))
        self.refresh()

    def motions(self) -> list[np.ndarray]:
        """(v, ω) of every body, as it is now."""
        return [np.append(body.velocity, body.spin) for body, _ in self._own]

    def body_of_face(self) -> list[np.ndarray]:
        """Number of the body that is the nearest wall to each face, -1 where another wall is; one array an axis."""
        first = len(self.walls) - len(self._own)
        return [np.where(nearest >= first, nearest - first, -1) for nearest in self.carrier]

    def current(self) -> Coupling | None:
        """The bodies on the grid with the velocities they have now."""
        if self.coupling is None:
            return None
        velocity = None
        if self.driven:
            first = 3 - self.d
            body = [w.body is not None for w in self.walls] + [False]
            velocity = tuple(
                np.where(np.array(body)[self.carrier[a]], 0.0, v.reshape(v.shape[first:]))
                for a, v in enumerate(self.velocity[first:])
            )
        return self.coupling.moving(self.motions(), velocity)

    def _distance(self, index: int, nodes) -> np.ndarray:
        """Distance to one wall at the nodes; that of a wall that never moves is computed once."""
        wall = self.walls[index]
        if wall.body is not None:
            out = np.full(self.grid.node_shape, FAR * self.grid.dx)
            low, high = wall.body.box()
            reach = 2 * REACH * self.grid.dx
            window = tuple(
                slice(*np.searchsorted(x.ravel(), (a - reach, b + reach))) for x, a, b in zip(nodes, low, high)
            )
            if all(w.stop > w.start for w in window):
                part = tuple(x[(*(slice(None),) * a, window[a])] for a, x in enumerate(nodes))
                out[window] = wall.body.placed().sample(part)
            return out
        if wall.motion is None and index in self._still:
            return self._still[index]
        out = self._placed(wall).sample(nodes)
        out = -out if wall.container else out
        if wall.motion is None:
            self._still[index] = out
        return out

    def moved_phi(self) -> np.ndarray | None:
        """Nodal distance to all walls but bodies in metres, if one of them moves."""
        if not self.driven:
            return None
        return np.minimum.reduce([here for w, here in zip(self.walls, self.distances) if w.body is None])

    def _varies(self) -> bool:
        return any(isinstance(w.separation, Keyed) for w in self.walls)

    def _label(self, distances) -> None:
        """Which wall is nearest to each cell: its index, or -1 for the sides of the domain."""
        grid = self.grid
        nearest = np.broadcast_to(_side_distance(grid.cells(), grid.size), grid.shape).copy()
        self.owner = np.full(grid.shape, -1, np.int16)
        for index, nodal in enumerate(distances):
            here = centre_distance(nodal)
            closer = here < nearest
            nearest[closer] = here[closer]
            self.owner[closer] = index
        if self.moving:
            self._move_faces(distances)

    def _move_faces(self, distances) -> None:
        """Which wall is nearest to every face, and its velocity there."""
        grid, d = self.grid, self.d
        #: index of the wall whose velocity a face has, per axis; -1 for none
        self.carrier: list[np.ndarray] = []
        for axis in range(d):
            nearest = np.full(grid.face_shape(axis), -1, np.int16)
            # the sides of the domain rest: without them a piston at one end would move the wall at the other
            best = np.broadcast_to(_side_distance(grid.faces(axis), grid.size), nearest.shape).copy()
            for index, (wall, nodal) in enumerate(zip(self.walls, distances)):
                here = nodal
                for other in range(d):
                    if other != axis:
                        low = [slice(None)] * d
                        high = [slice(None)] * d
                        low[other], high[other] = slice(None, -1), slice(1, None)
                        here = 0.5 * (here[tuple(low)] + here[tuple(high)])
                closer = here < best
                best = np.where(closer, here, best)
                # far from a spinning body its velocity means nothing, and would shorten the time step
                nearest[closer & (here < REACH * grid.dx)] = index if wall.body is not None else -1
                if wall.body is None:
                    nearest[closer] = index if wall.motion is not None else -1
            self.carrier.append(nearest)
        self.refresh()

    def refresh(self) -> None:
        """Read the velocity of moving walls at the faces again; resting walls and the sides have none."""
        if not self.moving:
            return
        for axis in range(self.d):
            nearest = self.carrier[axis]
            out = np.zeros(nearest.shape)
            points = self.grid.faces(axis)
            for index, wall in enumerate(self.walls):
                if wall.motion is not None or wall.body is not None:
                    mine = nearest == index
                    out[mine] = np.broadcast_to(self.speed(wall, axis, points), out.shape)[mine]
            self.velocity[3 - self.d + axis] = np.ascontiguousarray(out.reshape(self._lift_shape(out.shape)))

    def _behave(self) -> None:
        """Which cells let go, and with what adhesion and separation velocity."""
        side = self.scene.model.walls
        modes = [w.pressure for w in self.walls] + [side.pressure]
        shape = self.grid.shape
        if len(set(modes)) == 1:
            self.mode: str | np.ndarray = modes[0]
            self.sticky = np.full(self.three, modes[0] == "none", np.int8)
        else:
            # "edge" holds for a whole scene; mixed with others it means the cells the wall cuts
            mask = np.zeros(shape, bool)
            sticky = np.zeros(shape, np.int8)
            for index, mode in enumerate(modes):
                mine = self.owner == (index if index < len(self.walls) else -1)
                mask |= mine & wall_cells("cut" if mode == "edge" else mode, self.weights, self.centre, shape)
                sticky[mine] = mode == "none"
            self.mode, self.sticky = mask, sticky.reshape(self.three)
        self.adhesion = self._per_cell([w.adhesion for w in self.walls] + [side.adhesion])
        self.separation = self._per_cell([_now(w.separation, self.time) for w in self.walls] + [side.separation])

    def _per_cell(self, values: list[float]) -> np.ndarray | float:
        if not any(values):
            return 0.0
        return np.array(values)[self.owner]  # owner -1 picks the last entry, the sides of the domain

    # -- motion ---------------------------------------------------------------------------------------

    def _placed(self, wall: Wall) -> Shape:
        if wall.body is not None:
            return wall.body.placed()
        return wall.shape if wall.motion is None else wall.motion.placed(wall.shape, self.time)

    def speed(self, wall: Wall, axis: int, points) -> np.ndarray | float:
        """One component of the wall's velocity at points."""
        if wall.body is not None:
            return wall.body.velocity_at(*points)[axis]
        assert wall.motion is not None
        return wall.motion.velocity(axis, points, self.time)


def _side_distance(points, size) -> Any:
    """Distance of points to the nearest side of the domain."""
    out: Any = np.inf
    for x, length in zip(points, size):
        out = np.minimum(out, np.minimum(x, length - x))
    return out


def _now(value: float | Keyed, time: float) -> float:
    if isinstance(value, Keyed):
        return float(np.interp(time, value.times, value.values))
    return value
