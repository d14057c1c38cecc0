"""The pressure of a step on many ranks: active sets, with CG and the diagonal as its preconditioner.

Every rank has the rows of its own cells and of its ghost cells. The values of ghosts come from their owners before A is
applied, and only own rows count in sums. Nothing else is shared, so the iterations are those of one process; their
number grows with the size of the grid, because nothing coarser is solved.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ..operators.rows import Rows
from ..problem.box import BoxProblem
from ..problem.history import History
from ..problem.solution import Solution
from .comm import Comm

#: sets that are tried, and iterations of CG on all of them
SETS = 100
ITERATIONS = 5000
#: CG stops at this share of the tolerance
STRICT = 0.2


def solve_rows(
    comm: Comm, problem: BoxProblem, rows: Rows, own: np.ndarray, fill: Callable[[np.ndarray], None],
    x0: np.ndarray | None, rtol: float, maxiter: int | None,
) -> Solution:  # fmt: skip
    """Solve a problem with lower bounds of which this rank has some rows.

    Parameters
    ----------
    rows : Rows
        Of the problem: own cells and ghosts.
    own : ndarray
        Mask of the own rows.
    fill : callable
        Gives the ghost cells of an array over cells the values of their owners.
    x0 : ndarray, optional
        Where to start.
    """
    began = time.perf_counter()
    A, b, lower, d = problem.A, problem.b, problem.box.lower, problem.A.diagonal
    out = np.empty_like(b)

    def filled(values: np.ndarray) -> np.ndarray:
        grid = rows.to_grid(values)
        fill(grid)
        return rows.from_grid(grid)

    def dot(p: np.ndarray, q: np.ndarray) -> float:
        return comm.total(float(p[own] @ q[own]))

    def largest(values: np.ndarray) -> float:
        return comm.largest(float(np.abs(values[own]).max(initial=0.0)))

    def error(x: np.ndarray, g: np.ndarray) -> float:
        return largest(d * (x - np.maximum(x - g / d, lower))) / scale

    scale = largest(b) or 1.0
    x = filled(np.maximum(np.zeros_like(b) if x0 is None else x0, lower))
    g = A.apply(x, out) - b
    found, count, sets = error(x, g), 0, 0
    history = History()
    limit = ITERATIONS if maxiter is None else maxiter
    while found > rtol and sets < SETS and count < limit:
        sets += 1
        free = (x - g / d >= lower) & own  # ties are free
        x = filled(np.where(x - g / d >= lower, x, lower))
        r = np.where(free, b - A.apply(x, out), 0.0)
        z = r / d
        p, rz = filled(z), dot(r, z)
        while rz > 0.0 and count < limit and largest(r) > STRICT * rtol * scale:
            q = np.where(free, A.apply(p, out), 0.0)
            curvature = dot(p, q)
            if curvature <= 0.0:  # closed liquid whose pressure has no level
                break
            step = rz / curvature
            x += step * p
            r -= step * q
            z = r / d
            rz, before = dot(r, z), rz
            p = filled(z + (rz / before) * p)
            count += 1
        x = filled(np.maximum(x, lower))
        g = A.apply(x, out) - b
        found = error(x, g)
        history.append(found)
    done = found <= rtol
    message = "the residual is below the tolerance" if done else f"the residual is {found:.1e} after {count} iterations"
    return Solution(
        problem, x, g, "jacobi-cg", done, "converged" if done else "maxiter", message, count, sets, history,
        time.perf_counter() - began, 0.0, {"kkt": found},
    )  # fmt: skip
