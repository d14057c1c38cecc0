"""A cheap preconditioner where a trial shows that it is nearly exact, another one elsewhere.

ILU(0) of a matrix whose couplings nearly all point one way, in the order of its rows, is nearly the matrix itself:
convection that rules. Where diffusion rules, or where the flow turns in circles, it hardly moves smooth residuals.
Two applications to a smooth residual tell the two apart: they left at most a third where BiCGStab took at most 7
iterations, and 0.9 or more where it took 30 or more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...operators.base import Operator
from ..base import Inverse, Recipe


@dataclass(frozen=True)
class Tried(Recipe):
    """`first` where it is nearly exact, or where `otherwise` does not fit; `otherwise` elsewhere.

    The trial is made at the first set-up, on the whole matrix; free sets keep its outcome.

    Parameters
    ----------
    first : Recipe
        A cheap preconditioner.
    otherwise : Recipe
        A stronger one.
    part : float
        `first` stays if two applications leave less than this part of a smooth residual.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from nonstick.inverse import ILU, Algebraic, Multigrid, Tried
    >>> from nonstick.operators.csr import CSROperator
    >>> M = Tried(ILU(), Multigrid(Algebraic()))
    >>> T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(30, 30))
    >>> one_way = sp.diags_array([-1.0, 1.001, -0.001], offsets=[-1, 0, 1], shape=(30, 30))
    >>> diffusion = CSROperator(sp.kron(T, sp.eye_array(30)) + sp.kron(sp.eye_array(30), T), symmetric=False)
    >>> convection = CSROperator(sp.kron(one_way, sp.eye_array(30)) + 0.001 * diffusion.matrix(), symmetric=False)
    >>> [type(M.setup(A).recipe).__name__ for A in (diffusion, convection)]
    ['Multigrid', 'ILU']
    """

    first: Recipe
    otherwise: Recipe
    part: float = 0.5

    def setup(self, operator, reuse=None):
        if isinstance(reuse, _Tried):
            return _Tried(reuse.recipe, reuse.recipe.setup(operator, reuse.inverse))
        core = operator.core
        trial = self.first.setup(core)
        if not self.otherwise.fits(operator) or self._remainder(core, trial) < self.part:
            return _Tried(self.first, trial if operator is core else self.first.setup(operator, trial))
        return _Tried(self.otherwise, self.otherwise.setup(operator))

    @staticmethod
    def _remainder(A: Operator, inverse: Inverse) -> float:
        """The part that two applications leave of a smooth residual."""
        b = A.diagonal
        x, z = np.zeros(A.n), np.empty(A.n)
        r = b.copy()
        for _ in range(2):
            x += inverse.apply(r, z)
            A.residual(b, x, r)
        left = float(np.linalg.norm(r) / np.linalg.norm(b)) if A.n else 0.0
        return left if np.isfinite(left) else np.inf


class _Tried(Inverse):
    def __init__(self, recipe: Recipe, inverse: Inverse):
        self.recipe, self.inverse = recipe, inverse

    @property
    def notes(self) -> Mapping[str, object]:  # type: ignore[override]
        return self.inverse.notes

    @property
    def algebraic(self):
        return self.inverse.algebraic

    def apply(self, r, out):
        return self.inverse.apply(r, out)
