"""Implicit viscosity in variational form (Batty–Bridson 2008; Aanjaneya et al. 2019, eq. 9–11).

    (V_u + dt/ρ (Σ_cells 2μ V_c d dᵀ + Σ_edges μ V_e g gᵀ)) u = V_u u*

d is the difference of a velocity component across a cell, g the shear at an edge (a node in 2D), both over dx,
V the liquid fraction of the dx-cube around a sample. Free surfaces are free of traction because samples
without liquid do not count. Solid faces keep their velocity and move to the right-hand side; faces beyond
the box are solid and at rest (the paper's ghost layer, §6). Where the distance to walls is known, their shear is that
of the true distance (`viscosity_walls`).

The unknowns are the faces that are not solid and that have mass or touch a stress sample with liquid and viscosity. If
too little stress acts on a massless face to determine its value, the matrix is semidefinite. The system stays
consistent, and values on faces with mass are unique. Every solver starts at the advected velocity, so an undetermined
face keeps that value.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..core.options import suggesting
from ..errors import NonstickError
from ..grid.box import IndexBox
from ..operators.base import Operator
from ..operators.faces import FaceGrid, FaceSystem, ViscosityOperator
from ..problem.box import Bounds, BoxProblem
from ..problem.solution import Solution
from .base import Discretised, extended
from .fields import (
    Volumes,
    checked_level_set,
    checked_viscosity,
    checked_volumes,
    coefficient,
    face_arrays,
    face_means,
    fluid_faces,
    positive,
    sequence,
    times_viscosity,
    unknown_faces,
    volumes_as_given,
    volumes_from_level_set,
    window_around,
    window_of_liquid,
)
from .viscosity_walls import WallDrag, drag_at_walls


class _Unbounded(Bounds):
    """No bounds. It takes no memory and writes nothing, because there can be hundreds of millions of unknowns."""

    @cached_property
    def constrained(self) -> np.ndarray:
        return np.broadcast_to(False, self.lower.shape)

    def project(self, x, out=None):
        if out is None:
            return x.copy()
        if out is not x:
            out[:] = x
        return out


class ViscousBox(BoxProblem):
    """The linear system as a box problem without bounds: its KKT residual is max|A x - b| / max|b|."""

    may_float = False

    def __init__(self, A: Operator, b: np.ndarray, scale: float = 0.0):
        """`scale` replaces max|b| if it is not zero."""
        super().__init__(A, b, -np.inf, np.inf)
        self.scale = scale or self.scale
        self.box = _Unbounded(np.broadcast_to(-np.inf, (A.n,)), np.broadcast_to(np.inf, (A.n,)))
        self._work = np.empty(0)

    def natural_residual(self, x, g, out=None):
        if out is None:
            return g
        out[:] = g
        return out

    def kkt(self, x, g=None):
        g = self.gradient(x) if g is None else g
        return self.A.comm.largest(_peak(g)) / self.scale

    linear_residual = kkt


@dataclass(repr=False)
class ViscositySolution(Solution):
    """A solution whose unknowns are face velocities."""

    #: the `ViscosityProblem` it solves
    source: Any = field(default=None, repr=False)

    @property
    def velocity(self) -> tuple[np.ndarray, ...]:
        """The velocity after the step: solved on the unknown faces, as given on all others."""
        return self.source.with_unknowns(self.x)


class ViscosityProblem(Discretised):
    """One implicit viscosity step on a staggered grid, 2D or 3D.

    Parameters
    ----------
    velocity : tuple of ndarray
        (u, v[, w]) after advection; on solid faces it is the velocity of the solid.
    viscosity : float or ndarray
        Dynamic viscosity μ, a number or an array over cells; the value at an edge is the mean over its cells.
    dt, dx, rho : float
        Time step, cell size, density.
    phi_liquid : ndarray, optional
        Level set at cell centres, negative in liquid.
    volumes : tuple, optional
        (faces, cells, edges), in place of `phi_liquid`: the liquid fractions themselves. Faces are (u, v[, w]), edges
        (nodes,) in 2D and (ex, ey, ez) in 3D, where ex are the edges along x, which carry τ_yz.
    phi_solid : ndarray, optional
        Level set at nodes, negative in solids: a face is solid if its middle lies in the solid or if it lies on the
        boundary of the box. No-slip walls are where the level set is zero, and at the sides of the box; without
        `phi_solid` the liquid is at rest half a cell beyond the sides.
    fluid : tuple of ndarray of bool, optional
        In place of `phi_solid`: masks shaped like the velocity, False on solid faces. The liquid has their velocity in
        their middles, unless `distance` says where the walls are.
    distance : tuple of ndarray, optional
        With `fluid`: distance to the solids in the middles of the faces, negative inside, shaped like the velocity.
    solid_velocity : tuple of ndarray, optional
        Velocity of the solids, continued to the liquid faces next to them, shaped like the velocity. Without it, it is
        continued linearly from the solid faces, which is exact for a rigid motion if a wall is two cells thick.
    whole : bool
        Lay out the whole grid. By default only the box of cells around the liquid is laid out: the solution is the
        same, and takes less time and memory.

    Examples
    --------
    A jet in the middle of a box full of honey, after a tenth of a second:

    >>> import numpy as np, nonstick
    >>> u, v = np.zeros((9, 8)), np.zeros((8, 9))
    >>> u[:, 4] = 1.0
    >>> step = nonstick.ViscosityProblem(
    ...     velocity=(u, v), viscosity=10.0, dt=0.1, dx=0.05, rho=1400.0, phi_liquid=-np.ones((8, 8))
    ... )
    >>> step.solve().velocity[0][4].round(2)
    array([0.  , 0.  , 0.02, 0.13, 0.68, 0.13, 0.02, 0.  ])
    """

    default_method = "visc-auto"
    # Momentum against the largest one: faces with a sliver of liquid need not be exact to their own last digits.
    default_criterion = "papers"
    #: the mean of the viscosity over the cells of an edge: harmonic or arithmetic
    harmonic = False
    problem: ViscousBox

    @suggesting
    def __init__(
        self,
        *,
        velocity: Sequence[np.ndarray],
        viscosity,
        dt: float,
        dx: float,
        rho: float = 1000.0,
        phi_liquid=None,
        volumes=None,
        phi_solid=None,
        fluid=None,
        distance=None,
        solid_velocity=None,
        whole: bool = False,
    ):
        cells = grid_of("velocity", velocity)
        self.velocity = tuple(v.astype(np.float64, copy=False) for v in face_arrays("velocity", velocity, cells, True))
        every = FaceGrid.of(cells)
        self.dt, self.dx, self.rho = (positive(x, n) for n, x in (("dt", dt), ("dx", dx), ("rho", rho)))
        if (phi_liquid is None) == (volumes is None):
            raise NonstickError("give either phi_liquid or volumes=(faces, cells, edges)")
        if phi_solid is not None and fluid is not None:
            raise NonstickError("give either phi_solid or fluid masks, not both")
        if distance is not None and fluid is None:
            raise NonstickError("distance belongs to fluid masks; give phi_solid alone, or fluid and distance")
        if volumes is None:
            phi_liquid = checked_level_set(phi_liquid, cells)
        else:
            volumes = checked_volumes(every, volumes)
        #: the cells that are laid out: those around the liquid
        self.window, self._cells = _window(cells, phi_liquid, volumes, whole), cells
        #: their grid
        self.grid = grid = FaceGrid.of(self.window.shape)
        m, k = (np.zeros(3 * grid.P), np.zeros(4 * grid.P))
        mass, stress = m.reshape(3, *grid.padded), k.reshape(4, *grid.padded)
        self.viscosity = checked_viscosity(every, viscosity)
        per_mu = coefficient(self.dt, self.dx, self.rho)
        scale = float(self.viscosity) * per_mu if self.viscosity.ndim == 0 else None
        # V becomes 2μ V dt/(ρ dx²) at cells, μ V dt/(ρ dx²) at edges
        factors = (2 * scale, scale) if scale is not None else (2 * per_mu, per_mu)
        if volumes is None:
            volumes_from_level_set(grid, mass, stress, phi_liquid, self.window, factors)
        else:
            volumes_as_given(grid, mass, stress, volumes, self.window, factors)
        varying = None
        if scale is None:
            varying = np.ascontiguousarray(self._part(self.viscosity)).reshape(grid.cells)
            times_viscosity(grid, stress, varying, self.harmonic)
        self.fluid = fluid_faces(every, phi_solid, fluid)
        if solid_velocity is not None:
            solid_velocity = self._pad(self._checked("solid_velocity", solid_velocity))
        self._solid_velocity = solid_velocity
        padded = self._pad(self.fluid, np.bool_).reshape(3, *grid.padded)
        #: the drag of walls whose distance is known, or None
        self.drag: WallDrag | None = None
        if phi_solid is not None or distance is not None:
            walls = self._pad(face_means(every, phi_solid) if distance is None else self._checked("distance", distance))
            self.drag = drag_at_walls(grid, self._shortened(mass), stress, padded, walls.reshape(padded.shape))
            np.add.at(m, self.drag.face, self.drag.strength)
            del walls  # it is as large as the velocity
        active = unknown_faces(grid, mass, stress, [self._part(f) for f in self.fluid])
        strength = None if varying is None else varying * per_mu
        self.system = FaceSystem(grid, m, k, active, scale, padded, strength)
        self.operator = ViscosityOperator(self.system)
        b = self._right_hand_side()
        self.problem = ViscousBox(self.operator, b, self.scale_of(b))

    @property
    def box(self) -> ViscousBox:
        """Deprecated: the same as `problem`."""
        return deprecated(self, "box", "problem")

    @property
    def given(self) -> tuple[np.ndarray, ...]:
        """Deprecated: the same as `velocity`."""
        return deprecated(self, "given", "velocity")

    @property
    def faces(self) -> np.ndarray:
        """(n, 1 + d): component and grid coordinates of every unknown; u, then v, then w, each in C order."""
        return self.operator.faces + np.array([0, *self.window.low])

    def advected(self) -> np.ndarray:
        """The given velocity on the unknowns: the initial guess of every solver (§7)."""
        return self._gather(self.velocity)

    def first_guess(self):
        return self.advected()

    def as_vector(self, x0):
        """A vector over the unknowns, unchanged, or the vector taken from face arrays (u, v[, w])."""
        return self._gather(x0) if isinstance(x0, (tuple, list)) and len(x0) == self.grid.dimension else x0

    def with_fields(self, solution):
        return extended(ViscositySolution, solution, source=self)

    def correct_walls(self, velocity: Sequence[np.ndarray]) -> float:
        """Add to the right-hand side what the matrix, to be symmetric, leaves out at walls not aligned with the grid.

        Parameters
        ----------
        velocity : tuple of ndarray
            Face arrays close to the solution: the velocity of a first solve.

        Returns
        -------
        float
            The largest change, in the units of the residual. If it is not small, solve again: the liquid then slips at
            tilted walls by a tenth of what it would.
        """
        if self.drag is None:
            return 0.0
        system, x = self.system, self._pad(velocity)
        moved = self._pad(v * ~f for v, f in zip(self.velocity, self.fluid))
        pull = self.drag.strength * (x[self.drag.face] - self.drag.speed(moved, self._solid_velocity))
        b = self._right_hand_side() - system.gather(self.drag.tilt.stress(x, pull, self.drag, self._solid_velocity))
        change = float(np.abs(b - self.problem.b).max(initial=0.0)) / (self.problem.scale or 1.0)
        self.problem = ViscousBox(self.operator, b, self.problem.scale)
        return change

    def with_unknowns(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        """Face arrays: x on the unknowns, the given velocity elsewhere."""
        grid, out = self.grid, tuple(v.copy() for v in self.velocity)
        padded = self._pad(self.velocity)
        self.system.scatter(x, padded)
        box = padded.reshape(3, *grid.padded)
        for a, values in zip(grid.axes, out):
            self._part(values)[...] = grid.user(box[a][grid.face_window(a)])
        return out

    def _shortened(self, mass: np.ndarray) -> np.ndarray:
        """The masses that walls shorten."""
        return mass

    def _pad(self, faces: Iterable[np.ndarray], dtype=np.float64) -> np.ndarray:
        """A padded vector of face arrays of the whole grid, of which no more than one need be there at a time."""
        grid = self.grid
        out = np.zeros((3, *grid.padded), dtype)
        for a, values in zip(grid.axes, faces):
            grid.user(out[a][grid.face_window(a)])[...] = self._part(values)
        return out.ravel()

    def _part(self, values: np.ndarray) -> np.ndarray:
        """The part of a field of the whole grid that is laid out."""
        return self.window.part(values, self._cells)

    def scale_of(self, b: np.ndarray, rows: np.ndarray | None = None) -> float:
        """max|b|, where walls count as if they were a cell away: a wall close to a face makes its row large.

        `rows` is a mask of the rows that count; None: all.
        """
        size = b
        if self.drag is not None and b.size:
            drag = self.system.zeros()
            np.add.at(drag, self.drag.face, self.drag.strength)
            size = self.system.gather(drag)
            size /= self.system.gather(self.system.diagonal)
            np.subtract(1.0, size, out=size)
            size *= b
        return _peak(size if rows is None else size[rows])

    def _checked(self, name: str, faces: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Face arrays that a user gives."""
        return face_arrays(name, faces, self._cells, finite=True)

    def _gather(self, faces: Sequence[np.ndarray]) -> np.ndarray:
        return self.system.gather(self._pad(faces))

    def _right_hand_side(self) -> np.ndarray:
        system = self.system
        velocity = self._pad(self.velocity)
        b = system.gather(velocity)
        b *= system.gather(system.m)
        before = None if self.drag is None else velocity[self.drag.face]
        assert system.fluid is not None
        velocity *= ~system.fluid.reshape(-1)  # what is left is the motion of the solids
        if velocity.any():
            b -= system.gather(system.apply(velocity, system.zeros()))
        if self.drag is not None:  # it pulls towards the wall's velocity, not towards the one before the step
            pull = system.zeros()
            change = self.drag.speed(velocity, self._solid_velocity) - before
            np.add.at(pull, self.drag.face, self.drag.strength * change)
            b += system.gather(pull)
        return b


def _peak(values: np.ndarray) -> float:
    """max|values|, without a temporary array."""
    return float(max(values.max(initial=0.0), -values.min(initial=0.0)))


def deprecated(problem, old: str, new: str):
    """The attribute under its new name, and a warning about the old one."""
    warnings.warn(f"{type(problem).__name__}.{old} is now .{new}", DeprecationWarning, stacklevel=3)
    return getattr(problem, new)


def grid_of(name: str, faces: Sequence[np.ndarray]) -> tuple[int, ...]:
    """The number of cells along each axis of a grid with these face arrays, by the first of them."""
    arrays = sequence(name, faces)
    d = len(arrays)
    if d not in (2, 3) or any(a.ndim != d for a in arrays) or min(arrays[0].shape) < 1 or len(arrays[0]) < 2:
        raise NonstickError(f"{name} must be two 2D arrays (u, v) or three 3D arrays (u, v, w)")
    return tuple(n - (axis == 0) for axis, n in enumerate(arrays[0].shape))


def _window(cells: tuple[int, ...], phi: np.ndarray | None, volumes: Volumes | None, whole: bool) -> IndexBox:
    if whole:
        return IndexBox.whole(cells)
    if volumes is None:
        assert phi is not None
        return window_of_liquid(phi)
    faces, middles, edges = volumes
    return window_around([*faces, middles, *edges], cells)
