"""The linear solve inside policy iteration and the penalty method, and what happens when it fails."""

from __future__ import annotations

import numpy as np

from ..inverse.base import Inverse, IterativeInverse
from ..inverse.krylov.cg import _CG
from ..inverse.krylov.richardson import _Richardson
from ..operators.base import Operator
from ..problem.monitor import Monitor


def solve_inner(
    inverse: Inverse, A: Operator, b: np.ndarray, x: np.ndarray, atol: float, maxiter: int, monitor: Monitor
) -> bool:
    """Improve x until max|b - A x| <= atol; counts the iterations in the monitor. True if it converged.

    A multigrid iteration that does not converge (a matrix far from a discretised Laplacian) is repeated as the
    preconditioner of CG, which cannot diverge, and the monitor notes it.
    """
    if not isinstance(inverse, IterativeInverse):  # a direct solver: one correction of the residual
        x += inverse.apply(A.residual(b, x, np.empty_like(b)), np.empty_like(x))
        monitor.iterations += 1
        return True
    rescued = isinstance(inverse, _Richardson) and "rescued" in monitor.notes
    if not rescued:
        before = x.copy() if isinstance(inverse, _Richardson) else x
        result = inverse.solve(
            b, x, rtol=0.0, atol=atol, maxiter=min(maxiter, inverse.maxiter), watch=monitor.interrupted
        )
        monitor.iterations += result.iterations
        monitor.record_curvature(result.negative)
        if result.converged or monitor.status or not isinstance(inverse, _Richardson):
            return result.converged
        if not result.residual < result.history[0]:  # also if it is NaN
            x[:] = before
        monitor.notes["rescued"] = "cg"
        monitor.notes["finished_by"] = "CG"
        monitor.remark("the multigrid iteration did not converge on its own and was accelerated by CG")
        maxiter -= result.iterations
    cg = _CG(A, inverse.M, 0.0, maxiter)  # type: ignore[attr-defined]
    result = cg.solve(b, x, rtol=0.0, atol=atol, maxiter=maxiter, watch=monitor.interrupted)
    monitor.iterations += result.iterations
    monitor.record_curvature(result.negative)
    return result.converged
