"""Recipes or methods in order of preference: where one does not fit, is too weak or fails, the next one takes over.

This is the one way to try something else. A step that does not fit is never used: a recipe asks the operator
(`Recipe.fits`), a method the problem (`Method.check`, and conditions). Beside a step stands when one that fits is left:
`Trial`, if it is far from exact when it is set up; `Within`, if a solve fails or takes too many iterations. Without it
the step is the last. A recipe that was left stays left: for every later right-hand side, and for every later free set.
Where a step has made x worse, the next one begins where it began.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from ..operators.base import Operator
from .base import Inverse, IterativeInverse, LinearResult, Recipe

Part = TypeVar("Part")


@dataclass(frozen=True)
class Trial:
    """A recipe is used if two applications leave less than `part` of a smooth residual, on the whole matrix.

    ILU(0) of a matrix whose couplings nearly all point one way, in the order of its rows, is nearly the matrix itself:
    dominant convection. Where diffusion dominates, or where the flow turns in circles, it hardly moves smooth
    residuals. Two applications tell the two apart: they left at most a third where BiCGStab took at most 7 iterations,
    and 0.9 or more where it took 30 or more.
    """

    part: float = 0.5

    def passed(self, recipe: Recipe, operator: Operator) -> Inverse | None:
        """The inverse for the operator; None if it is not exact enough."""
        core = operator.core
        inverse = recipe.setup(core)
        if not self._remainder(core, inverse) < self.part:
            return None
        return inverse if operator is core else recipe.setup(operator, inverse)

    @staticmethod
    def _remainder(A: Operator, inverse: Inverse) -> float:
        b = A.diagonal
        x, z = np.zeros(A.n), np.empty(A.n)
        r = b.copy()
        for _ in range(2):
            x += inverse.apply(r, z)
            A.residual(b, x, r)
        return float(np.linalg.norm(r) / np.linalg.norm(b)) if A.n else 0.0


@dataclass(frozen=True)
class Within:
    """A step is left if it fails, or has not converged after `iterations`; a recipe also if it then reduces the
    residual by less than `pace` an iteration."""

    iterations: float = np.inf
    pace: float = 0.0


class Steps(Generic[Part]):
    """Base of cascades: steps in the order of preference, each alone or as a pair `(when, step)`."""

    steps: tuple[Part | tuple[Any, Part], ...]

    @property
    def pairs(self) -> list[tuple[Any, Part]]:
        """All steps as pairs; None where nothing is said of when a step is used or left."""
        return [step if isinstance(step, tuple) else (None, step) for step in self.steps]

    def with_steps(self, pairs: list[tuple[Any, Part]]) -> Any:
        """A cascade of the same kind with these steps."""
        return type(self)(tuple(step if when is None else (when, step) for when, step in pairs))  # type: ignore[call-arg]


@dataclass(frozen=True)
class Cascade(Steps[Recipe], Recipe):
    """The first recipe that fits, until it is left; then the next one that fits.

    Parameters
    ----------
    steps : tuple
        Recipes in the order of preference, each alone or as a pair `(when, recipe)`; `when` is a `Trial` or a `Within`.

    Examples
    --------
    Blocks of cells on grids, smoothed aggregation for bare matrices:

    >>> from nonstick.compositions import SAAMG
    >>> from nonstick.inverse import Blocks, Cascade, Multigrid
    >>> from nonstick.operators.csr import CSROperator
    >>> cycle = Cascade((Multigrid(Blocks()), SAAMG))
    >>> cycle.chosen(CSROperator([[2.0, -1.0], [-1.0, 2.0]])) == SAAMG
    True

    A Krylov method that may stall, and a factor that does not:

    >>> import numpy as np
    >>> from nonstick.inverse import BiCGStab, Direct, ILU, Within
    >>> A = CSROperator([[2.0, -1.5], [-0.5, 2.0]], symmetric=False)
    >>> inverse = Cascade(((Within(300), BiCGStab(ILU())), Direct())).setup(A)
    >>> inverse.apply(np.array([1.0, 1.0]), np.empty(2)).round(6)
    array([1.076923, 0.769231])

    A cheap preconditioner where it is nearly exact:

    >>> import scipy.sparse as sp
    >>> from nonstick.inverse import Algebraic, Trial
    >>> M = Cascade(((Trial(), ILU()), Multigrid(Algebraic())))
    >>> T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(30, 30))
    >>> one_way = sp.diags_array([-1.0, 1.001, -0.001], offsets=[-1, 0, 1], shape=(30, 30))
    >>> diffusion = CSROperator(sp.kron(T, sp.eye_array(30)) + sp.kron(sp.eye_array(30), T), symmetric=False)
    >>> convection = CSROperator(sp.kron(one_way, sp.eye_array(30)) + 0.001 * diffusion.matrix(), symmetric=False)
    >>> [M.setup(A).step for A in (diffusion, convection)]
    [1, 0]
    """

    steps: tuple[Recipe | tuple[Trial | Within, Recipe], ...]

    @property
    def _conditional(self) -> bool:
        """True if more than the operator decides which recipe is used."""
        return any(isinstance(step, tuple) for step in self.steps)

    @property
    def general(self) -> bool:
        return all(recipe.general for _, recipe in self.pairs)

    @property
    def label(self):
        return self.pairs[0][1].label

    def fits(self, operator):
        return any(recipe.fits(operator) for _, recipe in self.pairs)

    def chosen(self, operator):
        """What is left of it for this operator."""
        left = self.fitting(operator) or [len(self.steps) - 1]
        if not self._conditional:
            return self.pairs[left[0]][1].chosen(operator)
        return self.with_steps([(when, recipe.chosen(operator)) for when, recipe in (self.pairs[k] for k in left)])

    def setup(self, operator, reuse=None):
        if not self._conditional:
            return self.chosen(operator).setup(operator, reuse)
        if reuse is None:
            inverse = self._set_up(operator, 0) or self.pairs[-1][1].setup(operator)
        else:
            reuse = reuse.inverse if isinstance(reuse, InTurn) else reuse
            inverse = self.pairs[reuse.step][1].setup(operator, reuse)
            inverse = inverse if inverse is reuse else self._noted(inverse, reuse.step)
        can_fail = isinstance(inverse, IterativeInverse) and inverse.patience is not None
        return InTurn(self, operator, inverse) if can_fail else inverse

    def following(self, operator, step):
        return self._set_up(operator, step + 1)

    def fitting(self, operator: Operator, first: int = 0) -> list[int]:
        """The steps from `first` on whose recipes fit the operator."""
        return [k for k, (_, recipe) in enumerate(self.pairs) if k >= first and recipe.fits(operator)]

    def _set_up(self, operator: Operator, first: int) -> Inverse | None:
        """The inverse of the first recipe from a step on that fits and passes its trial; None if there is none."""
        left = self.fitting(operator, first)
        for k in left:
            when, recipe = self.pairs[k]
            tried = when if isinstance(when, Trial) and k != left[-1] else None
            inverse = recipe.setup(operator) if tried is None else tried.passed(recipe, operator)
            if inverse is not None:
                return self._noted(inverse, k)
        return None

    def _noted(self, inverse: Inverse, step: int) -> Inverse:
        when, recipe = self.pairs[step]
        inverse.step, inverse.label = step, recipe.label
        inverse.patience = when if isinstance(when, Within) else None
        return inverse


class InTurn(IterativeInverse):
    """The solver of a cascade that is at work; the next one takes over where it fails."""

    #: told the words for the next solver and the reason, each time one is left
    report: Callable[[str, str], None] | None = None

    def __init__(self, recipe: Cascade, A: Operator, inverse: IterativeInverse):
        self.recipe, self.A, self.inverse = recipe, A, inverse
        self.rtol, self.maxiter = inverse.rtol, 10_000

    @property
    def hierarchy(self):
        return self.inverse.hierarchy

    @property
    def notes(self):
        return self.inverse.notes

    def advance(self, reason: str) -> bool:
        """Leave the solver at work; False if it is the last one."""
        step = self.inverse.step
        if not self.recipe.fitting(self.A, step + 1):
            return False
        del self.inverse  # its memory is free for the next one
        following = self.recipe.following(self.A, step)
        assert isinstance(following, IterativeInverse)
        self.inverse = following
        if self.report is not None:
            self.report(following.label, reason)
        return True

    def solve(self, b, x, *, rtol=None, atol=0.0, maxiter=None, watch=None):
        limit = self.maxiter if maxiter is None else maxiter
        done, negative = 0, False
        while True:
            last, before = self.inverse.patience is None, x.copy()
            options = {"rtol": rtol, "atol": atol, "maxiter": max(limit - done, 1)}
            result, stopped = self._solve(b, x, watch, done > 0, **options)
            done += result.iterations
            negative |= result.negative
            ended = result.converged or stopped or (done >= limit and np.isfinite(result.residual))
            if last or ended or not self.advance(f"no convergence in {result.iterations} iterations"):
                return LinearResult(done, result.residual, result.converged, result.history, negative)
            if not result.residual < result.history[0]:  # also if it is NaN
                x[:] = before

    def _solve(self, b, x, watch, known: bool, **options) -> tuple[LinearResult, bool]:
        """A solve by the one at work, and whether the caller ended it. `known`: the caller knows the first residual."""
        when, residuals, stopped = self.inverse.patience, [], False

        def seen(residual: float) -> bool:
            nonlocal stopped
            residuals.append(residual)
            if watch is not None and (len(residuals) > 1 or not known):
                stopped = watch(residual)
            count = len(residuals) - 1
            slow = when is not None and count >= when.iterations and residual > residuals[0] * when.pace**count
            return stopped or slow

        return self.inverse.solve(b, x, watch=seen, **options), stopped
