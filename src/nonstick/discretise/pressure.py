"""The pressure equation of a liquid with a free surface among solids, as a box problem.

For every liquid cell c (phi < 0) with an open face, with open fractions w (Batty, Bertails, Bridson 2007):

    sum_f w_f dt/(rho dx²) (p_c - p_f) = source - div,    div = sum_f ±[w u + (1 - w) u_solid]/dx

where `source` is the wanted divergence of the liquid (zero unless liquid is added), and p_f is the neighbour's
pressure. At a free surface p_f is the ghost value that makes p vanish at the surface: (p_c - p_f) = p_c/theta with
theta = phi_c/(phi_c - phi_n) >= 0.01 (Enright and Fedkiw 2002). Cells of the chosen `walls` obey 0 <= p ⟂ (divergence
after the update) >= 0: liquid may leave a wall, but is never pulled to it. Air has pressure 0.

There is no pressure beyond the edge of the grid, so its faces enter the right-hand side only. With `phi_solid` (or
without any solid) the grid is a box with closed walls there, which move with `solid_velocity`. With `weights`, an open
face on the edge is an inflow or outflow with its given velocity. Where liquid should meet air at the edge, add a layer
of air cells.

With `mass`, the mass of the liquid on every face, the projection is the one that is orthogonal in these masses: it
keeps the momentum that they carry and adds no energy, whatever they are. All cells that hold liquid are unknowns then,

    sum_f w_f²/m_f dt/(rho dx²) (p_c - p_f) = source - div,

with p_f = 0 in air. The unknown is the pressure times the liquid fraction of the cell: its mean over the cell, air
included. Ghost-fluid is the case m = w theta.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field

import numpy as np

from ..core import validate
from ..core.options import suggesting
from ..errors import NonstickError
from ..grid.faces import FaceField, lifted
from ..grid.fractions import centre_distance, open_part, wall_cells
from ..grid.levelset import THETA_MIN
from ..operators.rows import Rows
from ..operators.stencil import StencilOperator
from ..problem.box import BoxProblem, WallEdges
from ..problem.solution import Solution
from ._moments import hat_fields
from ._pressure import TRACE, _cells_with_liquid, _mass_rows, _mass_update, _pressure_rows, _pressure_update
from .base import OnCells, extended
from .coupling import Body, Coupling, MovedBody
from .fields import (
    Faces,
    children,
    coarse_fluxes,
    coarse_phi,
    coefficient,
    face_arrays,
    liquid_over_cells,
    open_cells,
    open_faces,
    positive,
    wall_area,
)

#: coarse levels on which air bubbles survive (Chentanez–Müller's C)
_BUBBLE_LEVELS = 2


@dataclass(repr=False)
class PressureSolution(Solution):
    """A solution with its fields on the grid."""

    #: pressure over the grid, zero where there is no unknown
    pressure: np.ndarray = field(default_factory=lambda: np.zeros(()), repr=False)
    #: velocity after the update, one array per axis
    velocity: Faces = field(default=(), repr=False)
    #: the bodies after the update, in the order they were given
    bodies: list[MovedBody] = field(default_factory=list, repr=False)


class PressureProblem(OnCells):
    """One pressure solve of a liquid with a free surface among solids.

    Parameters
    ----------
    phi_liquid : ndarray
        Signed distance at cell centres, negative in liquid; used as given.
    velocity : tuple of ndarray
        (u, v) or (u, v, w) on faces.
    dt, dx, rho : float
        Time step, cell size, density.
    phi_solid : ndarray, optional
        Signed distance of the solid at nodes, negative inside.
    weights : tuple of ndarray, optional
        Open fraction of every face, one array per axis, in place of `phi_solid`. Without either, the grid is an empty
        closed box.
    solid_velocity : tuple of ndarray, optional
        Velocity of solids on faces, like `velocity`; at rest if not given.
    walls : str or ndarray of bool
        Which cells may separate: "cut", "solid", "edge", "all", "none", or a boolean array over cells.
    adhesion : float or ndarray, optional
        The tension (Pa) that a wall can hold before the liquid separates; a number or an array over cells.
    separation : float or ndarray, optional
        Velocity at which walls push liquid off (Andersen eq. 48); a number or an array over cells.
    source : float or ndarray, optional
        Volume added per volume and second (1/s): the divergence that liquid has after the update; a number or an array
        over cells.
    mass : tuple of ndarray, optional
        Mass of the liquid on faces, 1 on an open face inside the liquid; see above.
    fraction : ndarray, optional
        Liquid fraction of cells, read with `mass`; by default that of `phi_liquid`.
    bodies : sequence of Body, or Coupling
        Rigid bodies moved by the pressure (`nonstick.discretise.Body`), in addition to the static solids above. Liquid
        may separate in the cells they cut, as at other walls. A `Coupling` must have been made for these solids.

    Examples
    --------
    Water at rest under a ceiling, after a step of gravity: it may leave the ceiling, so no pressure holds it there.

    >>> import numpy as np, nonstick
    >>> phi = np.full((4, 4), -1.0)
    >>> phi[:, 0] = 1.0  # a layer of air at the bottom
    >>> u, v = np.zeros((5, 4)), np.full((4, 5), -0.1)
    >>> problem = nonstick.PressureProblem(phi_liquid=phi, velocity=(u, v), dt=0.01, dx=0.25, walls="all")
    >>> solution = problem.solve()
    >>> solution.converged, float(solution.pressure.max())
    (True, 0.0)
    """

    @suggesting
    def __init__(
        self,
        *,
        phi_liquid: np.ndarray,
        velocity: Faces,
        dt: float,
        dx: float,
        rho: float = 1000.0,
        phi_solid: np.ndarray | None = None,
        weights: Faces | None = None,
        solid_velocity: Faces | None = None,
        walls: str | np.ndarray = "cut",
        adhesion: np.ndarray | float | None = None,
        separation: np.ndarray | float | None = None,
        source: np.ndarray | float | None = None,
        mass: Faces | None = None,
        fraction: np.ndarray | None = None,
        bodies: Sequence[Body] | Coupling = (),
    ):
        for name, value in (("dt", dt), ("dx", dx), ("rho", rho)):
            positive(value, name)
        phi = liquid_over_cells(phi_liquid)
        if not phi.min() > -np.inf:  # the minimum of NaN and any number is NaN
            raise NonstickError("phi_liquid holds NaN or -inf")
        shape = phi.shape
        velocity = face_arrays("velocity", velocity, shape)
        phi_solid = None if phi_solid is None else validate.numbers(phi_solid, "phi_solid")
        solid = None if solid_velocity is None else face_arrays("solid_velocity", solid_velocity, shape)
        weights = open_faces(phi_solid, weights, shape)
        if mass is not None:
            mass = face_arrays("mass", mass, shape)
            if not all((m >= 0.0).all() for m in mass):  # NaN fails too
                raise NonstickError("mass must not be negative or NaN")
            fraction = hat_fields(phi)[0].reshape(shape) if fraction is None else validate.numbers(fraction, "fraction")
            if fraction.shape != shape:
                raise NonstickError(f"fraction must be an array over cells of shape {shape}, not {fraction.shape}")
        coupling = Coupling.of(bodies, weights, solid, shape, float(dx))
        if coupling is not None:
            if isinstance(walls, str) and walls == "edge":
                raise NonstickError("walls='edge' cannot be combined with bodies: take walls='cut' or 'solid'")
            weights, solid = coupling.weights, coupling.solid_velocity()  # faces the bodies cover are closed
        self.phi_liquid = phi
        self.shape: tuple[int, ...] = shape
        self.velocity, self.weights, self.solid_velocity = velocity, weights, solid
        self.dt, self.dx, self.rho = float(dt), float(dx), float(rho)
        self.phi_solid, self.walls = phi_solid, walls
        self.adhesion, self.separation, self.source = adhesion, separation, source
        self.mass, self.fraction = mass, fraction
        self.coupling = coupling
        #: number of coarsenings so far
        self._depth = 0
        self._build()

    # -- the box problem ------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        return len(self.shape)

    def as_vector(self, x0):
        """A first guess may be a grid of pressures."""
        x0 = validate.numbers(x0, "x0")
        return self.unknowns_of(x0.astype(float)) if x0.shape == self.shape else x0

    def unknowns_of(self, pressure: np.ndarray) -> np.ndarray:
        """The vector of a pressure over the grid."""
        values = self.rows.from_grid(pressure)
        return values if self.fraction is None else values * self.rows.from_grid(self.fraction)

    def with_fields(self, solution: Solution) -> PressureSolution:
        found = self.rows.to_grid(solution.x)
        pressure = found if self.fraction is None else found / np.maximum(self.fraction, TRACE)
        moved = self.moved(pressure)
        velocity = self._updated(pressure if self.mass is None else found, moved)
        return extended(PressureSolution, solution, pressure=pressure, velocity=velocity, bodies=moved)

    def moved(self, pressure: np.ndarray) -> list[MovedBody]:
        """The bodies after this pressure has acted on them."""
        if self.coupling is None:
            return []
        bodies = self.problem.A.bodies
        assert bodies is not None
        return self.coupling.moved(bodies, self.unknowns_of(np.asarray(pressure, dtype=np.float64)), self.dt)

    def update(self, pressure: np.ndarray, moved: list[MovedBody] | None = None) -> Faces:
        """u - dt/rho grad p, with the ghost-fluid gradient at the surface.

        Closed faces that touch liquid take the solid velocity; faces that do not touch liquid are unchanged. In the
        cell of an unknown the divergence of the result is `dual`, plus `source` if it is given.
        """
        moved = self.moved(pressure) if moved is None else moved
        return self._updated(pressure if self.mass is None else self.rows.to_grid(self.unknowns_of(pressure)), moved)

    def _updated(self, pressure: np.ndarray, moved: list[MovedBody]) -> Faces:
        """`update`; where masses are given, the pressure is that of the unknowns: times the liquid fractions."""
        given = self._solid_velocity(moved)
        solid, weights = _at_rest() if given is None else _three(given), _three(self.weights)
        new = FaceField.of([np.array(u, dtype=np.float64, order="C") for u in self.velocity])
        factor = self.dt / (self.rho * self.dx)
        if self.mass is not None:
            p, mass = pressure.reshape(self._liquid.shape), _three(self.mass)
            for axis, u in new.each():
                _mass_update(u, p, self._liquid, weights[axis], mass[axis], solid[axis], factor, axis)
            return new.user
        phi, p = (np.ascontiguousarray(a, dtype=np.float64) for a in (self.phi_liquid, pressure))
        for axis, u in new.each():
            # an axis between what lies before and behind it
            outer, inner, n = int(np.prod(u.shape[:axis])), int(np.prod(u.shape[axis + 1 :])), u.shape[axis] - 1
            cell, face = (outer, n, inner), (outer, n + 1, inner)
            s = solid[axis] if given is None else solid[axis].reshape(face)
            parts = p.reshape(cell), phi.reshape(cell), weights[axis].reshape(face), s
            _pressure_update(u.reshape(face), *parts, factor, THETA_MIN)
        return new.user

    def _solid_velocity(self, moved: list[MovedBody]) -> Faces | None:
        """Velocity of solids on faces, with the motions of the bodies after the solve."""
        if self.coupling is None or not moved:
            return self.solid_velocity
        return self.coupling.solid_velocity([np.append(m.velocity, m.spin) for m in moved])

    def divergence(self, velocity: Faces, moved: list[MovedBody] | None = None) -> np.ndarray:
        """Divergence of a velocity in every cell, moving solids included: the discrete one of the equation.

        Bodies move as given to the problem, or as given by `moved`.
        """
        total = np.zeros(self.shape)
        solid = self._solid_velocity(moved or [])
        for axis, u in enumerate(velocity):
            s = 0.0 if solid is None else solid[axis]
            w = self.weights[axis]
            total += np.diff(np.where(w > 0, w * u, 0.0) + (1.0 - w) * s, axis=axis)
        return total / self.dx

    # -- building -------------------------------------------------------------------------------------

    def _build(self) -> None:
        A, b = self._assemble()
        if not np.isfinite(b).all():
            raise NonstickError("velocity or solid_velocity holds NaN or infinite values at the liquid")
        centre = self._centre() if isinstance(self.walls, str) and self.walls in ("solid", "edge") else None
        wall = self.rows.from_grid(wall_cells(self.walls, self.weights, centre, self.shape))
        lower = np.full(self.rows.n, -np.inf)
        if self.adhesion is None:
            lower[wall] = 0.0
        else:
            held = self._strength("adhesion", self.adhesion)
            lower[wall] = -(held if self.fraction is None else held * self.rows.from_grid(self.fraction))[wall]
        self._lower = lower
        wanted = self._wanted_divergence()
        if wanted is not None:
            b += wanted
        edges = self._edges(A, centre) if isinstance(self.walls, str) and self.walls == "edge" else None
        # The box problem coarsens through a copy of this object that holds no reference to the box problem. With
        # references in both directions, the arrays of every step would stay until the garbage collector runs.
        twin = copy(self)
        coupled = A if self.coupling is None else self.coupling.couple(A, self.rows, self.dt, self.rho)
        self.problem = BoxProblem(coupled, b, lower, np.inf, coarser=lambda: twin.coarsen().problem, edges=edges)

    def _wanted_divergence(self) -> np.ndarray | None:
        """The divergence (1/s) that liquid has after the update: its source, and what walls push off."""
        out = None if self.source is None else self.per_cell("source", self.source).copy()
        if self.separation is not None:
            wall, area = np.isfinite(self._lower), self.rows.from_grid(wall_area(self.weights))
            pushed = np.where(wall, self._strength("separation", self.separation) * area / self.dx, 0.0)
            out = pushed if out is None else out + pushed
        return out

    def wanted_divergence(self) -> np.ndarray | None:
        """The divergence (1/s) that liquid has after the update, over cells; None: zero."""
        wanted = self._wanted_divergence()
        return None if wanted is None else self.rows.to_grid(wanted)

    def _assemble(self) -> tuple[StencilOperator, np.ndarray]:
        """The equation, and its unknowns."""
        weights, velocity = _three(self.weights), _three(self.velocity)
        solid = _at_rest() if self.solid_velocity is None else _three(self.solid_velocity)
        phi = lifted(np.ascontiguousarray(self.phi_liquid, dtype=np.float64))
        faces, numbers = (velocity.arrays, solid.arrays), (coefficient(self.dt, self.dx, self.rho), self.dx)
        if self.mass is None:
            self.rows = Rows.from_mask(open_cells(self.weights, self.shape) & (self.phi_liquid < 0))
        else:
            self._liquid = np.empty(phi.shape, np.int8)
            fraction = np.ascontiguousarray(self.fraction, dtype=np.float64)
            _cells_with_liquid(self._liquid, lifted(fraction), phi, *weights)
            self.rows = Rows.from_mask(self._liquid.reshape(self.shape) > 0)
        cells, n = self.rows.cells, self.rows.n
        couplings, d, b = (np.empty(n), np.empty(n), np.empty(n)), np.empty(n), np.empty(n)
        if self.mass is None:
            _pressure_rows(couplings, d, b, cells, phi, weights.arrays, *faces, *numbers, THETA_MIN)
        else:
            shares, mass = weights.arrays, _three(self.mass).arrays
            _mass_rows(couplings, d, b, cells, self._liquid, shares, mass, *faces, *numbers)
        return StencilOperator(self.rows, couplings, d), b

    def _centre(self) -> np.ndarray:
        """Solid distance at cell centres. If no nodes are given, a value of the same sign from the face fractions."""
        if self.phi_solid is None:
            return open_part(self.weights) - 0.5
        centre = centre_distance(self.phi_solid)
        for c in self.coupling.covered if self.coupling is not None else ():
            centre[c.window()] = np.minimum(centre[c.window()], centre_distance(c.phi))
        return centre

    def _strength(self, name: str, value) -> np.ndarray:
        """The same as `per_cell`, for quantities that must not be negative."""
        if (validate.numbers(value, name) < 0).any():
            raise NonstickError(f"{name} must not be negative")
        return self.per_cell(name, value)

    def _edges(self, A: StencilOperator, centre) -> WallEdges:
        """Pairs of coupled unknowns on either side of the wall; theta is measured from the liquid side."""
        here = self.rows.from_grid(centre)
        right = self.rows.neighbours()
        a, b, theta = [], [], []
        for axis in range(3):
            t = np.flatnonzero(A.weights[axis] > 0)
            n = right[t, axis]
            across = (here[t] < 0) != (here[n] < 0)
            t, n = t[across], n[across]
            wet = here[t] >= 0
            liquid, solid = np.where(wet, t, n), np.where(wet, n, t)
            a.append(liquid)
            b.append(solid)
            theta.append(here[liquid] / (here[liquid] - here[solid]))
        return WallEdges(np.concatenate(a), np.concatenate(b), np.concatenate(theta))

    # -- coarser grids --------------------------------------------------------------------------------

    def coarsen(self) -> PressureProblem:
        """The same liquid on a grid twice as coarse (Chentanez–Müller, algorithm 1 lines 1-7).

        A coarse face averages the open fractions of its 4 (2D: 2) fine faces, and its velocity averages their fluxes.
        phi is the mean over the children that have an open face. (The other children are solid and have no phi; without
        them the paper's extrapolation into solids is not needed.) On the two finest coarse levels, where signs differ,
        phi is the mean of the positive values, so that air bubbles survive. A cell is constrained if any child is, and
        its source is the mean over its children. Odd sizes repeat their last layer. Bodies become solids.
        """
        out = copy(self)
        out._depth, out.dx = self._depth + 1, 2 * self.dx
        out.weights, out.velocity, out.solid_velocity = coarse_fluxes(self.weights, self.velocity, self.solid_velocity)
        keep_bubbles = out._depth <= _BUBBLE_LEVELS
        out.phi_liquid = coarse_phi(self.phi_liquid, self.weights, self.dx, keep_bubbles)
        out.shape = out.phi_liquid.shape
        out.walls, out.adhesion = self._coarse_walls()
        if self.source is not None:
            out.source = children(self.rows.to_grid(self.per_cell("source", self.source))).mean(axis=0)
        if self.mass is not None and self.fraction is not None:
            out.mass = coarse_fluxes(self.mass, self.velocity, None)[0]
            out.fraction = children(np.asarray(self.fraction, dtype=np.float64)).mean(axis=0)
        out.phi_solid = out.separation = out.coupling = None
        out._build()
        return out

    def _coarse_walls(self) -> tuple[str | np.ndarray, np.ndarray | None]:
        """The coarse cells in which liquid may separate, and the tension that their walls hold."""
        if isinstance(self.walls, str) and self.walls in ("edge", "none", "all"):
            return self.walls, None
        bound = np.max(children(self.rows.to_grid(self._lower, fill=-np.inf)), axis=0)
        walls = np.isfinite(bound)
        return walls, None if self.adhesion is None else np.where(walls, -bound, 0.0)


def _three(faces: Faces) -> FaceField:
    """Faces on three axes, as kernels take them; a 2D grid has closed faces along its first axis."""
    own = FaceField.of([np.ascontiguousarray(f, dtype=np.float64) for f in faces])
    if len(faces) == 3:
        return own
    return FaceField([np.zeros((2, own[2].shape[1], own[1].shape[2])), *list(own)[1:]])


def _at_rest() -> FaceField:
    """The velocity of solids at rest, as kernels take it."""
    return FaceField([np.zeros((1, 1, 1))] * 3)
