"""Implicit diffusion with bounds as a box problem (Takahashi–Batty §6, eq. 40).

    (I + alpha L) q = q_old,   lower <= q <= upper,

on the cells of a body: L is the graph Laplacian over faces between two cells of the body, so nothing flows through
its surface (Neumann); cells of `fixed` bands hold their temperature (Dirichlet) and are not unknowns. alpha is
diffusivity · dt / dx². With alpha = inf the problem is the equilibrium, `L q = 0` between the bands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..core import validate
from ..core.options import suggesting
from ..errors import NonstickError
from ..grid.faces import lower, upper
from ..operators.base import row_sums
from ..operators.rows import Rows
from ..operators.stencil import StencilOperator
from ..problem.box import BoxProblem
from ..problem.solution import Solution
from .base import OnCells, extended
from .fields import checked_array, positive


@dataclass(repr=False)
class DiffusionSolution(Solution):
    """A solution with its field on the grid."""

    #: temperature over the grid: solved in the body, as given in fixed cells and outside
    temperature: np.ndarray = field(default_factory=lambda: np.zeros(()), repr=False)


class DiffusionProblem(OnCells):
    """One implicit step of heat diffusion, with bounds on the temperature.

    Parameters
    ----------
    temperature : ndarray
        2D or 3D array over cells: the present state, and the values of fixed cells.
    alpha : float
        diffusivity · dt / dx², or inf for the equilibrium.
    inside : ndarray of bool, optional
        The cells of the body. Without this and without `phi`, the body is the whole grid.
    phi : ndarray, optional
        Signed distance at cell centres, negative inside the body.
    fixed : ndarray of bool, optional
        Cells that keep their temperature; bounds do not apply to them.
    lower, upper : float or ndarray
        Bounds, numbers or arrays over cells; ±inf for none.

    Examples
    --------
    A plate between a hot and a cold edge, at rest:

    >>> import numpy as np, nonstick
    >>> T = np.zeros((5, 3))
    >>> T[0] = 1.0
    >>> fixed = np.zeros((5, 3), bool)
    >>> fixed[[0, -1]] = True
    >>> nonstick.DiffusionProblem(temperature=T, alpha=np.inf, fixed=fixed).solve().temperature[:, 1].round(3)
    array([1.  , 0.75, 0.5 , 0.25, 0.  ])
    """

    @suggesting
    def __init__(
        self,
        *,
        temperature: np.ndarray,
        alpha: float,
        inside: np.ndarray | None = None,
        phi: np.ndarray | None = None,
        fixed: np.ndarray | None = None,
        lower: np.ndarray | float = -np.inf,
        upper: np.ndarray | float = np.inf,
    ):
        self.temperature = validate.numbers(temperature, "temperature").astype(np.float64, copy=False)
        self.shape: tuple[int, ...] = self.temperature.shape
        if self.temperature.ndim not in (2, 3):
            raise NonstickError(f"temperature must be a 2D or 3D array over cells, not of shape {self.shape}")
        self.alpha = np.inf if isinstance(alpha, float) and alpha == np.inf else positive(alpha, "alpha")
        if inside is not None and phi is not None:
            raise NonstickError("give either inside or phi, not both")
        over_cells = partial(checked_array, shape=self.shape, finite=False)
        if phi is not None:
            inside = over_cells("phi", phi) < 0
        everywhere = np.ones(self.shape, bool)
        self.inside = everywhere if inside is None else over_cells("inside", inside).astype(bool, copy=False)
        self.fixed = ~everywhere if fixed is None else over_cells("fixed", fixed).astype(bool) & self.inside
        if not np.isfinite(self.temperature[self.inside]).all():
            raise NonstickError("temperature holds NaN or infinite values inside the body")
        self.rows = Rows.from_mask(self.inside & ~self.fixed)
        A, b = self._assemble()
        low, high = self.per_cell("lower", lower, finite=False), self.per_cell("upper", upper, finite=False)
        self.problem = BoxProblem(A, b, *validate.bounds(low, high, self.rows.n))

    # -- the box problem ------------------------------------------------------------------------------

    def first_guess(self):
        return self.as_vector(self.temperature)

    def with_fields(self, solution: Solution) -> DiffusionSolution:
        temperature = self.temperature.copy()
        temperature.ravel()[self.rows.cells] = solution.x
        return extended(DiffusionSolution, solution, temperature=temperature)

    # -- building -------------------------------------------------------------------------------------

    def _assemble(self) -> tuple[StencilOperator, np.ndarray]:
        steady = np.isinf(self.alpha)
        alpha, own = (1.0, 0.0) if steady else (self.alpha, 1.0)
        diagonal = np.full(self.shape, own)
        b = own * self.temperature
        held = np.where(self.fixed, self.temperature, 0.0)
        weights = [np.zeros(self.rows.n) for _ in range(3)]
        free = self.inside & ~self.fixed
        for axis in range(len(self.shape)):
            linked = alpha * (lower(self.inside, axis) & upper(self.inside, axis))
            for side, other in ((lower, upper), (upper, lower)):
                side(diagonal, axis)[...] += linked
                side(b, axis)[...] += linked * other(held, axis)
            between = np.zeros(self.shape)
            lower(between, axis)[...] = alpha * (lower(free, axis) & upper(free, axis))
            weights[axis - len(self.shape)] = self.rows.from_grid(between)
        A = StencilOperator(self.rows, (weights[0], weights[1], weights[2]), self.rows.from_grid(diagonal))
        if steady:
            self._check_parts(A)
        return A, self.rows.from_grid(b)

    def _check_parts(self, A: StencilOperator) -> None:
        """Check that every part of the body has a fixed cell, which an equilibrium needs."""
        count, label = A.components()
        touches = np.bincount(label, weights=row_sums(A), minlength=count)
        if np.any(touches < 0.5):
            raise NonstickError(
                "a part of the body has no fixed cell, so its equilibrium is not unique: "
                "fix a cell there, or use a finite alpha"
            )
