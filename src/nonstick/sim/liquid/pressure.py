"""The pressure stage: the problem of this step, a warm start carried over by grid cell, and no silent failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import registry
from ...discretise.pressure import PressureProblem, PressureSolution
from ...grid.labels import cut_cells, wall_cells
from ...scenes.schema import Solver
from .solids import Solids

#: tried in this order when the scene's own method misses its tolerance
STRONGER = ("auto", "pi-mg", "pi-pcg", "psor")
#: the same for walls = "edge", which few methods can treat; the first stands in for `auto`
STRONGER_EDGES = ("fmg", "psor", "pgs")


@dataclass
class Outcome:
    """What the stage leaves behind for the step and for its row of statistics."""

    problem: PressureProblem
    solution: PressureSolution
    kkt: float
    #: method that solved it, and those that had failed before
    method: str
    failed: list[str]


class Projection:
    """Solves the pressure of step after step. Holds the pressure and the contact set of the last one."""

    def __init__(self, solids: Solids, solver: Solver, density: float):
        self.solids, self.solver, self.density = solids, solver, density
        shape = solids.grid.shape
        self.pressure = np.zeros(shape)
        self.active = np.zeros(shape, np.int8)
        #: cells cut by walls, where no wall moves
        self._cut: np.ndarray | None = None
        #: cells in which walls may pull whatever the scene's walls.pressure says
        self.hold: np.ndarray | None = None
        #: divergence (1/s) that sources ask for, over cells; without axes where there are none
        self.swell = np.zeros(())

    def solve(self, phi: np.ndarray, velocity, dt: float) -> Outcome:
        """φ in metres and face velocities in the user's dimension; velocities are left alone."""
        solids, solver = self.solids, self.solver
        extra: dict[str, Any] = {}
        coupling = solids.current()
        if coupling is not None:
            extra["bodies"] = coupling
        elif solids.moving:
            extra["solid_velocity"] = tuple(v.reshape(v.shape[3 - solids.d :]) for v in solids.velocity[3 - solids.d :])
        problem = PressureProblem(
            phi_liquid=phi, velocity=velocity, dt=dt, dx=solids.grid.dx, rho=self.density, weights=solids.weights,
            walls=self._walls(), adhesion=_given(solids.adhesion), separation=_given(solids.separation), **extra,
        )  # fmt: skip
        if self.swell.ndim:
            problem.problem.b += problem.rows.from_grid(self.swell)
        start: dict[str, Any] = {}
        if solver.warm_start and self.pressure.any():
            start = {"x0": self.pressure, "active": problem.rows.from_grid(self.active)}
        failed: list[str] = []
        best, best_kkt, best_name = None, np.inf, solver.method
        names = (solver.method, *STRONGER)
        if isinstance(solids.mode, str) and solids.mode == "edge":
            names = (*(() if solver.method == "auto" else (solver.method,)), *STRONGER_EDGES)
        for name in dict.fromkeys(names):
            if name != solver.method and name not in registry.methods():
                continue
            if coupling is not None and "bodies" not in registry.get(name).treats:
                continue
            limit = solver.maxiter if name == solver.method else None
            solution = problem.solve(name, rtol=solver.rtol, maxiter=limit, **(start if not failed else {}))
            # A compressed pocket has no solution: the problem without its mean counts, and no other method helps.
            kkt = float(solution.notes.get("corrected_kkt", solution.kkt()))  # type: ignore[arg-type]
            if best is None or kkt < best_kkt:
                best, best_kkt, best_name = solution, kkt, name
            if solution.converged or solution.status == "infeasible":
                break
            failed.append(f"{name}: {solution.message}")
        assert best is not None
        self.pressure = best.pressure
        self.active = problem.rows.to_grid(best.active)
        if coupling is not None:
            solids.push([(m.velocity, m.spin) for m in best.bodies])
        return Outcome(problem, best, best_kkt, best_name, failed)

    def sticky(self) -> np.ndarray:
        """1 in cells next to a wall that does not let go, on three axes."""
        if self.hold is None:
            return self.solids.sticky
        return np.maximum(self.solids.sticky, self.hold.reshape(self.solids.three).astype(np.int8))

    def _walls(self):
        solids = self.solids
        mode = solids.mode if isinstance(solids.mode, str) else "given cell by cell"
        if self.hold is not None and mode != "edge":
            bounded = wall_cells(solids.mode, solids.weights, solids.centre, solids.grid.shape)
            return bounded & ~(self.hold & self._cut_cells())
        # "solid" by the true distance at the centres; PressureProblem would have to guess it from open faces.
        if mode == "solid":
            return solids.centre < 0
        return self._cut_cells() if mode == "cut" and not solids.moving else solids.mode

    def _cut_cells(self) -> np.ndarray:
        if self._cut is None or self.solids.moving:
            self._cut = cut_cells(self.solids.weights)
        return self._cut


def _given(value):
    return None if np.ndim(value) == 0 and value == 0.0 else value
