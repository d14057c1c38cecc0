"""The solids of a scene on its grid: distance at nodes, open faces, room in cells, velocity, separation.

The sides of the domain coincide with the sides of the grid and are not part of the nodal distance: faces there are
closed, particles are clamped, and the surface is mirrored exactly. Rigid bodies are solids at their present pose;
`refresh` reads their velocity again after forces have changed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....bodies.body import RigidBody
from ....discretise._moments import hat_fields
from ....grid.box import IndexBox
from ....grid.faces import FaceField, at_faces, ends, lower, upper
from ....grid.fractions import centre_distance, close_edges, cut_cells, open_fractions, wall_cells
from ....grid.mac import Grid, SubGrid
from ....grid.shapes import Shape
from ....scenes.scene import Scene
from ....scenes.schema import Keyed
from ..partition import ParticlePartition
from ..settings import SOLIDS
from ._solids import _open_space, _room
from .chambers import Chambers
from .layers import Layers, any_thin, find_layers
from .solid import Solid, by_number, joined, nearest_side, sides_of, solids_of

if TYPE_CHECKING:  # scenes without bodies do not wait for the coupling, which loads SciPy
    from ....discretise.coupling import Body, Coupling

#: planes of nodes on both sides of a plane of cells that its particles can reach while they are placed
PLANES = 3


class Solids:
    """All solids of a scene; `update` moves them to their positions at a time.

    Distances are in cells and on three axes (`grid.mac`), at the nodes and at the centres of cells.
    """

    def __init__(self, scene: Scene, bodies: Sequence[RigidBody] = (), partition: ParticlePartition | None = None):
        self.scene = scene
        self.partition = partition or ParticlePartition.whole(scene.shape, scene.dx)
        #: the grid of the domain, and the part of it that this process has
        self.whole = Grid(scene.shape, scene.dx)
        model = scene.model
        #: what liquid does at the sides of the domain, in the order of `sides.NAMES`
        self.sides = sides_of(model.walls, scene.dimension)
        self._differ = len({*self.sides}) > 1
        self.list = solids_of(scene)
        for body, b in zip(bodies, model.bodies):
            mode = b.pressure or model.walls.pressure
            viscous = b.viscous or model.walls.viscous
            self.list.append(Solid(body.shape, False, mode, b.separation, b.adhesion, None, body, viscous))
        #: what solids and sides do to viscous liquid, by their number (see `sides.by_number`)
        self.viscous = by_number([s.viscous for s in self.list], [s.viscous for s in self.sides])
        self.moving = any(s.motion is not None or s.body is not None for s in self.list)
        #: True if a solid has a prescribed motion; bodies do not move until `place`
        self.driven = any(s.motion is not None for s in self.list)
        self._pose: bytes | None = None
        self._static: tuple[np.ndarray, ...] | None = None
        #: shares of the first and last faces of each axis that solids cover, bodies not counted
        self._covered: list[np.ndarray] = []
        #: fields over the domain while solids rest and the grid covers a part of it (`hold`)
        self._domain: dict[str, Any] = {}
        self._chambers: tuple[np.ndarray, Chambers] | None = None
        #: open shares of faces, and the cells they cut
        self._cut: tuple[FaceField, np.ndarray] | None = None
        #: the same and the room of faces
        self._room: tuple[FaceField, FaceField] | None = None
        self.coupling: Coupling | None = None
        #: layers beside thin walls, None without them; ranks and a surface on the grid have none
        self.layers: Layers | None = None
        #: True if a solid is thin somewhere; None until that is looked at
        self._thin = None if model.surface.track == "particles" and not self.partition.shared else False
        self.time = self.since = -1.0
        #: velocity of the solids at the faces
        self.velocity = self.grid.still()
        self.update(0.0)

    def update(self, time: float, dt: float = 0.0) -> bool:
        """Move the solids to their positions at `time`; True if any of them has moved.

        The velocity of a prescribed motion is then the mean over the last `dt` seconds, in which the liquid moves along
        straight lines too: on the straight way a solid that turns does not leave the place where it will be.
        """
        self.since = time - dt
        if self.time >= 0.0 and not self.moving and not self._varies():
            self.time = time
            return False
        pose = b"".join(s.pose(time) for s in self.list)
        moved = pose != self._pose
        self.time, self._pose = time, pose
        if not moved:
            self.refresh()
        else:
            #: distance to each solid at the nodes in metres; for bodies only in a window around them
            self.distances = [solid.distance(self.grid, time) for solid in self.list]
            phi = self._sample_on_grid()
            if self._thin is None:
                self._thin = any_thin(self)
            self.layers = find_layers(self, self.layers) if self._thin else None
            #: open share of the faces
            self.open = FaceField.of(self._open_faces())
            self._measure_cells(phi)
            self._label(self.distances)
        self._set_wall_model()
        return moved

    @property
    def grid(self) -> SubGrid:
        """The part of the grid of the domain that this process has: the active box."""
        return self.partition.grid

    @property
    def rests(self) -> bool:
        """True if the grid may cover a part of the domain: nothing moves, and no wall is thin."""
        return not self.moving and self.layers is None

    def hold(self, box: IndexBox) -> None:
        """Let the grid cover this box, and take its fields from those over the domain; solids rest."""
        if not self._domain:
            for axis, share in enumerate(self.open.user):
                share[ends(axis)] = 1.0  # each box closes its own sides
            names = ("nodes", "distances", "open", "space", "room", "centre", "owner")
            self._domain |= {name: getattr(self, name) for name in names}
            self._domain |= {"chambers": self.chambers(), "room_of_faces": self.room_of_faces() if self.list else None}
            self._domain = {name: _kept(values) for name, values in self._domain.items()}
            self._static = None
        self.partition.hold(box)
        held = {name: self._held(values) for name, values in self._domain.items()}
        self._chambers = held["space"], held.pop("chambers")
        self._room = held["open"], held.pop("room_of_faces")
        for name, values in held.items():
            setattr(self, name, values)
        self.velocity = self.grid.still()
        for axis, share in enumerate(self.open.user):
            close_edges(share, axis)
        self._set_wall_model()

    def _held(self, values: Any) -> Any:
        """The part of a field, or of fields, over the domain that the grid covers."""
        if values is None:
            return None
        if isinstance(values, list):
            return [self._held(v) for v in values]
        if isinstance(values, FaceField):
            return values.map(self._held)
        if isinstance(values, Chambers):
            return Chambers(self._held(values.which), values.rooms)
        if self.partition.holds_all and values.flags.writeable:
            return values
        box, shape = self.partition.held, self.whole.shape
        if values.ndim > len(shape):
            box, shape = box.three(), self.whole.three
        return box.part(values, shape).copy(order="C")

    def everywhere(self, name: str) -> Any:
        """A field over the domain, or over the part of it that this process has."""
        return self._domain.get(name, getattr(self, name))

    def _measure_cells(self, phi: np.ndarray) -> None:
        """Space in cells, room for the density of particles and distance at the centres."""
        layers = self.layers
        if layers is not None:
            for layer in layers.list if self.coupling is not None else ():
                layer.cover(self._static, self.open)
            self.space = layers.space()
            self.room = layers.cells([layer.room for layer in layers.list])
            self.centre = layers.cells([layer.centre for layer in layers.list])
            return
        self.space = np.empty(self.grid.three)
        _open_space(self.space, self.nodes, 4)
        self.room = np.empty(self.grid.three)
        _room(self.room, self.space, self.nodes, 2)
        #: distance at the centres of cells
        self.centre = self.grid.lift(centre_distance(phi) / self.grid.dx)

    def static_nodes(self) -> np.ndarray:
        """Distance at the nodes to all solids but bodies, in cells and the user's dimension."""
        return joined((d for s, d in zip(self.list, self.distances) if s.body is None), self.grid) / self.grid.dx

    def chambers(self) -> Chambers:
        """The chambers of the space outside solids."""
        if self._chambers is None or self._chambers[0] is not self.space:
            layers, space = self.layers, self.space
            which, count = self.partition.parts(space) if layers is None else layers.chambers(space)
            made = Chambers.of(which, count, self.partition.only_own(space))
            made.rooms = np.asarray(self.partition.comm.total(made.rooms))
            self._chambers = self.space, made
        return self._chambers[1]

    @property
    def phi(self) -> np.ndarray:
        """Distance to all solids at the nodes, in metres and the user's dimension."""
        return joined(self.distances, self.grid)

    def _sample_on_grid(self) -> np.ndarray:
        """Join the distances of all solids; returns `phi`."""
        phi = self.phi
        #: distance at the nodes; those of a 2D grid lie on both sides of its cells
        self.nodes = np.ascontiguousarray((phi if phi.ndim == 3 else np.repeat(phi[None], 2, axis=0)) / self.grid.dx)
        return phi

    @property
    def user_nodes(self) -> np.ndarray:
        """Distance at the nodes, in cells and the user's dimension."""
        return self.nodes if self.grid.dimension == 3 else self.nodes[0]

    def place(self) -> None:
        """Update only the distances, with the bodies at their present positions."""
        for index, solid in enumerate(self.list):
            if solid.body is not None:
                self.distances[index] = solid.distance(self.grid, self.time)
        self._sample_on_grid()
        for layer in () if self.layers is None else self.layers.list:
            layer.fit_nodes()

    def _open_faces(self) -> tuple[np.ndarray, ...]:
        """Open shares of all faces. The shares of bodies are kept separately, because the pressure moves bodies."""
        grid = self.grid
        static = [here for solid, here in zip(self.list, self.distances) if solid.body is None]
        if self._static is None or self.driven:
            weights = [np.ones(grid.face_shape(a)) for a in range(grid.dimension)]
            if self.layers is not None:
                seen = self.layers.faces([layer.outside for layer in self.layers.list])
                weights = list(self.layers.closed.where(0.0, seen).user)
            elif static:
                weights = list(open_fractions(np.minimum.reduce(static), self._largest(static)))
            self._covered = [1.0 - w[ends(a)] for a, w in enumerate(weights)]
            self._static = tuple(close_edges(w, a) for a, w in enumerate(weights))
        still = self._static
        bodies = [s.body for s in self.list if s.body is not None]
        if not bodies:
            return still
        from ....discretise.coupling import Coupling

        on_grid = [self._covering(b, here) for b, here in zip(bodies, self.distances[len(static) :])]
        #: the bodies as the pressure solve sees them; None without bodies
        self.coupling = Coupling(on_grid, still, None, grid.shape, grid.dx, self.partition)
        self._own = list(zip(bodies, self.coupling.covered))
        return self.coupling.weights

    def _largest(self, distances: Sequence[np.ndarray]) -> float | None:
        """The largest distance at the nodes of all processes; None: of this one."""
        if not self.partition.shared:
            return None
        return self.partition.comm.largest(float(np.abs(np.minimum.reduce(distances)).max()))

    def nodes_near(self, slab: int) -> tuple[np.ndarray, int]:
        """Distance to all solids, in cells, at nodes around a plane of cells of the domain; their first plane."""
        if not self.partition.shared:
            return self.user_nodes, 0
        first = max(slab - PLANES, 0)
        shape = (min(slab + PLANES + 1, self.whole.shape[0]) - first, *self.whole.shape[1:])
        grid = SubGrid(shape, self.whole.dx, first=(first, *(0,) * (len(shape) - 1)))
        return joined((solid.measure(grid, self.time) for solid in self.list), grid) / grid.dx, first

    def _covering(self, body: RigidBody, distance: np.ndarray) -> Body:
        """A body as the pressure solve takes it."""
        from ....discretise.coupling import Body

        at = distance, body.centre, body.velocity, body.spin
        return Body(*at, body.density, body.mass, body.inertia) if body.dynamic else Body(*at)

    def push(self, motions: Sequence[tuple[np.ndarray, np.ndarray | float]]) -> None:
        """Give the bodies the velocities and spins they have after a solve."""
        for (body, _), (velocity, spin) in zip(self._own, motions):
            if body.dynamic:
                body.velocity, body.spin = np.array(velocity, float), np.atleast_1d(np.array(spin, float))
        self.refresh()

    def motions(self) -> list[np.ndarray]:
        """(v, ω) of every body, as it is now."""
        return [np.append(body.velocity, body.spin) for body, _ in self._own]

    def body_of_face(self) -> FaceField:
        """Number of the body if it is the nearest solid to a face, -1 otherwise."""
        first = len(self.list) - len(self._own)
        return FaceField.of([np.where(nearest >= first, nearest - first, -1) for nearest in self.carrier])

    def current(self) -> Coupling | None:
        """The bodies on the grid with their present velocities."""
        if self.coupling is None:
            return None
        velocity = None
        if self.driven:
            body = np.array([s.body is not None for s in self.list] + [False])
            velocity = tuple(np.where(body[carrier], 0.0, v) for carrier, v in zip(self.carrier, self.velocity.user))
        return self.coupling.moving(self.motions(), velocity)

    def moved_phi(self) -> np.ndarray | None:
        """Nodal distance to all solids but bodies in metres, if one of them moves."""
        if not self.driven:
            return None
        return np.minimum.reduce([here for s, here in zip(self.list, self.distances) if s.body is None])

    def _varies(self) -> bool:
        return self.scene.gravity_varies or any(isinstance(s.separation, Keyed) for s in self.list)

    def room_of_faces(self) -> FaceField:
        """The mass that particles bring to a face if all space around it is full: 1 far from solids.

        The weights of the transfer, integrated over the space outside solids: hats along the axis of the face; across,
        an eighth, three quarters and an eighth of three neighbours. The sides of the domain are like mirrors.
        """
        if self._room is None or self._room[0] is not self.open:
            self._room = self.open, self.room_around(self.centre)
        return self._room[1]

    def room_around(self, centre: np.ndarray) -> FaceField:
        """The same for a distance at the centres of cells."""
        grid, out = self.grid, []
        for axis, room in hat_fields(-grid.drop(centre))[1].each():
            for a in grid.axes:
                if a != axis and room.shape[a] > 1:
                    wide = np.pad(room, [(int(b == a),) * 2 for b in range(3)], mode="edge")
                    room = 0.75 * room + 0.125 * (lower(lower(wide, a), a) + upper(upper(wide, a), a))
            out.append(np.maximum(room, SOLIDS.least_room))
        return FaceField(out, grid.axes)

    def _label(self, distances) -> None:
        """Index of the solid nearest to each cell, negative for the sides of the domain."""
        grid = self.grid
        nearest, owner = nearest_side(grid.cells(), self.whole.size, grid.shape, self._differ)
        for index, nodal in enumerate(distances):
            here = centre_distance(nodal)
            closer = here < nearest
            nearest[closer] = here[closer]
            owner[closer] = index
        self.owner = grid.lift(owner)
        if self.moving:
            self._move_faces(distances)

    def _move_faces(self, distances) -> None:
        """Find the solid nearest to every face, and its velocity there."""
        grid = self.grid
        #: index of the solid whose velocity a face has, per axis; -1 for none
        self.carrier: list[np.ndarray] = []
        for axis in range(grid.dimension):
            nearest = np.full(grid.face_shape(axis), -1, np.int16)
            # the sides of the domain are at rest: without them a piston at one end would move the wall at the other end
            best, _ = nearest_side(grid.faces(axis), self.whole.size, nearest.shape, False)
            if self.layers is not None:  # a side may be nearer than the thin wall that closes a face
                best = np.where(self.layers.closed.user[axis], np.inf, best)
            for index, (solid, nodal) in enumerate(zip(self.list, distances)):
                here = at_faces(nodal, axis)
                closer = here < best
                best = np.where(closer, here, best)
                # far from a spinning body its velocity has no meaning, and would shorten the time step
                nearest[closer & (here < SOLIDS.room * grid.dx)] = index if solid.body is not None else -1
                if solid.body is None:
                    nearest[closer] = index if solid.motion is not None else -1
            self.carrier.append(nearest)
        self.refresh()

    def nearest_to_faces(self) -> FaceField:
        """Number of the solid or side nearest to every face."""
        grid, out = self.grid, []
        for axis in range(grid.dimension):
            best, nearest = nearest_side(grid.faces(axis), self.whole.size, grid.face_shape(axis), self._differ)
            for index, nodal in enumerate(self.distances):
                here = at_faces(nodal, axis)
                nearest[here < best] = index
                np.minimum(best, here, out=best)
            out.append(nearest)
        return FaceField.of(out)

    def refresh(self) -> None:
        """Read the velocity of moving solids at the faces again; solids at rest and the sides have zero velocity."""
        if not self.moving:
            return
        velocity = []
        for axis, nearest in enumerate(self.carrier):
            out = np.zeros(nearest.shape)
            points = self.grid.faces(axis)
            for index, solid in enumerate(self.list):
                if solid.motion is not None or solid.body is not None:
                    mine = nearest == index
                    out[mine] = np.broadcast_to(solid.speed(axis, points, self.time, self.since), out.shape)[mine]
            if self.driven:
                out[ends(axis)] = self._through_sides(axis)
            velocity.append(out)
        self.velocity = FaceField.of(velocity)

    def _through_sides(self, axis: int) -> np.ndarray:
        """Velocity on the first and last faces of an axis: that of the solid which passes, times the share it covers.

        A lid that slides along carries volume out through a side. If only faces with their middles in the lid had its
        velocity, the volume of up to half a face would be wrong, and the liquid below would have to make up for it.
        """
        rim = ends(axis)
        best = np.full(self._covered[axis].shape, np.inf)
        out = np.zeros(best.shape)
        for solid, nodal in zip(self.list, self.distances):
            if solid.body is None:
                here = at_faces(nodal, axis)
                closer = here[rim] < best
                speed = 0.0
                if solid.motion is not None:
                    moved = solid.speed(axis, self.grid.faces(axis), self.time, self.since)
                    speed = np.broadcast_to(moved, here.shape)[rim]
                out = np.where(closer, speed, out)
                best = np.minimum(here[rim], best)
        return out * self._covered[axis]

    def turns(self) -> np.ndarray:
        """The turn of each solid and side in the step by its prescribed motion, in radians; numbers as in `owner`.

        (n, 4): the vector of the turn, and 1 if there is such a motion.
        """
        driven = [np.append(s.turn(self.since, self.time), float(s.motion is not None)) for s in self.list]
        return np.array(by_number(driven, [np.zeros(4)] * len(self.sides)))

    def fastest(self) -> float:
        """The largest velocity component of a solid at a face."""
        if not self.moving:
            return 0.0
        return self.partition.comm.largest(self.velocity.largest())

    def _set_wall_model(self) -> None:
        """Find the cells that may separate, with their adhesion and separation velocity."""
        modes = by_number([s.pressure for s in self.list], [s.pressure for s in self.sides])
        if len(set(modes)) == 1:
            self.mode: str | np.ndarray = modes[0]
            self.sticky = np.full(self.grid.three, modes[0] == "none", np.int8)
        else:
            # "edge" is only possible for a whole scene; mixed with other values it means the cells that the solid cuts
            grid, self.mode = self.grid, np.zeros(self.grid.three, bool)
            self.sticky = np.zeros(grid.three, np.int8)
            for index, mode in enumerate(modes):
                mine = self.owner == (index if index < len(self.list) else index - len(modes))
                walls = "cut" if mode == "edge" else mode
                self.mode |= mine & grid.lift(wall_cells(walls, self.open.user, grid.drop(self.centre), grid.shape))
                self.sticky[mine] = mode == "none"
        sides = self.sides
        self.adhesion = self._per_cell(by_number([s.adhesion for s in self.list], [s.adhesion for s in sides]))
        if isinstance(self.adhesion, np.ndarray):
            self.adhesion = np.where(self.adhesion > 0.0, np.maximum(self.adhesion - self._overhang(), 0.0), 0.0)
        speeds = [_now(s.separation, self.time) for s in self.list]
        self.separation = self._per_cell(by_number(speeds, [s.separation for s in sides]))

    def _overhang(self) -> np.ndarray:
        """How much lower than at the centre of a cell the pressure of liquid at rest is at the wall above it, in Pa.

        A wall holds liquid by the pressure at the wall; the unknown of the solve is that at the centre.
        """
        model, views = self.scene.model, [self] if self.layers is None else self.layers.list
        weight = model.physics.density * self.grid.dx * self.grid.vector(self.scene.gravity_at(self.time))
        found = []
        for view in views:
            slope = sum(g * np.diff(at_faces(view.nodes, a), axis=a) for a, g in enumerate(weight) if g)
            out = view.centre * np.where(view.centre < 1.0, np.maximum(slope, 0.0), 0.0)
            for a in self.grid.axes:  # the sides are not part of the distance
                for end, g in ((0, weight[a]), (-1, -weight[a])):
                    side = (slice(None),) * a + (end,)
                    np.maximum(out[side], 0.5 * g, out=out[side])
            found.append(out)
        return found[0] if self.layers is None else self.layers.cells(found)

    def _per_cell(self, values: list[float]) -> np.ndarray | float:
        if not any(values):
            return 0.0
        return np.array(values)[self.owner]

    def touched(self, pressure: np.ndarray, least: float) -> bool:
        """True if a pressure (on three axes) of a size above `least` acts in a cell that a solid or a side cuts."""
        if self._cut is None or self._cut[0] is not self.open:
            self._cut = self.open, np.flatnonzero(self.partition.only_own(cut_cells(self.open.user)))
        return self.partition.comm.any(bool((np.abs(pressure.reshape(-1)[self._cut[1]]) > least).any()))

    def held(self, hold: np.ndarray | None) -> np.ndarray:
        """1 in cells next to a wall that does not let liquid separate, and in cells of `hold` (a mask over cells)."""
        if hold is None:
            return self.sticky
        return np.maximum(self.sticky, hold.astype(np.int8))

    def placed(self, solid: Solid) -> Shape:
        """The shape of a solid at its present position."""
        return solid.placed(self.time)


def _kept(values: Any) -> Any:
    """Fields over the domain as they are kept: one that has the same value everywhere is one number."""
    if isinstance(values, list):
        return [_kept(v) for v in values]
    if isinstance(values, FaceField):
        return values.map(_kept)
    if isinstance(values, Chambers):
        return Chambers(_kept(values.which), values.rooms)
    same = values is not None and values.min() == values.max()
    return np.broadcast_to(values.flat[0], values.shape) if same else values


def _now(value: float | Keyed, time: float) -> float:
    if isinstance(value, Keyed):
        return float(np.interp(time, value.times, value.values))
    return value
