"""One implicit step of pressure and viscosity together: the Stokes step of a liquid with a free surface among solids.

Unknowns are the velocities u of the faces F and the pressures of the cells C. With the hat mass m_f of a face
(`_moments`), its open share w_f, the liquid fractions V of cells and edges, and dx = ρ = dt = 1, the step minimises

    Σ_F ½ w_f m_f (u_f − u*_f)²  +  Σ_C μ_c V_c Σ_a (δ_a u_a)²  +  ½ Σ_edges μ_e V_e γ_e²  +  drag of no-slip walls

subject to  (B u)_c := Σ_f ± [w_f u_f + (1 − w_f) u_solid] = s_c,  in cells where liquid may separate from a wall
(B u)_c ≥ s_c.  The multiplier of the constraint is p̂_c = V_c p_c:

    A u − Bᵀ p̂ = M u*,    B u = s     or  B u ≥ s ⟂ p̂ ≥ −adhesion V_c          A = M + viscosity + drag,  M = diag(w m)

- C are all cells with liquid (V_c > 1e-3) and an unknown face, whether their centre is liquid or not. So every stress
  has a pressure to balance it, and the surface is free of traction: a thread stretches with 3μ, a sheet with 4μ.
- F are the open faces of these cells. All others, in air, do not exist, nor do the edges that touch one of them: with
  massless unknowns a multigrid cycle fails.
- With hat masses, liquid at rest under any plane among any solids is in exact balance: ∫(p div ψ + ρ g·ψ) = 0 for every
  ψ of the Raviart–Thomas element if ∇p = ρg and p vanishes at the surface. (Box fractions, Larionov et al. 2017: 0.38
  g dt.)
- A cell that no open face joins to air is constrained only if its centre is liquid: otherwise a row of cells that are
  half full under a ceiling could not fill up.

At edges the viscosity is the harmonic mean of the cells: the solver's work then does not grow with jumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from ..core import rounding, validate
from ..core.options import suggesting
from ..errors import NonstickError
from ..grid.box import IndexBox
from ..grid.faces import ends, lower, upper
from ..grid.fractions import wall_cells
from ..operators.base import Operator
from ..operators.faces import FaceGrid
from ..operators.rows import Rows
from ..operators.saddle import Saddle
from ..operators.stencil import StencilOperator
from ..problem.box import BoxProblem
from ..problem.solution import Solution
from ._moments import hat_masses, with_surroundings
from ._pressure import TRACE
from .base import Discretised, extended
from .coupling import Body, Coupling, MovedBody
from .fields import (
    Faces,
    checked_array,
    checked_level_set,
    edge_volumes,
    face_arrays,
    face_means,
    liquid_over_cells,
    open_faces,
    positive,
    window_of_liquid,
)
from .stokes_bodies import BodiesInLiquid, ViscousBlock
from .viscosity import ViscosityProblem
from .viscosity_bodies import ViscosityWithBodies


class StokesBox(BoxProblem):
    """The saddle point as a box problem in (u, p̂): only pressures have bounds.

    Its KKT residual is the largest momentum or flux that is not balanced, both in units of a velocity.
    """

    may_float = False

    def __init__(self, K: Operator, b: np.ndarray, lower: np.ndarray, scale: float):
        super().__init__(K, b, lower, np.inf)
        self.scale = scale or self.scale

    @property
    def traits(self) -> frozenset[str]:
        return frozenset({"saddle"})


@dataclass(repr=False)
class StokesSolution(Solution):
    """A solution with its fields on the grid."""

    #: the `StokesProblem` it solves
    source: StokesProblem = field(default=None, repr=False)  # type: ignore[assignment]

    @property
    def velocity(self) -> Faces:
        """Solved on the unknown faces, that of the solid on closed faces, as given elsewhere."""
        return self.source.velocity_of(self.x)

    @property
    def pressure(self) -> np.ndarray:
        """Pressure over the grid (Pa), zero where there is no unknown."""
        return self.source.pressure_of(self.x)

    @property
    def bodies(self) -> list[MovedBody]:
        """The bodies after the step, in the order they were given."""
        source = self.source
        return [] if source.bodies is None else source.bodies.moved(self.x[: source.n - source.rows.n])

    @property
    def contact(self) -> np.ndarray:
        """int8 over the grid: -1 in cells where liquid separates from a wall; `active` of the next solve."""
        return self.source.to_grid(self.active[-self.source.rows.n :] if self.source.rows.n else np.zeros(0, np.int8))

    @property
    def unknowns(self) -> int:
        """Velocities and pressures."""
        return self.x.size

    @property
    def separates(self) -> bool:
        """True if liquid lets go of a wall."""
        return bool(np.any(self.contact < 0))


class StokesProblem(Discretised):
    """One step of pressure and viscosity on a staggered grid, 2D or 3D.

    Parameters
    ----------
    phi_liquid : ndarray
        Level set at cell centres, negative in liquid, continued into solids.
    velocity : tuple of ndarray
        (u, v[, w]) before the step, forces included. An open face on the edge of the grid keeps it.
    viscosity : float or ndarray
        Dynamic viscosity, a number or an array over cells; zero is allowed in parts, or everywhere: liquid then slips.
    dt, dx, rho : float
        Time step, cell size, density.
    phi_solid : ndarray, optional
        Signed distance of the solids at nodes, negative inside. Liquid does not slip on them.
    weights : tuple of ndarray, optional
        Open fraction of every face, in place of `phi_solid`. Without either, the grid is a closed box.
    solid_velocity : tuple of ndarray, optional
        Velocity of solids on faces; at rest if not given.
    fluid : tuple of ndarray of bool, optional
        With `weights`: False on faces that a no-slip wall holds, which have the velocity of the solid.
    distance : tuple of ndarray, optional
        With `fluid`: distance of the faces to no-slip walls, as for `ViscosityProblem`. Without it the liquid has the
        velocity of the solid in the middles of the faces that are held.
    edges : tuple of ndarray, optional
        Liquid fractions of edges in place of those of `phi_liquid`; zero where no shear acts, as along a wall on which
        liquid slips.
    slip : bool
        True: liquid slips on all walls.
    walls : str or ndarray of bool
        Cells in which liquid may separate from walls, as for `PressureProblem`.
    adhesion : float or ndarray, optional
        The tension (Pa) that a wall can hold before the liquid separates; a number or an array over cells.
    released : ndarray of bool, optional
        Cells in which liquid has left its wall: no stress holds it there. Otherwise the gap that opens would count as
        strain. Take the cells that separate in the last step, or in a first solve: stress and contact at once are no
        complementarity problem, and policies would repeat.
    source : float or ndarray, optional
        Volume added per volume and second (1/s); a number or an array over cells.
    mass : tuple of ndarray, optional
        Mass of the liquid on faces, 1 on an open face inside the liquid, in place of hat mass times open share: that of
        the particles which carry the velocity. Forces that `velocity` includes must be in balance with it.
    bodies : sequence of Body, or Coupling
        Rigid bodies that the liquid moves, as for `PressureProblem`; `solution.bodies` are their motions.
    body_of_face : tuple of ndarray of int, optional
        The number of the body that closes or holds a face, -1 if none does; by default from the distances of bodies.

    Examples
    --------
    A drop of honey in free fall keeps its shape:

    >>> import numpy as np, nonstick
    >>> from nonstick.discretise import StokesProblem
    >>> x, y = np.meshgrid(np.arange(16) - 7.5, np.arange(16) - 7.5, indexing="ij")
    >>> u, v = np.zeros((17, 16)), np.full((16, 17), -0.1)
    >>> step = StokesProblem(
    ...     phi_liquid=np.hypot(x, y) - 5.0, velocity=(u, v), viscosity=10.0, dt=0.01, dx=0.01, rho=1400.0
    ... )
    >>> solution = step.solve()
    >>> solution.converged, solution.velocity[1][8, 6:10].round(6)
    (True, array([-0.1, -0.1, -0.1, -0.1]))
    """

    default_method = "stokes-auto"
    # Momentum against the largest one, as for viscosity.
    default_criterion = "papers"
    problem: StokesBox

    @suggesting
    def __init__(
        self,
        *,
        phi_liquid,
        velocity: Sequence[np.ndarray],
        viscosity,
        dt: float,
        dx: float,
        rho: float = 1000.0,
        phi_solid=None,
        weights: Faces | None = None,
        solid_velocity: Faces | None = None,
        fluid: Sequence[np.ndarray] | None = None,
        distance: Sequence[np.ndarray] | None = None,
        edges: Sequence[np.ndarray] | None = None,
        slip: bool = False,
        walls: str | np.ndarray = "none",
        adhesion=None,
        released=None,
        source=None,
        mass: Faces | None = None,
        bodies: Sequence[Body] | Coupling = (),
        body_of_face: Sequence[np.ndarray] | None = None,
    ):
        self.dt, self.dx, self.rho = (positive(x, n) for n, x in (("dt", dt), ("dx", dx), ("rho", rho)))
        phi = liquid_over_cells(phi_liquid)
        self.shape = shape = phi.shape
        phi = checked_level_set(phi, shape)
        if slip and (fluid is not None or edges is not None):
            raise NonstickError("slip frees all walls; give either slip or fluid and edges")
        if not np.any(validate.numbers(viscosity, "viscosity")):  # nothing holds liquid at walls
            slip, fluid, distance, edges = True, None, None, None
        if phi_solid is not None and fluid is not None:
            raise NonstickError("give either phi_solid or fluid masks, not both")
        self.velocity = face_arrays("velocity", velocity, shape)
        self.weights = open_faces(phi_solid, weights, shape)
        given = None if solid_velocity is None else face_arrays("solid_velocity", solid_velocity, shape)
        solid = tuple(np.zeros(w.shape) for w in self.weights) if given is None else given
        coupling = Coupling.of(bodies, self.weights, given, shape, self.dx)
        self.bodies = None if coupling is None else BodiesInLiquid(coupling, body_of_face)
        if self.bodies is not None:
            self.weights, solid = self.bodies.coupling.weights, self.bodies.known_velocity
        fluid, distance = self._free_of_walls(phi_solid, fluid, distance, slip)
        apart = np.zeros(shape, bool) if released is None else checked_array("released", released, shape).astype(bool)
        fluid = tuple(f | _either(apart, axis) for axis, f in enumerate(fluid))
        #: faces that may be unknowns: open, not held by a wall, not on the edge of the grid
        loose = tuple(f & (w > 0.0) for f, w in zip(fluid, self.weights))
        for axis, mask in enumerate(loose):
            mask[ends(axis)] = False
        if self.bodies is not None:
            self.bodies.own(loose)
            if given is not None:  # what no body holds moves as given, also next to bodies
                solid = tuple(np.where(f | (w <= 0.0) | (o >= 0), s, g) for f, w, o, s, g in
                              zip(fluid, self.weights, self.bodies.owner, solid, given))  # fmt: skip
        if distance is None:
            distance = tuple(np.where(f, 1.0, 0.0) for f in loose)

        window = window_of_liquid(phi)
        whole = self._weigh(phi, window, loose, mass)
        edges = self._sheared(edge_volumes(phi, window) if edges is None else edges, loose, slip, apart)
        #: the velocity of what is not liquid: solids, and open faces on the edge of the grid
        inflow = [f & (w > 0.0) & ~free for f, w, free in zip(fluid, self.weights, loose)]
        self._solid = tuple(np.where(i, w * v + (1.0 - w) * s, s) for i, w, v, s in
                            zip(inflow, self.weights, self.velocity, solid))  # fmt: skip
        before = tuple(np.where(u, v, np.where(f, 0.0, s)) for u, f, v, s in
                       zip(self.unknown, loose, self.velocity, self._solid))  # fmt: skip
        for f in before:
            if not np.isfinite(f).all():
                raise NonstickError("velocity or solid_velocity holds NaN or infinite values at the liquid")
        self._loose = loose
        fields = {
            "velocity": before, "viscosity": viscosity, "dt": dt, "dx": dx, "rho": rho, "distance": distance,
            "volumes": (self.mass, self.volume * (self.cells & ~apart), edges), "solid_velocity": given,
        }  # fmt: skip
        block: ViscosityProblem | ViscosityWithBodies
        self.viscous: ViscosityProblem
        if self.bodies is None:
            self.viscous = block = ViscousBlock(fluid=loose, **fields)
        else:
            held = [o >= 0 for o in self.bodies.owner]
            #: mass of the liquid that moves with bodies, on the faces that they hold
            self.carried = tuple(h * m for h, m in zip(held, whole))
            fields["velocity"] = tuple(np.where(h, v, f) for h, v, f in zip(held, self.velocity, before))
            block = self.bodies.block(loose, self.carried, **fields)
            self.viscous = block.liquid
        self._build(block, solid, walls, adhesion, source)

    def _free_of_walls(self, phi_solid, fluid, distance, slip: bool) -> tuple[Faces, Faces | None]:
        """The faces that no no-slip wall holds, and their distance to such walls if it is known."""
        if fluid is not None:
            return tuple(f.astype(bool) for f in face_arrays("fluid", fluid, self.shape)), distance
        if slip or (phi_solid is None and self.bodies is None):
            return tuple(np.ones(w.shape, bool) for w in self.weights), distance
        far = (np.full(w.shape, 1e3 * self.dx) for w in self.weights)
        found = tuple(far if phi_solid is None else face_means(FaceGrid.of(self.shape), phi_solid))
        found = found if self.bodies is None else self.bodies.distance(found)
        return tuple(d >= 0.0 for d in found), found

    def _weigh(self, phi: np.ndarray, window: IndexBox, loose: Faces, mass: Faces | None) -> Sequence[np.ndarray]:
        """The unknowns and their masses; returns the masses of all faces."""
        shape, part = self.shape, FaceGrid.of(window.shape)
        volume, hat = hat_masses(with_surroundings(phi, window), part.padded)
        self.volume = window.back(part.user(volume[part.window()]), shape)
        hats = [window.back(part.user(hat[a][part.face_window(a)]), shape) for a in part.axes]
        #: C, the cells with a pressure
        self.cells = self._cells(phi, loose)
        #: F, the faces with a velocity
        self.unknown = tuple(f & _either(self.cells, axis) for axis, f in enumerate(loose))
        whole = [w * m for w, m in zip(self.weights, hats)] if mass is None else face_arrays("mass", mass, shape)
        parts = zip(self.unknown, self.weights, whole)
        #: w m of the unknown faces, zero elsewhere
        self.mass = tuple(f * np.maximum(m, w * rounding.SINGLE) for f, w, m in parts)
        return whole

    def _sheared(self, edges: Sequence[np.ndarray], loose: Faces, slip: bool, apart: np.ndarray) -> Faces:
        """The liquid fractions of edges, without those on which no shear acts."""
        grid = FaceGrid.of(self.shape)
        shapes = [tuple(grid.cells[a] + grid.edge_shift(e)[a] for a in grid.axes) for e in grid.edges]
        edges = [checked_array("edges", e, s) for e, s in zip(edges, shapes)]
        ok = self.unknown if slip else tuple(u | ~f for u, f in zip(self.unknown, loose))
        inside = _inner_edges(edges, ok, grid, not slip)
        if not apart.any():
            return inside
        at_wall = _inner_edges([np.ones(s) for s in shapes], self.unknown, grid, False)
        parts = zip(inside, at_wall, grid.edges)
        return tuple(e * ((inner > 0.0) | ~_around(apart, axis)) for e, inner, axis in parts)

    def _cells(self, phi: np.ndarray, loose: Faces) -> np.ndarray:
        wet = np.zeros(self.shape, bool)
        for axis, face in enumerate(loose):
            wet |= _touched(face, axis)
        wet &= self.volume > TRACE
        to_air = np.zeros(self.shape, bool)
        for axis, face in enumerate(loose):
            to_air |= _touched(face & _either(~wet, axis), axis)
        return wet & (to_air | (phi < 0.0))

    def _build(self, block: ViscosityProblem | ViscosityWithBodies, solid: Faces, walls, adhesion, source) -> None:
        """The constraints B u = s, their bounds, and the box problem."""
        viscous = self.viscous
        window, grid, system = viscous.window, viscous.grid, viscous.system
        #: numbers of the cells C, within the window that is laid out
        self.rows = rows = Rows.from_mask(np.ascontiguousarray(window.part(self.cells, self.shape)))
        P, strides = grid.P, grid.strides
        cell = np.ravel_multi_index([i + 1 for i in np.unravel_index(rows.cells, rows.shape)], grid.padded)
        number = np.full(3 * P, -1, np.int32)
        number[system.positions()] = np.arange(system.n)
        inside = np.zeros(P, bool)
        inside[cell] = True
        open_share, mass = viscous._pad(self.weights), viscous._pad(self.mass)
        # the flux of what is not unknown: the closed part of unknown faces, and all of the others
        moved = [u.copy() for u in self.unknown]
        if self.bodies is not None:
            moved = [u | held for u, held in zip(moved, self.bodies.moved_faces())]
        known = viscous._pad(np.where(u, (1.0 - w) * s, f) for u, w, s, f in
                             zip(moved, self.weights, solid, self._solid))  # fmt: skip
        faces = [a * P + cell + side * strides[a] for a in grid.axes for side in (0, 1)]
        signs = [-1.0, 1.0] * grid.dimension
        column = np.stack([number[f] for f in faces], axis=1)
        value = np.stack([sign * open_share[f] for f, sign in zip(faces, signs)], axis=1)
        present = column >= 0
        start = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
        B = sp.csr_array((value[present], column[present], start), shape=(rows.n, system.n))
        # B M⁻¹ Bᵀ: the conductance of an unknown face is w²/(w m)
        conductance = np.divide(open_share**2, mass, out=np.zeros(mass.size), where=mass > 0.0)
        couplings = [np.zeros(rows.n) for _ in range(3)]
        for a in grid.axes:
            couplings[a] = conductance[a * P + cell + strides[a]] * inside[cell + strides[a]]
        schur = StencilOperator(rows, (couplings[0], couplings[1], couplings[2]), sum(conductance[f] for f in faces))
        if self.bodies is not None:
            where = np.full(self.shape, -1, np.int64)
            where[self.cells] = np.arange(rows.n)
            more = self.bodies.columns(where, self.weights)
            more.resize(rows.n, more.shape[1])
            B = sp.csr_array(sp.hstack([B, more]))
        K = Saddle(block.operator, B, self.mass_vector(), schur, grid.dimension)
        s = -np.sum([sign * known[f] for f, sign in zip(faces, signs)], axis=0)
        if source is not None:
            s += self.dx * self._per_cell("source", source)
        low = np.full(rows.n, -np.inf)
        wall = self.from_grid(wall_cells(walls, self.weights, np.ones(self.shape), self.shape))
        low[wall] = 0.0
        if adhesion is not None:
            tension = self._per_cell("adhesion", adhesion)
            if tension.min(initial=0.0) < 0.0:
                raise NonstickError("adhesion must not be negative")
            low[wall] = -(tension * self._units())[wall]
        #: what is wrong with the flux into liquid that no free surface bounds, in a sentence; "" if nothing is
        self.incompatible = self._make_compatible(K, s, low)
        b = np.concatenate([block.rhs, s])
        scale = max(block.problem.scale if block.n else 0.0, float(np.abs(s).max(initial=0.0)))
        #: the velocities before the step, and those of the bodies
        self._before = block.first_guess()
        self.problem = StokesBox(K, b, np.concatenate([np.full(block.n, -np.inf), low]), scale)

    def _make_compatible(self, K: Saddle, s: np.ndarray, low: np.ndarray) -> str:
        """Take the mean from s where constraints contradict each other, in place."""
        worst = 0.0
        for closed in K.closed:
            total, held = float(s[closed].sum()), not np.isfinite(low[closed]).any()
            if held or total > 0.0:  # liquid that may separate can have room to spare, but not too little
                s[closed] -= total / closed.size
                if abs(total) > 1e-9 * np.abs(s[closed]).sum() + 1e-14:
                    worst = max(worst, abs(total), key=abs)
        if not worst:
            return ""
        return (
            f"liquid without a free surface is compressed or expanded (by {worst / self.dx:.3g} cells a second), and "
            "no wall there lets it separate, so no solution exists; the mean of its flux was subtracted"
        )

    # -- fields and vectors ---------------------------------------------------------------------------

    def mass_vector(self) -> np.ndarray:
        """The mass of every unknown face."""
        return self.viscous._gather(self.mass)

    def _units(self) -> np.ndarray:
        """p̂ of a pressure of 1 Pa, for every unknown cell."""
        return self.from_grid(self.volume) * (self.dt / (self.rho * self.dx))

    def from_grid(self, values: np.ndarray) -> np.ndarray:
        """The values of the unknown cells."""
        return self.rows.from_grid(np.ascontiguousarray(self.viscous.window.part(values, self.shape)))

    def to_grid(self, values: np.ndarray) -> np.ndarray:
        """An array over the grid, zero in other cells."""
        return self.viscous.window.back(self.rows.to_grid(values), self.shape)

    def _per_cell(self, name: str, value) -> np.ndarray:
        value = validate.numbers(value, name)
        if value.ndim:
            checked_array(name, value, self.shape)
        if not np.isfinite(value).all():
            raise NonstickError(f"{name} must not be infinite or NaN")
        return self.from_grid(np.broadcast_to(value, self.shape).astype(float))

    def velocity_of(self, x: np.ndarray) -> Faces:
        """Face arrays of a vector of unknowns."""
        solved, solid = self.viscous.with_unknowns(x[: self.viscous.n]), self._solid
        if self.bodies is not None:
            motion = x[: self.n - self.rows.n]
            after, held = self.bodies.solid_velocity(motion), self.bodies.viscous.with_unknowns(motion)
            solid = tuple(np.where(o >= 0, h, np.where(~f & (w > 0.0), s, a)) for o, h, f, w, s, a in
                          zip(self.bodies.owner, held, self._loose, self.weights, solid, after))  # fmt: skip
        parts = zip(self.unknown, solved, self._loose, self.velocity, solid)
        return tuple(np.where(u, x, np.where(f, v, s)) for u, x, f, v, s in parts)

    def pressure_of(self, x: np.ndarray) -> np.ndarray:
        return self.to_grid(x[self.n - self.rows.n :] / self._units())

    def first_guess(self):
        """The given velocity without pressure, or zero if its residual is smaller: rough flow in thick liquid."""
        K, b = self.problem.A, self.problem.b
        guess = np.concatenate([self._before, np.zeros(self.rows.n)])
        assert K.units is not None
        moved = np.linalg.norm(K.units * self.problem.gradient(guess))
        return guess if moved <= np.linalg.norm(K.units * b) else np.zeros(self.n)

    def as_vector(self, x0):
        """A vector over the unknowns, or the vector of a pair: face arrays, and a pressure over cells."""
        if not (isinstance(x0, (tuple, list)) and len(x0) == 2 and isinstance(x0[0], (tuple, list))):
            return x0
        velocity, pressure = x0
        u = self._before.copy()
        u[: self.viscous.n] = self.viscous._gather(face_arrays("x0[0]", velocity, self.shape))
        return np.concatenate([u, self.from_grid(checked_array("x0[1]", pressure, self.shape)) * self._units()])

    def solve(self, method=None, *, x0=None, active=None, **stopping):
        """As `Discretised.solve`; `active` may be the `contact` of an earlier step, an array over cells."""
        if active is not None and np.shape(active) == self.shape:
            active = np.concatenate([np.zeros(self.n - self.rows.n, np.int8), self.from_grid(np.asarray(active))])
        return super().solve(method, x0=x0, active=active, **stopping)

    def with_fields(self, solution):
        out = extended(StokesSolution, solution, source=self)
        if self.incompatible and out.converged:
            out.converged, out.status, out.message = False, "infeasible", self.incompatible
        return out


def _either(cells: np.ndarray, axis: int) -> np.ndarray:
    """Faces next to a cell of the mask."""
    pad = [(int(a == axis),) * 2 for a in range(cells.ndim)]
    wide = np.pad(cells, pad)
    return lower(wide, axis) | upper(wide, axis)


def _around(cells: np.ndarray, e: int) -> np.ndarray:
    """Edges along axis e of three next to a cell of the mask; in 2D, nodes."""
    out = cells
    for axis in range(cells.ndim):
        if axis != e - (3 - cells.ndim):
            out = _either(out, axis)
    return out


def _touched(faces: np.ndarray, axis: int) -> np.ndarray:
    """Cells with a face of the mask."""
    return lower(faces, axis) | upper(faces, axis)


def _inner_edges(edges, ok: Faces, grid: FaceGrid, beyond: bool) -> tuple[np.ndarray, ...]:
    """The fractions of edges, zero where one of the four faces around an edge is not ok; `beyond`: outside the grid."""
    out = []
    for edge, e in zip(edges, grid.edges):
        keep = np.ones(edge.shape, bool)
        across = [a - grid.axes.start for a in grid.axes if a != e]
        for a, b in (across, across[::-1]):
            wide = np.pad(ok[a], [(int(k == b),) * 2 for k in range(len(ok))], constant_values=beyond)
            keep &= lower(wide, b) & upper(wide, b)
        out.append(edge * keep)
    return tuple(out)
