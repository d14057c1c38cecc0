"""The pressure stage: the problem of a step, started from the last solution, with other methods if one fails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .... import registry
from ....compositions import on_arrays
from ....discretise.base import extended
from ....discretise.pressure import PressureProblem, PressureSolution
from ....discretise.stokes import StokesSolution
from ....grid.box import IndexBox
from ....grid.faces import FaceField, lifted
from ....grid.fractions import cut_cells, wall_cells
from ....parallel.partition import Partition
from ....scenes.scene import Scene
from ....scenes.schema import SolverTable
from ....solvers.cascade import in_turn
from ..settings import STEP
from ..solids.on_grid import Solids
from .masses import Masses

#: tried in this order when the scene's own method misses its tolerance
STRONGER = ("auto", "pi-mg", "pi-pcg", "psor")
#: the same for walls = "edge", which few methods can treat; the first one replaces `auto`
STRONGER_EDGES = ("fmg", "psor", "pgs")


@dataclass
class PressureResult:
    """The result of a pressure solve, for the later stages of the step and its row of statistics."""

    problem: PressureProblem
    solution: PressureSolution
    kkt: float
    #: the scene's method
    asked: str
    #: unknowns of all processes
    unknowns: int

    @property
    def retried(self) -> bool:
        """True if another method took over."""
        return "finished_by" in self.solution.notes

    @property
    def method(self) -> str:
        """What found the solution."""
        return str(self.solution.notes.get("finished_by", self.asked))

    @property
    def pressure(self) -> np.ndarray:
        """On three axes; the problem and its solution have the user's."""
        return lifted(self.solution.pressure)

    @property
    def velocity(self) -> FaceField:
        """After the pressure has acted."""
        return FaceField.of(self.solution.velocity)


class PressureStage:
    """Solves the pressure of each step; the next step starts from the pressure and contact set of the last."""

    def __init__(self, solids: Solids, solver: SolverTable, density: float):
        self.solids, self.solver, self.density = solids, solver, density
        shape = solids.grid.three
        self.pressure = np.zeros(shape)
        self.active = np.zeros(shape, np.int8)
        #: cells cut by solids, if no solid moves
        self._cut: np.ndarray | None = None

    def follow(self, old: IndexBox) -> None:
        """Let pressure and contact set cover the grid, after they covered this box."""
        new = self.solids.partition.held.three()
        self.pressure, self.active = (old.three().moved(a, new) for a in (self.pressure, self.active))
        self._cut = None

    @property
    def at_edges(self) -> bool:
        """True if walls separate at the edges of cells (`walls.pressure = "edge"`), not in cells."""
        return isinstance(self.solids.mode, str) and self.solids.mode == "edge"

    def solve(
        self,
        phi: np.ndarray,
        velocity: FaceField,
        dt: float,
        masses: Masses,
        hold: np.ndarray | None = None,
        divergence: np.ndarray | None = None,
        keep_bodies: bool = False,
    ) -> PressureResult:
        """Solve for the pressure of one step; all arrays have three axes.

        Parameters
        ----------
        phi
            Distance to the surface at cell centres, in cells.
        velocity
            It is not changed.
        dt
            Length of the step.
        masses
            On faces, and liquid fractions of cells.
        hold
            Cells whose walls may pull, regardless of `walls.pressure` of the scene.
        divergence
            The divergence that the liquid must have, over cells, in 1/s.
        keep_bodies
            True if bodies keep their motions: the solve only asks for the pressure.
        """
        problem = self.problem(phi, velocity, dt, masses, hold, divergence)
        outcome = self._solve_on_ranks(problem) if self.solids.partition.shared else self._solve(problem)
        self.pressure = outcome.pressure
        self.active = self.solids.grid.lift(problem.rows.to_grid(outcome.solution.active))
        if not keep_bodies:
            self._push_bodies(outcome)
        return outcome

    def _push_bodies(self, outcome: PressureResult) -> None:
        """Give the bodies their velocities after a solve."""
        if outcome.problem.coupling is not None:
            self.solids.push([(m.velocity, m.spin) for m in outcome.solution.bodies])

    def problem(self, phi, velocity, dt: float, masses: Masses, hold, divergence) -> PressureProblem:
        """The pressure problem with the solids at their present positions."""
        solids, user = self.solids, self._user
        extra: dict[str, Any] = {}
        coupling = solids.current()
        if coupling is not None:
            extra["bodies"] = coupling
        elif solids.moving:
            extra["solid_velocity"] = solids.velocity.user
        if masses.held is not None:
            phi = np.where(masses.held & (phi >= 0.0), -1e-3, phi)
        return PressureProblem(
            phi_liquid=solids.grid.dx * user(phi), velocity=velocity.user, dt=dt, dx=solids.grid.dx, rho=self.density,
            weights=solids.open.user, walls=user(self._walls(hold)), adhesion=user(solids.adhesion),
            separation=user(solids.separation), source=user(divergence), mass=masses.inertia.user,
            fraction=user(masses.fraction), **extra,
        )  # fmt: skip

    def keep(self, problem: PressureProblem, found: StokesSolution, pressure: np.ndarray) -> PressureResult:
        """The result of a solve for pressure and viscosity together, as of a pressure solve; `pressure` is its mean
        over the step."""
        fields = {"pressure": pressure, "velocity": found.velocity, "bodies": found.bodies}
        solution = extended(PressureSolution, found, **fields)
        outcome = PressureResult(problem, solution, found.residual, "stokes-auto", found.unknowns)
        self.pressure, self.active = outcome.pressure, self.solids.grid.lift(found.contact)
        self._push_bodies(outcome)
        return outcome

    def _solve_on_ranks(self, problem: PressureProblem) -> PressureResult:
        """Solve a problem of which other processes have other parts; each keeps the solution in its rows and ghosts."""
        from ....mpi.shared import Shared, solve_shared

        solver, partition, rows = self.solver, self.solids.partition, problem.rows
        x0 = active = None
        if solver.warm_start and partition.comm.any(bool(self.pressure.any())):
            x0, active = problem.unknowns_of(self.solids.grid.drop(self.pressure)), rows.from_grid(self.active)
        shared = Shared(partition.comm, partition.boxes, partition.held, problem.problem)
        found = solve_shared(
            shared, x0=x0, active=active, rtol=solver.rtol, maxiter=solver.maxiter, criterion="papers"
        )  # the criterion of `_solve`
        cells = rows.to_grid(shared.leave(found.x))
        partition.fill_cells(cells)
        x = rows.from_grid(cells)
        dual, notes = problem.problem.gradient(x), found.notes | {"kkt": found.kkt()}
        solution = problem.with_fields(replace(found, problem=problem.problem, x=x, dual=dual, notes=notes))
        unknowns = shared.problem.A.unknowns
        kkt = float(solution.notes.get("corrected_kkt", solution.notes["kkt"]))
        return PressureResult(problem, solution, kkt, solution.method, unknowns)

    def _solve(self, problem: PressureProblem) -> PressureResult:
        """Solve by the scene's method, and by others if it misses its tolerance."""
        solver, names = self.solver, self._names(problem)
        start: dict[str, Any] = {}
        if solver.warm_start and self.pressure.any():
            x0 = problem.unknowns_of(self.solids.grid.drop(self.pressure))
            start = {"x0": x0, "active": problem.rows.from_grid(self.active)}
        own = names[0] == registry.name_of(solver.method)
        methods = [registry.get(name) for name in names]
        if solver.array is not None and own:
            methods[:1] = [on_arrays(names[0], solver.array, solver.device, solver.dtype)]
            methods[1:] = methods[1:] or [registry.get("auto")]
        method = in_turn(*methods, limit=solver.maxiter if own or solver.array is not None else None)
        # What counts is the divergence of a cell against the largest one, which is the papers' number: liquid that
        # hardly moves need not be still to its own last digits.
        solution = problem.solve(method, rtol=solver.rtol, criterion="papers", **start)
        return PressureResult(problem, solution, solution.residual, names[0], problem.rows.n)

    def _names(self, problem: PressureProblem) -> list[str]:
        own = registry.name_of(self.solver.method)
        names: tuple[str, ...] = (own, *STRONGER)
        if self.at_edges:
            names = STRONGER_EDGES if own == "auto" else (own, *STRONGER_EDGES)
        known = [name for name in dict.fromkeys(names) if name == own or name in registry.methods()]
        if problem.coupling is not None:
            return [name for name in known if "bodies" in registry.get(name).treats]
        return known

    def _walls(self, hold: np.ndarray | None) -> str | np.ndarray:
        """The cells in which liquid may separate, in the form that `PressureProblem` takes."""
        solids = self.solids
        mode = solids.mode if isinstance(solids.mode, str) else "given cell by cell"
        if hold is not None and mode != "edge":
            grid, walls = solids.grid, self._user(solids.mode)
            bounded = grid.lift(wall_cells(walls, solids.open.user, grid.drop(solids.centre), grid.shape))
            return bounded & ~(hold & self._cut_cells())
        # "solid" uses the true distance at the centres; PressureProblem would have to estimate it from open faces.
        if mode == "solid":
            return solids.centre < 0
        return self._cut_cells() if mode == "cut" and not solids.moving else solids.mode

    def _user(self, value: Any) -> Any:
        """A field, a number or a name as `PressureProblem` takes it; None for zero everywhere."""
        if isinstance(value, np.ndarray):
            return self.solids.grid.drop(value)
        return None if isinstance(value, float) and value == 0.0 else value

    def _cut_cells(self) -> np.ndarray:
        """Cells that a solid or the edge of the grid cuts."""
        if self._cut is None or self.solids.moving:
            self._cut = self.solids.grid.lift(cut_cells(self.solids.open.user))
        return self._cut


def least_pressure(pressure: np.ndarray, scene: Scene, gravity: np.ndarray, partition: Partition, dt: float) -> float:
    """The pressure in Pa above which a cell counts as pressed; `gravity` is the present one, dt the length of the step.

    Decisions must not depend on whether a cell holds 0 or a rounding error. In free flight all pressures are such
    errors, the largest one too: so there is a floor, far below what a layer of one cell of liquid weighs. Liquid that
    turns without gravity has only such errors in its first step, and its floor is that of a way.
    """
    most = partition.comm.largest(max(float(pressure.max(initial=0.0)), -float(pressure.min(initial=0.0))))
    weight = STEP.light * float(np.linalg.norm(gravity))
    way = STEP.error * scene.dx / dt**2 if dt > 0.0 else 0.0
    return max(scene.model.physics.density * scene.dx * (weight or way), STEP.error * most)
