"""Slacks and multipliers of a box, and the reduced Newton system they lead to (Takahashi–Batty §5).

With slacks `s = c(x)`, `c = x - lower` (sign +1) or `upper - x` (sign -1), and multipliers `z >= 0`, the
optimality conditions of `min f(x) - mu sum log s` are

    A x - b - J'z = 0,    s z = mu,    c(x) - s = 0,

and Newton's method on them, with Δs and Δz eliminated, is one symmetric M-matrix system (eq. 34–35):

    (A + W) Δx = b - A x + J'(mu/s + W (s - c)),   W = z/s (primal-dual) or mu/s² (primal).

Units: slacks are measured in `unit_x`, multipliers in `unit_z`, so that the paper's absolute constants
(s = z = 1 at the start, mu = 1e-20, epsilon = 1e-16) mean the same for all units of A and b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core import rounding
from ...kernels._vector import dot
from ...operators.masked import Masked
from ...problem.box import BoxProblem
from ...problem.monitor import Monitor


@dataclass(frozen=True)
class BarrierSettings:
    """What the interior-point methods share; `docs/explanation/settings.md` says what each is worth."""

    #: a residual must fall to this part of the best one to count as progress
    gain: float = 0.9
    #: rows whose diagonal is below this fraction of the median belong to slivers of cells
    sliver: float = 1e-2
    #: slack at the start of a row at its bound, as a part of |g|/d
    held: float = 1e-2
    #: more unknowns than this start from a coarser problem
    large: int = 1_000
    #: projected sweeps, there and back, after a prediction
    sweeps: int = 3


SETTINGS = BarrierSettings()


@dataclass
class BarrierSide:
    """Lower (`sign` +1) or upper (-1) bounds of the rows that have one, with slack s and multiplier z."""

    sign: float
    rows: np.ndarray | slice
    bound: np.ndarray
    s: np.ndarray
    z: np.ndarray
    ds: np.ndarray
    dz: np.ndarray
    #: rounding errors stay as they are
    literal: bool

    @classmethod
    def of(cls, bound: np.ndarray, sign: float, s: float, z: float, literal: bool) -> BarrierSide:
        finite = np.isfinite(bound)
        rows = slice(None) if finite.all() else np.flatnonzero(finite)
        own = bound[rows].copy()
        start = np.full(own.size, s), np.full(own.size, z)
        return cls(sign, rows, own, *start, np.zeros(own.size), np.zeros(own.size), literal)

    def gap(self, x: np.ndarray) -> np.ndarray:
        """c(x): how far x is inside its bound."""
        return self.sign * (x[self.rows] - self.bound)

    def excess(self, x: np.ndarray) -> np.ndarray:
        """s - c(x), with rounding errors set to zero: W = z/s would magnify them on rows that sit at their bound."""
        out = self.s - self.gap(x)
        if self.literal:
            return out
        out[np.abs(out) <= rounding.BOUND * (np.abs(x[self.rows]) + np.abs(self.bound))] = 0.0
        return out


class Barrier:
    """Both sides of the box of a problem, normalised by the size of the gradient at the start.

    The gradient at the start sets the units, not b, because it does not change when the origin of x is shifted. A
    `literal` barrier has the units of the problem, as printed, and treats all rows alike.
    """

    def __init__(
        self, problem: BoxProblem, gradient: np.ndarray, slack: float, multiplier: float, literal: bool = False
    ):
        positive = problem.A.diagonal[problem.A.diagonal > 0.0]
        stiffness = float(np.median(positive)) if positive.size else 1.0
        self.literal = literal
        self.unit_z = 1.0 if literal else float(np.abs(gradient).max(initial=0.0)) or 1.0
        self.unit_x = 1.0 if literal else self.unit_z / stiffness
        s, z = slack * self.unit_x, multiplier * self.unit_z
        bounds = (problem.box.lower, 1.0), (problem.box.upper, -1.0)
        sides = [BarrierSide.of(bound, sign, s, z, literal) for bound, sign in bounds]
        self.sides = [side for side in sides if side.bound.size]
        self.count = sum(side.bound.size for side in self.sides)

    def begin_at(self, x: np.ndarray, g: np.ndarray, diagonal: np.ndarray) -> None:
        """Start each row with the slack that x has, and the multiplier that g asks for.

        A row at its bound has a small part of |g|/d as its slack, so that it is held, but not for ever.
        """
        reach = np.divide(np.abs(g), diagonal, out=np.zeros_like(g), where=diagonal > 0.0)
        for side in self.sides:
            least = np.maximum(SETTINGS.held * reach[side.rows], rounding.SUM * self.unit_x)
            side.s = np.maximum(side.gap(x), 0.0) + least
            side.z = np.maximum(side.sign * g[side.rows], rounding.SUM * self.unit_z)

    def weights(self, mu: float, primal: bool) -> list[np.ndarray]:
        """W of each side; `mu` in units of s·z."""
        if primal:
            return [mu / side.s / side.s for side in self.sides]
        return [side.z / side.s for side in self.sides]

    def shift(self, weights: list[np.ndarray], out: np.ndarray) -> np.ndarray:
        """The diagonal J'WJ."""
        out[:] = 0.0
        for side, W in zip(self.sides, weights):
            out[side.rows] += W
        return out

    def right_side(self, x, minus_gradient, weights, complementarity, out: np.ndarray) -> np.ndarray:
        """-(A x - b) + J'(t/s + W (s - c)), where t is the target of s·z: mu, or mu - Δs Δz for a corrector."""
        out[:] = minus_gradient
        for side, W, t in zip(self.sides, weights, complementarity):
            out[side.rows] += side.sign * (t / side.s + W * side.excess(x))
        return out

    def newton(
        self, inverse, operator: Masked, r: np.ndarray, dx: np.ndarray, rtol: float, maxiter: int, monitor: Monitor
    ) -> int:
        """Improve Δx for `(A + W) Δx = r` and return the iterations.

        Rows with a large W hardly move, so their weight in the tolerance is small. But their Δz is W times their
        movement, and an error there would be large. So these rows are solved exactly at the end, by their diagonal. A
        `literal` barrier has the plain relative residual.
        """
        d = operator.diagonal
        goal = rtol * float(np.abs(r if self.literal else r * (d - operator.shift) / d).max(initial=0.0))
        result = inverse.solve(r, dx, rtol=0.0, atol=goal, maxiter=maxiter, watch=monitor.interrupted)
        monitor.record_curvature(result.negative)
        held = operator.shift > rounding.HELD * (d - operator.shift)
        if held.any() and not self.literal:
            rest = inverse.remainder(r, dx)
            dx[held] += rest[held] / d[held]
        return result.iterations

    def recover(self, x, dx, weights, complementarity) -> None:
        """Δs and Δz from Δx (eq. 37)."""
        for side, W, t in zip(self.sides, weights, complementarity):
            side.ds = side.sign * dx[side.rows] - side.excess(x)
            side.dz = t / side.s - side.z - W * side.ds

    def gap_measure(self) -> float:
        """s'z / m, the mean complementarity."""
        return sum(dot(side.s, side.z) for side in self.sides) / max(self.count, 1)

    def longest_steps(self) -> tuple[float, float]:
        """The largest steps, at most 1, that keep s and z non-negative."""
        primal = min((_longest(side.s, side.ds) for side in self.sides), default=1.0)
        dual = min((_longest(side.z, side.dz) for side in self.sides), default=1.0)
        return primal, dual

    def step_norm(self, dx: np.ndarray) -> float:
        """max(|Δx|, |Δs|, |Δz|) in 2-norms: the paper's stopping measure, in the units of this barrier.

        Rows without bounds have no slack and no multiplier, so they do not count in the norms of Δs and Δz.
        """
        ds = np.sqrt(sum(dot(side.ds, side.ds) for side in self.sides)) / self.unit_x
        dz = np.sqrt(sum(dot(side.dz, side.dz) for side in self.sides)) / self.unit_z
        return float(max(np.sqrt(dot(dx, dx)) / self.unit_x, ds, dz))


def _longest(value: np.ndarray, change: np.ndarray) -> float:
    falling = change < 0.0
    return float(min(1.0, (-value[falling] / change[falling]).min(initial=1.0)))


class Best:
    """Keeps the iterate with the smallest KKT residual; of those that reach the tolerance, the smallest row error."""

    def __init__(self, x: np.ndarray):
        self.x = x.copy()
        self.kkt = np.inf
        #: the step at which progress was last made
        self.gained = 0
        self._rank = (np.inf, np.inf)
        self._kkt = self._rows = np.inf

    def see(self, step: int, x: np.ndarray, monitor: Monitor) -> None:
        """Look at the x that the monitor has just checked."""
        kkt, papers = monitor.kkt, monitor.stopping.criterion == "papers"
        rows = np.inf if papers or kkt > monitor.asked else monitor.row_error(x).value
        rank = (kkt, rows) if papers else (max(kkt, monitor.asked), rows)
        if rank < self._rank:
            self._rank, self.kkt = rank, kkt
            self.x[:] = x
        if step == 0 and not papers:
            return  # beside a large b the residual is small at the start, and rises first
        if kkt < SETTINGS.gain * self._kkt or rows < SETTINGS.gain * self._rows:
            self.gained = step
        self._kkt, self._rows = min(kkt, self._kkt), min(rows, self._rows)
