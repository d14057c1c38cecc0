"""Conjugate gradients for the viscosity system, on padded faces and with a cycle of lower precision inside.

The residual is kept in float64 and handed to the preconditioner scaled to order one, in the preconditioner's own
precision. Where the recurrence says converged, the residual is computed anew from x, and the iteration goes on
from there if it was wrong.

A cheap preconditioner may meet its limit (viscosity that jumps within a few cells, rounding): `then` are stronger ones,
taken in turn where iterations go slowly or nowhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..discretise.viscosity import ViscousBox
from ..errors import NonstickError
from ..kernels._faces import _cg_direction, _cg_update, _faces_apply_dot, _faces_dot
from ..problem.monitor import Monitor
from .base import Method


class FacePreconditioner(ABC):
    """Made by a recipe's `setup(problem)`."""

    #: the residual goes here (padded), in whatever precision
    b: np.ndarray
    notes: dict[str, object]

    @abstractmethod
    def apply(self) -> np.ndarray:
        """≈ A⁻¹ b, padded; valid until the next call."""


class FaceRecipe(ABC):
    @abstractmethod
    def setup(self, problem: ViscousBox) -> FacePreconditioner: ...


def viscous(problem) -> ViscousBox:
    if not isinstance(problem, ViscousBox):
        raise NonstickError("the visc-… methods solve a nonstick.ViscosityProblem; for a matrix take 'no-lcp'")
    return problem


@dataclass(frozen=True)
class FaceCG(Method):
    """Preconditioned conjugate gradients; one iteration is one product and one use of `M`.

    The next of `then` follows if after `patience` iterations the residual is above `pace`**iterations of its first
    value, or if it no longer falls.
    """

    viscous = True
    M: FaceRecipe
    maxiter: int = 20_000
    then: tuple[FaceRecipe, ...] = ()
    patience: int = 10
    pace: float = 0.5

    def solve(self, problem, start, monitor):
        problem = viscous(problem)
        system = problem.A.system
        with monitor.setup():
            M = self.M.setup(problem)
        monitor.notes.update(M.notes)
        x, r, p, q = system.scatter(start.x), system.zeros(), system.zeros(), system.zeros()
        partial = np.empty(len(system.runs))
        coefficients = (system.m, system.k, system.runs, system.plain, system.strides, system.P)
        where = (system.runs, system.P)
        scale, goal, limit = 1.0 / problem.scale, monitor.tolerance * problem.scale, monitor.limit(self.maxiter)
        before, fresh, slow, left = np.inf, True, False, list(self.then)
        while not monitor.status:
            # every pass starts from the true residual, and the last one ends with it
            system.residual(system.scatter(problem.b, q), x, r)
            _cg_update(x, r, M.b, partial, p, q, 0.0, scale, *where)
            peak = float(partial.max())
            record(monitor, peak * scale, again=not fresh)
            if monitor.status:
                break
            fresh = False
            if peak <= goal:
                monitor.stop("converged")
            elif monitor.iterations >= limit:
                monitor.stop("maxiter")
            elif slow or not peak <= 0.5 * before:
                if not left:
                    monitor.stop("stagnated")
                    break
                del M  # its memory first
                with monitor.setup():
                    M = left.pop(0).setup(problem)
                _cg_update(x, r, M.b, partial, p, q, 0.0, scale, *where)
                monitor.notes.update(M.notes)
                monitor.notes["switched_at"] = monitor.iterations
            before, rho_old, slow = peak, 0.0, False
            first, since = peak, monitor.iterations
            while not monitor.status and peak > goal and monitor.iterations < limit:
                z = M.apply()
                _faces_dot(partial, r, z, *where)
                rho = float(partial.sum())
                _cg_direction(p, z, rho / rho_old if rho_old else 0.0, *where)
                _faces_apply_dot(q, partial, p, *coefficients)
                curvature = float(partial.sum())
                if not curvature > 0.0:  # a null direction, or breakdown: as good as it gets with this M
                    slow = True
                    break
                _cg_update(x, r, M.b, partial, p, q, rho / curvature, scale, *where)
                rho_old, peak = rho, float(partial.max())
                monitor.iterations += 1
                monitor.outer_iterations += 1
                record(monitor, peak * scale)
                done = monitor.iterations - since
                slow = bool(left) and done >= self.patience and peak > first * self.pace**done
                if slow:
                    break
        system.gather(x, start.x)


def record(monitor: Monitor, residual: float, again: bool = False) -> None:
    """Enter a residual that is already known, or correct the last one."""
    monitor.kkt = residual
    if again:
        monitor.history[-1] = residual
    else:
        monitor.history.append(residual)
        if monitor.callback is not None:
            monitor.callback(monitor)
    if not np.isfinite(residual):
        monitor.stop("diverged")
