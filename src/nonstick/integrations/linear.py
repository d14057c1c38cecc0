"""Any recipe of nonstick as a preconditioner for SciPy, PyAMG's Krylov methods and others.

Also scikit-fem: a `solver=` for `skfem.solve`, with or without bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..api import solve
from ..compositions import AMG, CYCLE, MODES
from ..errors import NonstickError
from ..inverse.base import Recipe
from ..problem.given import Given, Modes


def aspreconditioner(
    A: Any,
    recipe: Recipe | None = None,
    *,
    cells: Any = None,
    near_null: Any = None,
    nodes: Any = None,
    block: int | None = None,
) -> Any:
    """A `scipy.sparse.linalg.LinearOperator` that applies one cycle, as PyAMG's method of the same name.

    Parameters
    ----------
    A : scipy.sparse matrix or 2-D array
        Symmetric and positive definite.
    recipe : Recipe, optional
        What is applied; the cycle of `auto` if not given.
    cells, near_null, nodes, block
        As for `nonstick.solve`.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator
        For `M=` of `scipy.sparse.linalg.cg` and of others.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from scipy.sparse.linalg import cg
    >>> from nonstick.integrations import aspreconditioner
    >>> T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(40, 40))
    >>> A = sp.csr_array(sp.kron(T, sp.eye_array(40)) + sp.kron(sp.eye_array(40), T))
    >>> steps = []
    >>> x, failed = cg(A, np.ones(1600), rtol=1e-8, M=aspreconditioner(A), callback=steps.append)
    >>> failed, len(steps) < 20
    (0, True)
    """
    from scipy.sparse.linalg import LinearOperator  # slow to load

    modes = Modes.of(near_null, nodes, block)
    given = Given(A, cells, modes=modes)
    if recipe is None:
        recipe = MODES if modes is not None else CYCLE if given.operator.stencil is not None else AMG
        recipe = recipe if recipe.fits(given.operator) else CYCLE
    inverse = recipe.setup(given.operator)

    def apply(r: np.ndarray) -> np.ndarray:
        r = given.enter(np.ascontiguousarray(np.ravel(r), dtype=np.float64))
        return given.leave(inverse.apply(r, np.empty(given.n)))

    return LinearOperator((given.n, given.n), matvec=apply, rmatvec=apply, dtype=np.float64)


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
