"""Any recipe of nonstick as a preconditioner for SciPy, PyAMG's Krylov methods and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compositions import AMG, CYCLE, MODES
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
