"""What `auto` was chosen over: the same hierarchy and cycle under other loops. Research code, not in the package.

- `TNNMG`: truncated nonsmooth Newton multigrid (Gräser & Kornhuber 2009), in short: a projected sweep, one linear cycle
  truncated to the free rows, projection, exact line search. Monotone, so it needs no safeguard.
- `same_fas`: FAS (Lai's Algorithm 3) with aggregates and α-scaled Galerkin matrices instead of barycentric transfers.
- MPRGP and policy iteration take the fast cycle as it is.
- `Less`: `auto` with one of its ingredients taken away, which says what the others lack.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from nonstick.compositions import AUTO, CYCLE
from nonstick.inverse.base import Inverse, Recipe
from nonstick.inverse.krylov.cg import CG
from nonstick.inverse.multigrid.aggregation.coarsening import TopologyAware
from nonstick.kernels._vector import dot
from nonstick.operators.csr import CSROperator
from nonstick.operators.masked import Masked
from nonstick.operators.transfer import AggregateTransfer
from nonstick.solvers.auto.active_set import ActiveSet
from nonstick.solvers.auto.loop import ActiveSetCG
from nonstick.solvers.base import Method
from nonstick.solvers.chentanez_muller.projected_gs import ProjectedSweeps
from nonstick.solvers.lai.fas import FAS
from nonstick.solvers.lai.policy import PolicyIteration
from nonstick.solvers.takahashi_batty.mprgp import MPRGP


@dataclass
class Cycles:
    """How many cycles ran, and how often the hierarchy was set up or refreshed."""

    count: int = 0
    setups: int = 0


@dataclass(frozen=True)
class Counted(Recipe):
    """A recipe that counts."""

    recipe: Recipe
    cycles: Cycles = field(default_factory=Cycles, compare=False)

    def setup(self, operator, reuse=None):
        inner = self.recipe.setup(operator, None if reuse is None else reuse.inner)
        self.cycles.setups += 1
        return _Counted(inner, self.cycles)


class _Counted(Inverse):
    def __init__(self, inner: Inverse, cycles: Cycles):
        self.inner, self.cycles = inner, cycles

    def apply(self, r, out):
        self.cycles.count += 1
        return self.inner.apply(r, out)


@dataclass(frozen=True)
class Less(ActiveSet):
    """`auto` whose CG starts again with every change of the set, or at every step (a steepest descent)."""

    restart: str = "change"

    def _solve(self, problem, start, monitor, M=None):
        _Less(self, problem, monitor, M).run(start.x, start.active)


class _Less(ActiveSetCG):
    def _direction(self, rho_old, curvature, disturbed):
        begins = disturbed or self.options.restart == "step"
        return super()._direction(rho_old, 0.0 if begins else curvature, disturbed)


@dataclass(frozen=True)
class TNNMG(Method):
    """One `M` cycle per step."""

    M: Recipe
    sweeps: int = 1
    maxiter: int = 500

    def solve(self, problem, start, monitor):
        A, b, box, x = problem.A, problem.b, problem.box, start.x
        sweep = ProjectedSweeps(A)
        g, z, q = (np.empty(problem.n) for _ in range(3))
        masked, cycle = Masked(A, np.ones(problem.n, bool)), None
        while not monitor.check(x, problem.gradient(x, g)) and monitor.iterations < monitor.limit(self.maxiter):
            sweep.run(x, b, box.lower, box.upper, count=self.sweeps)
            problem.gradient(x, g)
            free = ~(((x <= box.lower) & (g >= 0.0)) | ((x >= box.upper) & (g <= 0.0)))
            with monitor.setup():
                cycle = self.M.setup(masked.update(free), cycle)
            cycle.apply(np.where(free, -g, 0.0), z)
            z[~free] = 0.0
            # Project the corrected x, then take the best step towards it: the energy cannot rise.
            step = box.project(x + z) - x
            A.apply(step, q)
            curvature = dot(step, q)
            if curvature > 0.0:
                # at most 1 keeps x in the box
                x += min(max(-dot(g, step) / curvature, 0.0), 1.0) * step
            monitor.iterations += 1
            monitor.outer_iterations += 1
        box.project(x, out=x)


@dataclass(frozen=True)
class Averaged(TopologyAware):
    """The aggregates of `auto` in the scaling FAS wants: restriction averages, the matrix follows."""

    def coarsen(self, A, depth):
        made = super().coarsen(A, depth)
        if made is None:
            return A, None
        coarse, transfer = made
        scale = 0.5 ** A.cells.shape[1]
        return (
            CSROperator(coarse.matrix() * scale, coarse.cells),
            AggregateTransfer(transfer.parent, transfer.n_coarse, scale),
        )


def same_fas() -> FAS:
    return FAS(Averaged(0.65))  # type: ignore[arg-type]


def comparators() -> dict[str, tuple[Method, Cycles | None]]:
    """Name → method, and the counter of its cycles (None: its own iterations are cycles)."""
    cold = replace(AUTO, many=10**12)
    out: dict[str, tuple[Method, Cycles | None]] = {
        "auto": (cold, None),
        "auto, CG restarted after a change": (Less(AUTO.M, many=10**12), None),
        "auto, no CG": (Less(AUTO.M, many=10**12, restart="step"), None),
        "auto, no sweeps": (replace(cold, sweeps=0), None),
    }
    for name, make in (
        ("TNNMG", TNNMG),
        ("MPRGP", MPRGP),
        ("policy, 3 CG steps", lambda M: PolicyIteration(CG(M), inner_maxiter=3)),
        ("policy, exact", lambda M: PolicyIteration(CG(M))),
    ):
        counted = Counted(CYCLE)
        out[name] = (make(counted), counted.cycles)
    out["FAS V(2,2)"] = (same_fas(), None)
    return out
