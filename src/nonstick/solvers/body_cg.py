"""Conjugate gradients for liquid and rigid bodies together (see `discretise.viscosity_bodies`).

Preconditioner: the factors of [A C; Cᵀ D] with B ≈ A⁻¹, the liquid's own, in the place of A⁻¹,

    z_V = Σ⁻¹ (r_V − Wᵀ r_u),   z_u = B r_u − W z_V,   W = B C,   Σ = D − Cᵀ W.

W takes one use of B for each degree of freedom at set-up; then a body costs no iterations, however stiff the liquid
ties it: with D alone in the place of Σ thick liquid and a light body are told to move apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from ..discretise.viscosity_bodies import BodyBox
from ..errors import NonstickError
from ..kernels._faces import _cg_direction, _cg_update, _faces_apply_dot, _faces_dot
from .base import Method
from .face_cg import FaceCG, FacePreconditioner, FaceRecipe, record


def with_bodies(method: Method) -> BodyCG:
    """The method for liquid alone, made to carry bodies."""
    if isinstance(method, FaceCG):
        return BodyCG(method.M, method.maxiter)
    raise NonstickError("bodies in viscous liquid need a matrix-free method: visc-auto, visc-box-mg, visc-cg, …")


@dataclass(frozen=True)
class BodyCG(Method):
    """Preconditioned conjugate gradients on faces and motions."""

    viscous = True
    M: FaceRecipe
    maxiter: int = 20_000

    def solve(self, problem, start, monitor):
        operator = problem.coupled.operator
        system, n = operator.system, operator.liquid.n
        touched, C, Ct, D = operator.places, operator.C, operator.Ct, operator.D
        if n == 0:
            start.x[:] = la.solve(D, problem.b, assume_a="pos")
            monitor.check(start.x)
            return
        with monitor.setup():
            M = self.M.setup(problem)
            bodies = _Bodies(M, problem)
        monitor.notes.update(M.notes)
        x, r, p, q = system.scatter(start.x[:n]), system.zeros(), system.zeros(), system.zeros()
        y, py = start.x[n:].copy(), np.zeros(D.shape[0])
        by = problem.b[n:]
        partial = np.zeros(len(system.runs))
        coefficients = (system.m, system.k, system.runs, system.plain, system.strides, system.P)
        where = (system.runs, system.P)
        scale, goal, limit = 1.0 / problem.scale, monitor.tolerance * problem.scale, monitor.limit(self.maxiter)
        before = np.inf
        while not monitor.status:
            system.residual(system.scatter(problem.b[:n], q), x, r)
            r[touched] -= C @ y
            ry = by - Ct @ x[touched] - D @ y
            _cg_update(x, r, M.b, partial, p, q, 0.0, scale, *where)
            peak = _peak(partial, ry)
            record(monitor, peak * scale, again=before < np.inf)
            if peak <= goal:
                monitor.stop("converged")
            elif peak > 0.5 * before:
                monitor.stop("stagnated")
            elif monitor.iterations >= limit:
                monitor.stop("maxiter")
            before, rho_old = peak, 0.0
            while not monitor.status and peak > goal and monitor.iterations < limit:
                z = M.apply()
                zy = bodies.correct(z, r, ry, scale)
                _faces_dot(partial, r, z, *where)
                rho = float(partial.sum()) + float(ry @ zy)
                beta = rho / rho_old if rho_old else 0.0
                _cg_direction(p, z, beta, *where)
                py = zy + beta * py
                _faces_apply_dot(q, partial, p, *coefficients)
                cross = C @ py
                curvature = float(partial.sum()) + 2.0 * float(p[touched] @ cross) + float(py @ (D @ py))
                q[touched] += cross
                qy = Ct @ p[touched] + D @ py
                if not curvature > 0.0:
                    monitor.stop("stagnated")
                    break
                alpha = rho / curvature
                _cg_update(x, r, M.b, partial, p, q, alpha, scale, *where)
                y += alpha * py
                ry = ry - alpha * qy
                rho_old, peak = rho, _peak(partial, ry)
                monitor.iterations += 1
                monitor.outer_iterations += 1
                record(monitor, peak * scale)
        system.gather(x, start.x[:n])
        start.x[n:] = y


def _peak(partial: np.ndarray, ry: np.ndarray) -> float:
    return float(max(partial.max(initial=0.0), np.abs(ry).max(initial=0.0)))


class _Bodies:
    """W and Σ. W is kept in the precision of the preconditioner: it is as wrong as B anyway, and it is large."""

    def __init__(self, M: FacePreconditioner, problem: BodyBox):
        A = problem.coupled.operator
        self.system = system = A.system
        m = A.D.shape[0]
        self.W = np.empty((m, system.n), M.b.dtype)
        dense = A.C.toarray()
        for j in range(m):
            if not dense[:, j].any():  # out of the liquid
                self.W[j] = 0.0
                continue
            M.b[:] = 0.0
            M.b[A.places] = dense[:, j]
            system.gather(M.apply().astype(M.b.dtype, copy=False), self.W[j])
        M.b[:] = 0.0
        # Σ is at least the bodies' own mass; where B overshoots A⁻¹ the rest may come out negative
        rest = A.D - problem.masses - dense.T @ self.W[:, A.touched].T.astype(np.float64)
        root = np.sqrt(np.diagonal(A.D))
        values, vectors = np.linalg.eigh((rest + rest.T) / (2.0 * np.outer(root, root)))
        rest = root[:, None] * ((vectors * np.maximum(values, 0.0)) @ vectors.T) * root
        self._factor = la.cho_factor(rest + problem.masses + 1e-12 * np.diag(np.diagonal(A.D))) if m else None

    def correct(self, z: np.ndarray, r: np.ndarray, ry: np.ndarray, scale: float) -> np.ndarray:
        """z := z_u in place, given B r; returns z_V."""
        if self._factor is None:
            return ry
        S = self.system
        zy = la.cho_solve(self._factor, scale * (ry - self.W @ S.gather(r).astype(self.W.dtype)))
        change = S.gather(z) - zy.astype(self.W.dtype) @ self.W
        S.scatter(change.astype(z.dtype), z)
        return zy
