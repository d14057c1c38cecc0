"""The rigid bodies of a scene: made from its tables, moved among its walls, written to its frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ....bodies import rotation
from ....bodies.body import RigidBody
from ....bodies.contact import Wall, box_walls
from ....bodies.motion import Prescribed
from ....bodies.world import World
from ....core.columns import check_array, check_state
from ....errors import NonstickError
from ....grid.shapes import Complement
from ....scenes.geometry import build
from ....scenes.scene import Scene
from ..settings import SOLIDS

if TYPE_CHECKING:  # it loads the solvers, and pictures of bodies need none
    from .on_grid import Solids


def make(scene: Scene) -> list[RigidBody]:
    """The bodies of a scene at time 0; mistakes name their key."""
    out: list[RigidBody] = []
    d = scene.dimension
    for index, spec in enumerate(scene.model.bodies):
        key = f"{scene.where}: bodies.{index}"
        name = scene.model.body_names[index]
        if any(b.name == name for b in out):
            raise NonstickError(f"{key}.name: there are two bodies called {name!r}")
        spin: Any = np.radians(spec.spin)
        if d == 3:
            axis = np.array(spec.axis, float)
            if len(axis) != 3 or not np.linalg.norm(axis) > 0:
                raise NonstickError(f"{key}.axis must have three coordinates, not all zero")
            spin = spin * axis / np.linalg.norm(axis)
        try:
            body = RigidBody(
                build(spec.shape, scene.folder), spec.density or 1000.0, spec.velocity, spin, name=name, dimension=d,
                restitution=spec.restitution, friction=spec.friction,
            )  # fmt: skip
            if spec.motion is not None:
                body.motion = Prescribed(spec.motion, body.centre, d)
        except NonstickError as error:
            raise NonstickError(f"{key}: {error}") from None
        out.append(body)
    return out


class Bodies:
    """The bodies of a running scene. Forces on the bodies may change `world.bodies` in place."""

    def __init__(self, scene: Scene, bodies: list[RigidBody], solids: Solids):
        self.scene = scene
        self.list = bodies
        self.world = World(bodies, box_walls(scene.model.domain.size) + _walls(solids), scene.gravity)
        #: share of gravity that nothing held in the last step, between 0 and 1, of each body
        self.free = np.ones(len(bodies))
        #: velocities before gravity acted, and what it gave
        self._before: list[np.ndarray] = []
        self._push = np.zeros(scene.dimension)

    def __len__(self) -> int:
        return len(self.list)

    def __iter__(self):
        return iter(self.list)

    def fall(self, time: float, lag: float, kick: float) -> None:
        """Apply gravity at the beginning of a step from `time`; the pressure solve comes next.

        The velocities become those of `lag` seconds ago, and gravity acts on them for `kick` seconds. From then until
        the end of the step they belong to its middle.
        """
        self._add_gravity(-lag)
        self._before = [b.velocity.copy() for b in self.list]
        self._push = kick * self.world.pull
        self.world.time = time  # one clock for all bodies, so that a resumed run has the same times
        self.world.fall(kick)

    def move(self, dt: float) -> None:
        """Do contact, and move poses and velocities to the end of the step."""
        self.world.move(dt)
        size = float(self._push @ self._push)
        if size > 0.0:
            gained = [float((b.velocity - v) @ self._push) / size for b, v in zip(self.list, self._before)]
            self.free = np.clip(np.array(gained), 0.0, 1.0)
        self._add_gravity(0.5 * dt)

    def _add_gravity(self, dt: float) -> None:
        """Add dt seconds of the gravity that nothing holds to the velocities."""
        for body, share in zip(self.list, self.free):
            if body.dynamic:
                body.velocity = body.velocity + dt * share * self.world.pull

    def check_start(self) -> None:
        """Raise an error if bodies begin deep in walls or in each other."""
        for key, other, depth in overlaps(self.world):
            index = next(k for k, b in enumerate(self.list) if b.name == key)
            raise NonstickError(
                f"{self.scene.where}: bodies.{index} ({key}) begins {depth:.3g} m deep in {other}; move it away"
            )

    # -- numbers --------------------------------------------------------------------------------------

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy of the bodies that move by forces, in joule."""
        kinetic = sum(b.kinetic() for b in self.list if b.dynamic)
        pull = np.array(self.scene.gravity)
        return kinetic, -sum(b.mass * float(pull @ b.centre) for b in self.list if b.dynamic)

    def max_speed(self) -> float:
        """Largest speed of any point of a body."""
        return max(
            (float(np.linalg.norm(b.velocity)) + float(np.linalg.norm(b.spin)) * b.radius for b in self.list),
            default=0.0,
        )

    # -- frames and checkpoints -----------------------------------------------------------------------

    def frame_arrays(self) -> dict[str, np.ndarray]:
        """Transforms: centre of mass, orientation (angle, or quaternion w x y z) since time 0, velocities."""
        if not self.list:
            return {}
        return {
            "body_centre": np.array([b.centre for b in self.list]),
            "body_orientation": np.array([b.orientation for b in self.list]),
            "body_velocity": np.array([b.velocity for b in self.list]),
            "body_spin": np.array([b.spin for b in self.list]),
        }

    def state(self) -> dict[str, np.ndarray]:
        return {**self.world.state(), "body_free": self.free} if self.list else {}

    def check(self, state: Mapping[str, np.ndarray]) -> None:
        """Refuse a state that is not one of these bodies."""
        own = self.state()
        if "body_free" not in state:  # older states have none: their velocities do not lag
            own.pop("body_free", None)
        check_state(state, own, {"body_contact_keys": 0, "body_contact_impulses": 0})
        if self.list and self.scene.dimension == 3:
            turns = {"the length of a quaternion": np.linalg.norm(state["bodies"][:, 3:7], axis=1)}
            check_array("the length of a quaternion", turns, (None,), float, 0.999, 1.001)

    def restore(self, state: dict[str, np.ndarray], time: float) -> None:
        if self.list:
            self.world.restore(state, time)
            self.free = state["body_free"] if "body_free" in state else np.ones(len(self.list))


def overlaps(world: World) -> list[tuple[str, str, float]]:
    """Pairs of bodies that begin deep in each other: names and depth in metres."""
    partners, contacts = world.touching_now()
    out = []
    for i, j, gap in zip(contacts.first, contacts.second, contacts.gap):
        one, other = partners[i], partners[j]
        if -gap > SOLIDS.overlap * min(one.size, other.size):
            out.append((one.name, other.name, float(-gap)))
    return out


def _walls(solids: Solids) -> list[Wall]:
    """The solids of a scene as walls for bodies."""
    out = []
    for index, (_, wall) in enumerate(zip(solids.scene.model.solid, solids.list)):
        shape = Complement(wall.shape) if wall.container else wall.shape
        # the inside of a container is hollow; only the probes of bodies touch it
        points = None if wall.container else wall.shape.probes(solids.grid.dimension).thinned()
        made = Wall(f"solid.{index}", shape, probes=points)
        if wall.motion is not None:
            _set_moving(made, wall.motion, solids.grid.dimension)
        out.append(made)
    return out


def _set_moving(wall: Wall, motion: Prescribed, d: int) -> None:
    shape = wall.shape

    def place(time: float):
        return motion.placed(shape, time)

    def speed(time: float, x: np.ndarray) -> np.ndarray:
        return np.array([np.broadcast_to(motion.velocity(a, tuple(x), time), x.shape[1:]) for a in range(d)])

    def pose(time: float):
        offset, angle, _, _ = motion.at(time)
        vector = motion.spin_vector(angle)
        R = rotation.matrix(vector if d == 2 else rotation.from_vector(vector))
        return R, motion.about, offset

    wall.place, wall.speed, wall.pose = place, speed, pose
