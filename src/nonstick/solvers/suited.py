"""A method that selects among methods."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import NonstickError
from .base import Method


@dataclass(frozen=True)
class Suited(Method):
    """The first of several methods that can treat the problem.

    Parameters
    ----------
    methods : tuple of Method
        In the order of preference.

    Examples
    --------
    >>> import nonstick
    >>> from nonstick.inverse import CG, GMRES
    >>> from nonstick.solvers import PolicyIteration, Suited
    >>> method = Suited((PolicyIteration(CG()), PolicyIteration(GMRES())))
    >>> problem = nonstick.BoxProblem([[2.0, -1.5], [-0.5, 2.0]], [1.0, 1.0])
    >>> method.chosen(problem).inner
    GMRES(M=NoPreconditioner(), restart=50, rtol=1e-08, maxiter=10000)
    """

    methods: tuple[Method, ...]

    @property
    def treats(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset().union(*(method.treats for method in self.methods))

    def check(self, problem):
        self.chosen(problem)

    def chosen(self, problem):
        refusal: NonstickError | None = None
        for method in self.methods:
            try:
                method.check(problem)
                return method.chosen(problem)
            except NonstickError as error:
                refusal = refusal or error
        assert refusal is not None
        raise refusal

    def solve(self, problem, start, monitor):
        self.chosen(problem).solve(problem, start, monitor)
