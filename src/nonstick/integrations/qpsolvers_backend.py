"""qpsolvers: nonstick as one of its back ends, `qpsolvers.solve_qp(…, solver="nonstick")`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.optional import need
from ..forms import qp


def register_qpsolvers() -> None:
    """Add `"nonstick"` to the solvers of qpsolvers, in this process.

    Examples
    --------
    >>> import nonstick.integrations
    >>> nonstick.integrations.register_qpsolvers()  # doctest: +SKIP
    >>> qpsolvers.solve_qp(P, q, lb=lb, solver="nonstick")  # doctest: +SKIP
    """
    need("integrations", "qpsolvers")
    import qpsolvers
    from qpsolvers import solvers

    solvers.solve_function["nonstick"] = nonstick_solve_problem
    for names in (solvers.available_solvers, qpsolvers.available_solvers, solvers.sparse_solvers):
        if "nonstick" not in names:
            names.append("nonstick")


def nonstick_solve_problem(problem: Any, initvals: Any = None, verbose: bool = False, **options: Any) -> Any:
    """Solve a `qpsolvers.Problem`; options are those of `nonstick.qp`.

    Parameters
    ----------
    problem : qpsolvers.Problem
        The quadratic program.
    initvals : array_like, optional
        Where to start, if there are bounds only.
    verbose : bool
        Print the message of the solution.

    Returns
    -------
    qpsolvers.Solution
        x, the multipliers and whether it was found.
    """
    from qpsolvers import Solution

    P, q, G, h, A, b, lb, ub = problem.unpack()
    options.setdefault("rtol", 1e-9)
    found = qp(P, q, G, h, A, b, lb, ub, x0=initvals, **options)
    if verbose:
        print(found.message)
    bounded = lb is not None or ub is not None
    out = Solution(problem)
    out.found = found.success
    out.x, out.obj = (found.x, found.fun) if found.success else (None, None)
    out.y = found.y if b is not None else np.empty(0)
    out.z = found.z if h is not None else np.empty(0)
    out.z_box = found.z_box if bounded else np.empty(0)
    out.extras = {"iterations": found.iterations, "status": found.status, "message": found.message}
    return out
