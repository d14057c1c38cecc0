"""Quadratic programs with any linear constraints, by a primal-dual interior-point method over sparse factors.

    min ½xᵀP x + qᵀx,    A x = b,    G x ≤ h,    lower ≤ x ≤ upper

Bounds and rows of G have slacks s > 0 and multipliers z > 0. A step solves Newton's equations of the conditions with
s z = σμ (Mehrotra 1992: a first step with σ = 0 decides about σ and corrects the second order). Slacks are eliminated:

    [ P + D + δ   Aᵀ        Gᵀ       ] [dx]
    [ A          -δ                  ] [dy]  = r,      D = Σ z/s of the bounds,   W = s/z of the rows of G
    [ G                    -(W + δ)  ] [dz]

As soon as the errors are small, the face that the multipliers tell is solved exactly, and if it is the right one, that
is the answer; else the steps go on until the gap is as small as the square of the tolerance.

This matrix is quasi-definite for every δ > 0, so it has factors without pivoting in any order (Vanderbei 1995); a few
steps of refinement take back what δ changes. P may be singular or zero. The cost is that of a sparse factorisation a
step, some 10 to 20 of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lu_factor, lu_solve

from ..core import rounding
from ..problem.monitor import PATIENCE
from .base import INSIDE

#: stands for infinity beside entries of size one: a bound or a row that is held, or that is left out
HELD = 1e20


@dataclass(frozen=True)
class QuadraticSettings:
    """Numbers of the method; results do not depend on them within the tolerance."""

    refinements: int = 4
    #: rows and columns are scaled to equal size this often (Ruiz 2001)
    scalings: int = 8
    #: up to so many rows, equations are factored as a dense matrix
    dense: int = 300


SETTINGS = QuadraticSettings()


@dataclass
class Quadratic:
    """The data of a quadratic program; a matrix that is not there has no rows."""

    P: sp.csc_array
    q: np.ndarray
    G: sp.csc_array
    h: np.ndarray
    A: sp.csc_array
    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @np.errstate(over="ignore", invalid="ignore")
    def objective(self, x: np.ndarray) -> float:
        return float(0.5 * x @ (self.P @ x) + self.q @ x)

    @np.errstate(over="ignore", invalid="ignore")  # what overflows has not converged
    def residuals(self, x: np.ndarray, y: np.ndarray, z: np.ndarray, w: np.ndarray) -> tuple[float, float, float]:
        """The largest error of the constraints, of the gradient and of complementarity, each against its own terms.

        y, z, w are the multipliers of A, G and the bounds; w is negative at a lower bound.
        """
        Px, Ax, Gx = self.P @ x, self.A @ x, self.G @ x
        forces = [Px, self.q, self.A.T @ y, self.G.T @ z, w]
        gradient = _peak(np.sum(forces, axis=0)) / max(1.0, *(_peak(f) for f in forces))
        outside = max(_peak(np.maximum(self.lower - x, 0.0)), _peak(np.maximum(x - self.upper, 0.0)))
        primal = max(
            _peak(Ax - self.b) / max(1.0, _peak(Ax), _peak(self.b)),
            _peak(np.maximum(Gx - self.h, 0.0)) / max(1.0, _peak(Gx), _peak(self.h[np.isfinite(self.h)])),
            outside / max(1.0, _peak(x)),
        )
        low = np.where(w < 0, np.where(np.isfinite(self.lower), x - self.lower, np.inf), 0.0)
        high = np.where(w > 0, np.where(np.isfinite(self.upper), self.upper - x, np.inf), 0.0)
        gap = float(np.abs(w) @ np.where(w != 0, low + high, 0.0)) + float(np.abs(z * (self.h - Gx)).sum())
        objective = abs(self.objective(x))
        return primal, gradient, gap / max(1.0, objective, abs(float(x @ Px)), abs(float(self.q @ x)))


@dataclass
class QuadraticResult:
    """The answer: x, the multipliers of A, G and the bounds, a status and the number of factorisations."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    w: np.ndarray
    status: str
    iterations: int


def _peak(v: np.ndarray) -> float:
    return float(np.abs(v).max(initial=0.0))


@np.errstate(over="ignore", invalid="ignore")  # numbers near the largest there are end in a status
def interior_point(given: Quadratic, rtol: float, maxiter: int | None = None) -> QuadraticResult:
    """Solve a quadratic program; the status is "converged", "infeasible", "unbounded", "maxiter" or "stagnated"."""
    problem, D, E, F, cost = _scaled(given)
    state = _Iterate(problem)
    limit = PATIENCE.steps if maxiter is None else maxiter
    best: tuple[float, QuadraticResult] | None = None
    since, count = 0, 0
    exact = max(rtol**2, rounding.SUM)

    def judged(x, y, z, w) -> tuple[float, float, QuadraticResult]:
        """The largest error, that of complementarity, and the point in the units of the caller."""
        x, y, z, w = np.clip(x * D, given.lower, given.upper), y * E / cost, z * F / cost, w / (D * cost)
        errors = given.residuals(x, y, z, w)
        return max(errors), errors[2], QuadraticResult(x, y, z, w, "converged", count)

    for count in range(limit + 1):
        error, gap, result = judged(state.x, state.y, state.z, state.bound_multiplier())
        if best is None or error < best[0]:
            since = 0 if best is None or error < 0.5 * best[0] else since + 1
            best = error, result
        else:
            since += 1
        if error <= rtol:  # the gap bounds the error of x by its square root only
            face, _, result = judged(*state.on_face())
            if face <= exact:
                best = face, result
                break
        if (error <= rtol and gap <= exact) or since > 15 or not np.isfinite(error) or count == limit:
            break
        if not state.step():
            break
    assert best is not None
    error, result = best
    result.iterations = count
    if not error <= rtol:
        result.status = _reason(given) or ("maxiter" if count == limit else "stagnated")
    return result


def _scaled(given: Quadratic) -> tuple[Quadratic, np.ndarray, np.ndarray, np.ndarray, float]:
    """The problem in units in which rows and columns have entries of size one: x = D x̃."""
    n = given.q.size
    D, E, F = np.ones(n), np.ones(given.b.size), np.ones(given.h.size)
    places = [_places(M) for M in (given.P, given.A, given.G)]
    for _ in range(SETTINGS.scalings):
        column = np.zeros(n)
        for R, (row, col, size) in zip((D, E, F), places):
            np.maximum.at(column, col, R[row] * size * D[col])
        largest = [np.zeros(R.size) for R in (E, F)]
        for R, top, (row, col, size) in zip((E, F), largest, places[1:]):
            np.maximum.at(top, row, R[row] * size * D[col])
        for R, top in ((D, column), *zip((E, F), largest)):
            R /= np.sqrt(np.where(top > 0, top, 1.0))
    Ps, As, Gs = (_times(M, R, D, at) for M, R, at in zip((given.P, given.A, given.G), (D, E, F), places))
    top = np.zeros(n)
    np.maximum.at(top, places[0][1], np.abs(Ps.data))
    cost = 1.0 / max(_peak(D * given.q), float(top.mean()) if n else 0.0, 1e-12)
    parts = (cost * Ps, cost * D * given.q, Gs, F * given.h, As, E * given.b, given.lower / D, given.upper / D)
    return Quadratic(*parts), D, E, F, cost


def _places(M: sp.csc_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, column and size of every entry."""
    return M.indices, np.repeat(np.arange(M.shape[1]), np.diff(M.indptr)), np.abs(M.data)


def _times(M: sp.csc_array, left: np.ndarray, right: np.ndarray, places: tuple[np.ndarray, ...]) -> sp.csc_array:
    """diag(left) M diag(right)"""
    return sp.csc_array((left[places[0]] * M.data * right[places[1]], M.indices, M.indptr), shape=M.shape)


class _Iterate:
    """x, y, and slacks with multipliers of the rows of G and of the finite bounds."""

    def __init__(self, problem: Quadratic):
        self.problem = problem
        self._base: tuple[Any, np.ndarray] | None = None
        n = problem.q.size
        self.low, self.high = np.flatnonzero(np.isfinite(problem.lower)), np.flatnonzero(np.isfinite(problem.upper))
        self.x, self.y = np.zeros(n), np.zeros(problem.b.size)
        one = np.ones
        self.s, self.z = one(problem.h.size), one(problem.h.size)
        self.sl, self.zl, self.su, self.zu = (
            one(self.low.size),
            one(self.low.size),
            one(self.high.size),
            one(self.high.size),
        )
        self.active = np.isfinite(problem.h)
        self.s[~self.active] = 1.0
        self.z[~self.active] = 0.0
        self._start()

    def _start(self) -> None:
        """A least-squares start: the minimum without inequalities, with slacks moved to the inside."""
        p = self.problem
        solve = self._factor(self._diagonal(1.0), np.ones(self.s.size))
        top = -p.q.copy()
        np.add.at(top, self.low, p.lower[self.low])
        np.add.at(top, self.high, p.upper[self.high])
        dx, dy, dz = solve(top, p.b, np.where(self.active, p.h, 0.0))
        self.x, self.y = dx, dy
        slack = [
            (np.where(self.active, p.h - p.G @ dx, 1.0)),
            dx[self.low] - p.lower[self.low],
            p.upper[self.high] - dx[self.high],
        ]
        shift = max([1.0, *(1.5 * float(np.max(-s, initial=0.0)) for s in slack)])
        self.s, self.sl, self.su = (np.maximum(s, 0.0) + shift for s in slack)
        self.z = np.where(self.active, np.maximum(dz, 0.0) + 1.0, 0.0)
        self.zl, self.zu = np.ones(self.low.size), np.ones(self.high.size)

    def _diagonal(self, value: float) -> np.ndarray:
        out = np.zeros(self.x.size)
        np.add.at(out, self.low, value)
        np.add.at(out, self.high, value)
        return out

    def bound_multiplier(self) -> np.ndarray:
        out = np.zeros(self.x.size)
        np.subtract.at(out, self.low, self.zl)
        np.add.at(out, self.high, self.zu)
        return out

    def _matrix(self) -> tuple[Any, np.ndarray]:
        """The matrix without D and W, dense if it is small, and its diagonal."""
        p, n, m = self.problem, self.x.size, self.y.size + self.s.size
        C = sp.vstack([p.A, p.G])
        K = sp.csc_array(sp.block_array([[p.P, C.T], [C, sp.csc_array((m, m))]])) if m else sp.csc_array(p.P)
        d = K.diagonal()
        if n + m <= SETTINGS.dense:
            return K.toarray(), d
        K = sp.csc_array(K + sp.diags_array(1.0 + np.abs(d)))  # so that every diagonal entry has a place
        K.sort_indices()
        column = np.repeat(np.arange(n + m), np.diff(K.indptr))
        self._places = np.flatnonzero(K.indices == column)
        return K, d

    def _factor(self, diagonal, W):
        """A function that solves the three rows of equations."""
        n, m, k = self.x.size, self.y.size, self.s.size
        if self._base is None:
            self._base = self._matrix()
        base, d = self._base
        K = base.copy()
        d = d + np.concatenate([diagonal, np.zeros(m), -W])
        signs = np.concatenate([np.ones(n), -np.ones(m + k)])
        shifted = d + signs * rounding.VANISHED * np.maximum(1.0, np.abs(d) * 1e-4)
        if isinstance(K, np.ndarray):
            np.fill_diagonal(K, shifted)
            inverse = partial(lu_solve, lu_factor(K, check_finite=False), check_finite=False)
            np.fill_diagonal(K, d)
        else:
            from scipy.sparse.linalg import splu  # slow to load

            K.data[self._places] = shifted
            options = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
            inverse = splu(K, **options).solve
            K.data[self._places] = d

        def solve(top, middle, bottom):
            r = np.concatenate([top, middle, bottom])
            out = inverse(r)
            for _ in range(SETTINGS.refinements):
                left = r - K @ out
                if _peak(left) <= 1e-14 * _peak(r):
                    break
                out = out + inverse(left)
            return out[:n], out[n : n + m], out[n + m :]

        return solve

    def on_face(self) -> tuple[np.ndarray, ...]:
        """x, y, z and the multipliers of the bounds if those rows and bounds hold exactly whose multipliers are larger
        than their slacks, and no others.

        The gap between objectives bounds the error of x only by its square root. Where the face is the right one, this
        is the solution, to rounding.
        """
        p, (low, high) = self.problem, (self.low[self.zl > self.sl], self.high[self.zu > self.su])
        x, z = self.x.copy(), np.where(self.z > self.s, self.z, 0.0)
        x[low], x[high] = p.lower[low], p.upper[high]
        held = np.zeros(x.size)
        held[low] = held[high] = HELD
        solve = self._factor(held, np.where(z > 0.0, 0.0, HELD))
        rest = -(p.P @ x + p.q + p.A.T @ self.y + p.G.T @ z)
        rest[held > 0.0] = 0.0
        dx, dy, dz = solve(rest, p.b - p.A @ x, np.where(z > 0.0, np.where(self.active, p.h, 0.0) - p.G @ x, 0.0))
        x, y, z = x + np.where(held > 0.0, 0.0, dx), self.y + dy, np.maximum(z + np.where(z > 0.0, dz, 0.0), 0.0)
        w = -(p.P @ x + p.q + p.A.T @ y + p.G.T @ z)
        w[low], w[high] = np.minimum(w[low], 0.0), np.maximum(w[high], 0.0)
        return x, y, z, np.where(held > 0.0, w, 0.0)

    def step(self) -> bool:
        """One step of predictor and corrector; False if it has no length or the arithmetic broke down."""
        p = self.problem
        low, high = self.low, self.high
        rd = -(p.P @ self.x + p.q + p.A.T @ self.y + p.G.T @ self.z + self.bound_multiplier())
        rp = p.b - p.A @ self.x
        rg = np.where(self.active, p.h - p.G @ self.x - self.s, 0.0)
        rl = p.lower[low] - self.x[low] + self.sl
        ru = p.upper[high] - self.x[high] - self.su
        diagonal = np.zeros(self.x.size)
        np.add.at(diagonal, low, self.zl / self.sl)
        np.add.at(diagonal, high, self.zu / self.su)
        W = np.where(self.active, self.s / np.maximum(self.z, 1e-300), HELD)
        try:
            solve = self._factor(diagonal, np.minimum(W, HELD))
        except RuntimeError:
            return False
        count = max(int(self.active.sum()) + low.size + high.size, 1)

        def direction(cs, cl, cu):
            # s z + s dz + z ds = c;  ds = rg - G dx for rows, dsl = dx - rl, dsu = ru - dx
            top = rd.copy()
            np.add.at(top, low, (cl + self.zl * rl) / self.sl)
            np.subtract.at(top, high, (cu - self.zu * ru) / self.su)
            bottom = np.where(self.active, rg - cs / np.maximum(self.z, 1e-300), 0.0)
            dx, dy, dz = solve(top, rp, bottom)
            dz = np.where(self.active, dz, 0.0)
            ds = np.where(self.active, rg - p.G @ dx, 0.0)
            dsl, dsu = dx[low] - rl, ru - dx[high]
            dzl = (cl - self.zl * dsl) / self.sl
            dzu = (cu - self.zu * dsu) / self.su
            return dx, dy, ds, dz, dsl, dzl, dsu, dzu

        def longest(step):
            _, _, ds, dz, dsl, dzl, dsu, dzu = step
            primal = min(_reach(self.s, ds), _reach(self.sl, dsl), _reach(self.su, dsu))
            dual = min(_reach(self.z, dz), _reach(self.zl, dzl), _reach(self.zu, dzu))
            return primal, dual

        product = float(self.s @ self.z + self.sl @ self.zl + self.su @ self.zu)
        mu = product / count
        first = direction(-self.s * self.z, -self.sl * self.zl, -self.su * self.zu)
        alpha = min(*longest(first), 1.0)
        _, _, ds, dz, dsl, dzl, dsu, dzu = first
        after = float(
            (self.s + alpha * ds) @ (self.z + alpha * dz)
            + (self.sl + alpha * dsl) @ (self.zl + alpha * dzl)
            + (self.su + alpha * dsu) @ (self.zu + alpha * dzu)
        )
        sigma = min(max(after / product, 0.0), 1.0) ** 3 if product > 0 else 0.0
        goal = sigma * mu
        second = direction(
            goal - self.s * self.z - ds * dz, goal - self.sl * self.zl - dsl * dzl, goal - self.su * self.zu - dsu * dzu
        )
        alpha = min(1.0, INSIDE * min(longest(second)))
        dx, dy, ds, dz, dsl, dzl, dsu, dzu = second
        if not np.isfinite(dx).all() or alpha < 1e-13:
            return False
        for name, change in zip(("x", "y", "s", "z", "sl", "zl", "su", "zu"), second):
            setattr(self, name, getattr(self, name) + alpha * change)
        return True


def _reach(v: np.ndarray, dv: np.ndarray) -> float:
    """How far v + α dv stays positive."""
    falls = dv < 0
    return float(np.min(v[falls] / -dv[falls], initial=np.inf))


def _reason(given: Quadratic) -> str:
    """ "infeasible" or "unbounded" if a linear program says so, else nothing."""
    from scipy.optimize import linprog  # slow to load, rarely needed

    rows = np.isfinite(given.h)
    G, h = sp.csr_array(given.G)[rows], given.h[rows]
    n = given.q.size
    sides = {"A_ub": G if h.size else None, "A_eq": given.A if given.b.size else None}
    box = np.stack([given.lower, given.upper], axis=1)
    there = {"b_ub": h if h.size else None, "b_eq": given.b if given.b.size else None}
    if linprog(np.zeros(n), **sides, **there, bounds=box).status == 2:
        return "infeasible"
    # A direction of the recession cone along which the objective falls.
    flat = sp.vstack([given.P, given.A], format="csr")
    cone = np.stack(
        [np.where(np.isfinite(given.lower), 0.0, -1.0), np.where(np.isfinite(given.upper), 0.0, 1.0)], axis=1
    )
    away = linprog(
        given.q, G if h.size else None, np.zeros(h.size) if h.size else None, flat, np.zeros(flat.shape[0]), cone
    )
    return "unbounded" if away.status == 0 and away.fun < -1e-7 * max(_peak(given.q), 1e-300) else ""
