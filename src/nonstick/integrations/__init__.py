"""nonstick inside other packages: qpsolvers, CVXPY, scikit-fem, and anything that takes a `LinearOperator`.

Nothing here loads the other package before its function is called; the extra `integrations` installs all of them.

>>> from nonstick import integrations
>>> sorted(integrations.__all__)
['aspreconditioner', 'cvxpy_solver', 'register_qpsolvers', 'skfem_solver']
"""

from __future__ import annotations

from .linear import aspreconditioner, skfem_solver
from .programs import cvxpy_solver, register_qpsolvers

__all__ = ["aspreconditioner", "cvxpy_solver", "register_qpsolvers", "skfem_solver"]
