"""scikit-fem: a `solver=` for `skfem.solve`, with or without bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..api import solve
from ..errors import NonstickError


def skfem_solver(lower: Any = None, upper: Any = None, **options: Any) -> Callable[..., np.ndarray]:
    """A solver for `skfem.solve(A, b, …, solver=…)`: of the linear system, or of the problem with bounds.

    Parameters
    ----------
    lower, upper : float or array_like, optional
        Bounds on the unknowns that the system which scikit-fem hands over has: after `condense`, the free ones.
    **options
        Everything else that `nonstick.solve` takes: `rtol`, `nodes`, `near_null`, …

    Returns
    -------
    callable
        (A, b) ↦ x.

    Examples
    --------
    >>> from nonstick.integrations import skfem_solver
    >>> skfem_solver(lower=0.0)([[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0]).round(6)
    array([0.5, 0. ])
    """

    def solver(A: Any, b: Any, **solve_time: Any) -> np.ndarray:
        solution = solve(A, b, lower, upper, **(options | solve_time))
        if not solution.converged:
            raise NonstickError(f"the system of scikit-fem was not solved: {solution.message}")
        return np.asarray(solution.x)

    return solver
