"""The preconditioners and solvers of the viscosity methods, as recipes over a `ViscosityProblem`.

`visc-auto` is `FaceCG(Cycle(ChebyshevMultigrid()))`, `visc-cg` is `FaceCG(Diagonal())`; `visc-mic-cg` and
`visc-direct` need the assembled matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from ..inverse.base import Recipe
from ..inverse.krylov.cg import CG
from ..inverse.multigrid.face_cycle import FaceCycle, FaceMultigrid
from ..inverse.precond.mic import MIC
from ..kernels._faces import _faces_scaled
from ..operators.csr import CSROperator
from .base import Method
from .face_cg import FacePreconditioner, FaceRecipe, record, viscous


@dataclass(frozen=True)
class Cycle(FaceRecipe):
    """One V-cycle of `multigrid`."""

    multigrid: FaceMultigrid

    def setup(self, problem):
        return _Cycle(self.multigrid.setup(problem))


class _Cycle(FacePreconditioner):
    def __init__(self, cycle: FaceCycle):
        self.cycle, self.b = cycle, cycle.levels[0].b
        self.notes = {"levels": len(cycle.levels), "unknowns": [level.system.n for level in cycle.levels]}

    def apply(self):
        return self.cycle.apply()


@dataclass(frozen=True)
class Diagonal(FaceRecipe):
    """Jacobi."""

    def setup(self, problem):
        return _Diagonal(problem.A.system)


class _Diagonal(FacePreconditioner):
    def __init__(self, system):
        self.system, self.b, self._z, self.notes = system, system.zeros(), system.zeros(), {}

    def apply(self):
        S = self.system
        _faces_scaled(self._z, self.b, S.m, S.k, S.runs, S.plain, S.strides, S.P, 1.0)
        return self._z


@dataclass(frozen=True)
class AssembledCG(Method):
    """Conjugate gradients on the assembled matrix."""

    viscous = True
    M: Recipe = field(default_factory=MIC)
    maxiter: int = 20_000

    def solve(self, problem, start, monitor):
        problem = viscous(problem)
        with monitor.setup():
            inverse = CG(self.M).setup(CSROperator(problem.A.matrix()))
        goal = monitor.tolerance * problem.scale
        before = np.inf
        record(monitor, problem.kkt(start.x))
        while not monitor.status:
            left = monitor.limit(self.maxiter) - monitor.iterations
            result = inverse.solve(problem.b, start.x, rtol=0.0, atol=goal, maxiter=left)
            monitor.iterations += result.iterations
            monitor.outer_iterations += result.iterations
            monitor.history += [h / problem.scale for h in result.history[1:]]
            kkt = problem.kkt(start.x)
            record(monitor, kkt, again=True)
            if kkt <= monitor.tolerance:
                monitor.stop("converged")
            elif monitor.iterations >= monitor.limit(self.maxiter):
                monitor.stop("maxiter")
            elif not kkt < 0.5 * before:
                monitor.stop("stagnated")
            before = kkt


@dataclass(frozen=True)
class Direct(Method):
    """A sparse factor of A with `trace` of its diagonal added, refined: definite even where faces have no mass."""

    viscous = True
    trace: float = 1e-10
    refinements: int = 20

    def solve(self, problem, start, monitor):
        problem = viscous(problem)
        with monitor.setup():
            A = problem.A.matrix()
            shifted = sp.csc_array(A + sp.diags_array(self.trace * A.diagonal()))
            options = {"SymmetricMode": True}
            factor = sla.splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        for _ in range(min(self.refinements, monitor.limit(self.refinements))):
            start.x += factor.solve(problem.b - problem.A @ start.x)
            monitor.iterations += 1
            if monitor.check(start.x):
                break
