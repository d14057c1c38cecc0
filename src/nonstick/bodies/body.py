"""`RigidBody`: a shape with mass that moves as a whole, in 2D and 3D.

The shape is given at its initial position, in world coordinates. A point x of the world is the point
Rᵀ(x - c) + c₀ of the shape, with the centre of mass c (c₀ at the beginning) and the rotation R since then. Orientation
is an angle in 2D and a unit quaternion in 3D; spin is one number in 2D and a vector in 3D, in world axes.
In 2D mass is per metre of depth.
"""

from __future__ import annotations

import numpy as np

from ..errors import NonstickError, brief
from ..grid.shapes import Shape
from ..grid.shapes.combined import Posed
from . import rotation

Coordinates = tuple[np.ndarray, ...]


class RigidBody:
    """A shape with mass that moves as a whole; in 2D mass is per metre of depth.

    Parameters
    ----------
    shape : Shape
        The body at its initial position, in world coordinates. It must be bounded.
    density : float
        In kg/m³.
    velocity : sequence of float, optional
        Of the centre of mass, in m/s; at rest by default.
    spin : float or sequence of float, optional
        Angular velocity in radians per second: one number in 2D, a vector in 3D.
    name : str
        Used in messages and files.
    dimension : int, optional
        2 or 3; needed if the shape can have both.
    restitution : float
        Share of the speed that a bounce keeps.
    friction : float
        Coulomb's coefficient.
    motion : Prescribed, optional
        A prescribed motion; without one, forces move the body.

    Attributes
    ----------
    centre, orientation, velocity, spin : ndarray
        The state. Orientation is an angle in 2D and a unit quaternion (w, x, y, z) in 3D.
    mass, volume : float
    radius : float
        No point of the body is farther from its centre of mass.

    Examples
    --------
    >>> import numpy as np
    >>> from nonstick import RigidBody
    >>> from nonstick.grid import Box
    >>> crate = RigidBody(Box((0.0, 0.0), (2.0, 1.0)), density=500.0)
    >>> crate.mass, crate.centre.tolist(), crate.phi(np.array(1.0), np.array(1.25)).item()
    (1000.0, [1.0, 0.5], 0.25)
    """

    def __init__(
        self,
        shape: Shape,
        density: float,
        velocity=None,
        spin=None,
        *,
        name: str = "body",
        dimension: int | None = None,
        restitution: float = 0.3,
        friction: float = 0.4,
        motion=None,
    ):
        if not isinstance(shape, Shape):
            raise NonstickError(f"{name}: shape must be a Shape such as nonstick.grid.Ball, not {brief(shape)}")
        self.shape, self.name, self.density = shape, name, float(density)
        if not (np.isfinite(self.density) and self.density > 0):
            raise NonstickError(f"{name}: density must be positive, not {density}")
        self.d = dimension or _dimension(shape, name)
        found = shape.moments(self.d)
        self.volume = found.volume
        self.mass = self.density * found.volume
        #: centre of mass in the shape's own coordinates
        self.origin = found.centre.copy()
        #: inertia tensor in the shape's own axes: (1, 1) in 2D, (3, 3) in 3D
        self.own_inertia = found.inertia(self.density)
        low, high = shape.bounds(self.d)
        self._half, self._middle = 0.5 * (high - low), 0.5 * (high + low) - self.origin
        #: no point of the body is farther from its centre of mass
        self.radius = float(np.linalg.norm(self._half + np.abs(self._middle)))
        #: half its least extent
        self.least = float(self._half.min())
        self.restitution, self.friction = float(restitution), float(friction)
        #: prescribed motion, or None for a body that moves by forces
        self.motion = motion
        n = 1 if self.d == 2 else 3
        self.centre = found.centre.copy()
        self.orientation = rotation.identity(self.d)
        self.velocity = np.zeros(self.d) if velocity is None else np.array(velocity, float)
        self.spin = np.zeros(n) if spin is None else np.atleast_1d(np.array(spin, float))
        if self.velocity.shape != (self.d,) or self.spin.shape != (n,):
            raise NonstickError(f"{name}: a {self.d}D body has {self.d} components of velocity and {n} of spin")

    # -- geometry -------------------------------------------------------------------------------------

    @property
    def dynamic(self) -> bool:
        """True if forces move the body, False if its motion is prescribed."""
        return self.motion is None

    @property
    def rotation(self) -> np.ndarray:
        """The rotation since the beginning, as a matrix."""
        return rotation.matrix(self.orientation)

    @property
    def inertia(self) -> np.ndarray:
        """The inertia tensor about the centre of mass in world axes: (1, 1) in 2D, (3, 3) in 3D."""
        if self.d == 2:
            return self.own_inertia
        R = self.rotation
        return R @ self.own_inertia @ R.T

    def placed(self, shape: Shape | None = None) -> Shape:
        """The shape where it is now; `placed().sample(grid.nodes())` is its distance on a grid.

        Another `shape` given at the initial position, such as a sampled mesh, moves along with the body.
        """
        return Posed(shape or self.shape, self.rotation, self.origin, self.centre.copy())

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of an axis-aligned box around the body where it is now."""
        R = self.rotation
        middle, half = self.centre + R @ self._middle, np.abs(R) @ self._half
        return middle - half, middle + half

    def phi(self, *x: np.ndarray) -> np.ndarray:
        """Signed distance at world points, coordinate arrays that broadcast."""
        return self.placed()(*x)

    def velocity_at(self, *x: np.ndarray) -> Coordinates:
        """Velocity of the body's material at world points, one array per axis."""
        return point_velocity(self.velocity, self.spin, self.centre, x)

    # -- motion ---------------------------------------------------------------------------------------

    def follow_motion(self, time: float) -> None:
        """Take pose and velocity from the prescribed motion; a body that moves by forces is unchanged."""
        if self.motion is None:
            return
        offset, angle, rate, spin = self.motion.at(time)
        vector = self.motion.spin_vector(angle)
        self.orientation = vector.copy() if self.d == 2 else rotation.from_vector(vector)
        arm = self.rotation @ (self.origin - self.motion.about)
        self.centre = self.motion.about + offset + arm
        self.spin = self.motion.spin_vector(spin)
        self.velocity = rate + rotation.cross(self.spin, arm)

    def spin_freely(self, h: float) -> None:
        """Euler's equations in the body's axes by the implicit midpoint rule, which conserves energy and |L|.

        I (w₁ - w₀) + h wₘ × I wₘ = 0, wₘ = (w₀ + w₁)/2, by Newton's method; the orientation turns by h wₘ.
        """
        R, inertia = self.rotation, self.own_inertia
        w0 = R.T @ self.spin
        w1 = w0.copy()
        for _ in range(20):
            m = 0.5 * (w0 + w1)
            residual = inertia @ (w1 - w0) + h * np.cross(m, inertia @ m)
            J = inertia + 0.5 * h * (_skew(m) @ inertia - _skew(inertia @ m))
            step = np.linalg.solve(J, residual)
            w1 = w1 - step
            if np.abs(step).max() <= 1e-15 * (1.0 + np.abs(w1).max()):
                break
        m = 0.5 * (w0 + w1)
        q = rotation.product(self.orientation, rotation.from_vector(h * m))
        self.orientation = q / np.sqrt(q @ q)
        self.spin = self.rotation @ w1

    # -- numbers --------------------------------------------------------------------------------------

    def kinetic(self) -> float:
        """Kinetic energy in joule (per metre of depth in 2D)."""
        return 0.5 * float(self.mass * self.velocity @ self.velocity + self.spin @ self.inertia @ self.spin)

    def angular_momentum(self) -> np.ndarray:
        """Angular momentum about the centre of mass, in world axes."""
        return self.inertia @ self.spin

    # -- state ----------------------------------------------------------------------------------------

    def state(self) -> np.ndarray:
        """Centre, orientation, velocity, spin in one array: 6 numbers in 2D, 13 in 3D."""
        return np.concatenate([self.centre, self.orientation, self.velocity, self.spin])

    def restore(self, state: np.ndarray) -> None:
        d, n, m = self.d, self.orientation.size, self.spin.size
        if state.shape != (2 * d + n + m,):
            raise NonstickError(f"{self.name}: a state has {2 * d + n + m} numbers, not {state.size}")
        self.centre, self.orientation, self.velocity, self.spin = (
            part.copy() for part in np.split(state, [d, d + n, 2 * d + n])
        )

    def __repr__(self) -> str:
        kind = "" if self.dynamic else ", prescribed"
        return f"RigidBody({self.name!r}, mass={self.mass:.6g}, centre={self.centre.tolist()}{kind})"


def point_velocity(velocity: np.ndarray, spin: np.ndarray, centre: np.ndarray, x: Coordinates) -> Coordinates:
    """v + ω × (x - c), component by component; the coordinates are broadcast as late as possible."""
    r = [a - c for a, c in zip(x, centre)]
    if len(r) == 2:
        return velocity[0] - spin[0] * r[1], velocity[1] + spin[0] * r[0]
    return (
        velocity[0] + spin[1] * r[2] - spin[2] * r[1],
        velocity[1] + spin[2] * r[0] - spin[0] * r[2],
        velocity[2] + spin[0] * r[1] - spin[1] * r[0],
    )


def _dimension(shape: Shape, name: str) -> int:
    if shape.dimension is None:
        raise NonstickError(f"{name}: its shape can be 2D or 3D; give dimension=2 or 3")
    return shape.dimension


def _skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
