"""Algebraic multigrid for any sparse matrix: the cycle of `auto` where there is no grid.

    Multigrid(Algebraic(), cycle=K())

is a cycle for `F A F + (I - F) + D` with a free set F and a shift D, in single precision:

- coarse rows are some of the fine ones, chosen by Ruge and Stüben's first pass (`_interpolation`). They follow strong
  couplings whatever the angle of an anisotropy;
- if that leaves nearly half of the rows although all directions are strong, as in isotropic 3D, fewer are chosen;
- other rows are interpolated from coarse rows up to two couplings away, at most four of them (`_interpolation`), with
  weights that the equations of the rows give. Where positive couplings matter there are six on the finest level, and
  V-cycles visit two coarser levels twice;
- Gauss–Seidel by colours, one sweep on the way down and the reversed sweep on the way up (`_matrix`);
- a diagonal scaling first (`near_null`): constants are then smooth for D·A·D as for A.

A matrix that is not symmetric may be nearly an M-matrix, as upwind differences of convection are: nothing here needs
a_ij = a_ji, only places for both. The cycle is then a preconditioner for BiCGStab or GMRES.

A new free set keeps coarse rows, interpolation and patterns; the values of coarse rows that depend on rows which
entered or left it are computed again. Coarse matrices that were not up to date, even by one row in a hundred, took
twice the iterations. New values in the same pattern are filled in by `refill`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ....errors import NonstickError
from ....kernels._csr import _count_unfit
from ....kernels._vector import BLOCK
from ....operators.base import Operator
from ..hierarchy import Coarsening, Hierarchy, Multigrid, descend
from ..smoothers import RedBlack
from . import _interpolation as rows
from . import _matrix as kernels
from .level import AlgebraicLevel, Interpolation, Matrix, colours
from .near_null import SETTINGS, near_null, off_diagonals


@dataclass(frozen=True)
class Algebraic(Coarsening):
    """Coarse rows by Ruge and Stüben with interpolation of long range; needs no grid.

    Parameters
    ----------
    theta
        A coupling is strong if it is at least this part of the largest one of its row.
    cut
        Entries of P that are smaller than this part of the largest one in their row are cut off.
    dominant
        Rows whose diagonal is at least this many times the sum of their couplings are left to the smoother.
    least
        Matrices with at most this many unknowns are better solved by a dense factor: they do not fit.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from nonstick.inverse import CG, Algebraic, Multigrid
    >>> from nonstick.operators.csr import CSROperator
    >>> T = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(40, 40))
    >>> A = CSROperator(sp.kron(T, sp.eye_array(40)) + 1e-3 * sp.kron(sp.eye_array(40), T))
    >>> x, cg = np.zeros(1600), CG(Multigrid(Algebraic())).setup(A)
    >>> cg.solve(np.ones(1600), x, rtol=1e-8).iterations < 25
    True
    """

    theta: float = 0.25
    cut: float = 0.1
    dominant: float = 3.0
    least: int = 300

    def fits(self, A):
        """Enough unknowns; and if A is not symmetric, nearly an M-matrix."""
        if not A.has_entries or A.n <= self.least:
            return False
        if A.symmetric:
            return True
        M = A.core.matrix()
        return _count_unfit(M.data, M.indices, M.indptr) <= SETTINGS.few * A.n

    def hierarchy(self, multigrid, operator, reuse):
        if multigrid.smoother != RedBlack():
            raise NonstickError(
                f"Algebraic() relaxes many colours by Gauss–Seidel and cannot use {multigrid.smoother!r}: "
                "take Smoothed() or Pairwise() for other smoothers of a bare matrix"
            )
        if multigrid.dtype not in (None, np.float32):
            raise NonstickError("Algebraic() keeps its matrices in float32; take Smoothed() or Pairwise() for float64")
        suited = isinstance(reuse, AlgebraicHierarchy) and reuse.outdated(operator)
        kept = isinstance(reuse, AlgebraicHierarchy) and not suited
        if kept and (reuse.follow(operator) or reuse.refill(operator)):
            return reuse
        return AlgebraicHierarchy(multigrid, self, operator, suited and reuse.slow)

    def coarse_rows(self, level: AlgebraicLevel) -> tuple[np.ndarray, np.ndarray, int]:
        """The kind of each row (`_interpolation`), its least strong weight, and the number of coarse rows.

        It also notes whether positive couplings matter on this level, and whether coarse rows are sparse.
        """
        A = level.A
        kind, limit, positive = np.empty(A.n, np.int8), np.empty(A.n), np.empty(A.n, np.float32)
        entries = A.weights, A.indices, A.indptr
        rows._find_strength(limit, positive, kind, self.theta, self.dominant, A.d, A.closed, *entries)
        level.mixed = float(np.median(positive)) > SETTINGS.few
        count = rows._split(kind, limit, level.natural, *entries)
        dense = level.depth == 0 and count > SETTINGS.dense * A.n
        if dense and rows._count_strong(limit, A.weights, A.indptr) > SETTINGS.all_around * A.n:
            count = rows._thin(kind, limit, level.natural, *entries)
            level.sparse = True
        return kind, limit, count

    def interpolation(self, level: AlgebraicLevel, kind: np.ndarray, limit: np.ndarray, count: int) -> Interpolation:
        """Interpolation from the coarse rows, numbered in their natural order."""
        A, natural = level.A, level.natural
        entries = A.weights, A.indices, A.indptr
        number = np.empty(A.n, np.int32)
        number[natural] = np.cumsum(kind[natural] == rows.COARSE, dtype=np.int32) - np.int32(1)
        broad = level.mixed and level.depth == 0 and not level.sparse
        slots, width = rows.BROAD if broad else rows.NARROW
        cut = self.cut * SETTINGS.finer if broad else self.cut
        wide = np.empty((A.n, width), np.int32), np.empty((A.n, width), np.float32)
        rows._extend(*wide, kind, number, limit, *entries, count, cut)
        if broad or level.sparse:  # many rows are interpolated from afar
            places = np.full((rows.PIECES, count), -1, np.int32)
            for begin, end in itertools.pairwise(level.ends):
                rows._relax_rows(*wide, places, kind, *entries, begin, end, self.cut * SETTINGS.finest)
        cols, vals = np.empty((A.n, slots), np.int32), np.empty((A.n, slots), np.float32)
        rows._average(cols, vals, kind, *wide, *entries, count, cut)
        return Interpolation(cols, vals, count)

    def coarser(self, fine: AlgebraicLevel) -> AlgebraicLevel | None:
        """The next coarser level; sets the interpolation of the fine one."""
        A = fine.A
        kind, limit, count = self.coarse_rows(fine)
        if count == 0 or count > 0.9 * A.n:
            return None
        fine.chosen = np.flatnonzero(kind == rows.COARSE)
        P = self.interpolation(fine, kind, limit, count)
        columns, starts = P.pattern(A)
        order, place, ends = colours(columns, starts)
        fine.P = P.renumbered(place)
        indices, indptr = np.empty_like(columns), np.empty_like(starts)
        none = np.empty(columns.size, np.float32)
        kernels._reorder(none, indices, indptr, order, place, none, columns, starts)
        coarse = Matrix(np.zeros(columns.size, np.float32), indices, indptr, np.zeros(count, np.float32), A.symmetric)
        fine.P.fill(coarse, A)
        return AlgebraicLevel(coarse, ends, place, fine.depth + 1)


class AlgebraicHierarchy(Hierarchy):
    """The levels of one matrix. `levels[0]` is the finest: S A S with its rows sorted by colour, S a diagonal.

    `suited`: coarse rows are chosen for the free set of the operator, not for the whole matrix.
    """

    on_grid = False

    def __init__(self, multigrid: Multigrid, coarsening: Algebraic, operator: Operator, suited: bool = False):
        self.recipe, self.coarsening = multigrid, coarsening
        self.base, self._shift = operator.core, operator.shift
        M = self.base.matrix()
        self.order, self._place, ends = colours(M.indices, M.indptr)
        self.scale = near_null(self.base)
        indptr = np.zeros(self.base.n + 1, np.int64)
        np.cumsum(off_diagonals(M)[self.order], out=indptr[1:])
        entries = int(indptr[-1])
        weights, indices = np.empty(entries, np.float32), np.empty(entries, np.int32)
        A = Matrix(weights, indices, indptr, np.zeros(self.base.n, np.float32), self.base.symmetric)
        self._take(M, A, indices)
        #: the rows that had no equation when coarse rows were chosen, in our order
        self._closed = self._closed_rows(operator) if suited else np.zeros(self.base.n, np.int8)
        A.closed[:] = self._closed
        A.find_diagonals()
        finest = AlgebraicLevel(A, ends, self._place)
        self.levels = [finest, *descend(finest, coarsening.coarser, multigrid.smallest, multigrid.max_levels - 1)]
        self._begin(operator)

    def _begin(self, operator: Operator) -> None:
        self._levels_shared, self._top, self.slow = False, 1.0, False
        #: positive couplings: coarse levels need more work
        self.cycle = self.recipe.cycle.stronger() if self.levels[0].mixed else self.recipe.cycle
        self._solve_bottom()
        self.follow(operator)

    def _take(self, M, A: Matrix, indices: np.ndarray) -> None:
        """The values of S A S plus the shift; its columns too, unless `indices` is empty."""
        shift = np.empty(0) if self._shift is None else self._shift
        source = self.order, self._place, self.scale, M.data, M.indices, M.indptr, shift
        kernels._take_matrix(A.weights, indices, A.indptr, A.excess, *source)
        A.find_diagonals()

    def _solve_bottom(self) -> None:
        last = self.levels[-1]
        last.bottom = self.recipe.coarsest.setup(last.A.operator())

    # -- other free sets, other values --------------------------------------------------------------------------

    def follow(self, operator: Operator) -> bool:
        """Take over the free set of the operator; False if its matrix or its shift is another one."""
        shift = operator.shift
        mine = self._shift
        same = shift is mine or (shift is not None and mine is not None and np.array_equal(shift, mine))
        if operator.core is not self.base or not same:
            return False
        free = operator.free
        A = self.levels[0].A
        closed = self._closed_rows(operator)
        self._clamped = None if free is None or free.all() else ~free
        changed = np.flatnonzero(closed != A.closed)
        A.closed[:] = closed
        A.find_diagonals(changed)
        if self._levels_shared:
            self._fill(None)
        elif changed.size:
            self._fill(None if changed.size > SETTINGS.few * A.n else A.around(changed))
        return True

    def _closed_rows(self, operator: Operator) -> np.ndarray:
        free = operator.free
        n = self.order.size
        return np.zeros(n, np.int8) if free is None else np.logical_not(free[self.order]).view(np.int8)

    def outdated(self, operator: Operator) -> bool:
        """True if other coarse rows would suit the free set better.

        Coarse rows of the whole matrix suit most sets. If the solve is `slow` all the same, new ones are chosen for the
        set. They do not serve rows that were closed then.
        """
        closed = self._closed_rows(operator)
        freed = int(np.count_nonzero(self._closed > closed))
        other = int(np.count_nonzero(self._closed != closed))
        return freed > SETTINGS.few * closed.size or (self.slow and other > SETTINGS.few * closed.size)

    def refill(self, operator: Operator) -> bool:
        """Take over new values of a matrix; coarse rows and interpolation stay. False if its pattern is another one."""
        old, new = self.base.matrix(), operator.core.matrix()
        if not (np.array_equal(old.indptr, new.indptr) and np.array_equal(old.indices, new.indices)):
            return False
        self.base, self._shift = operator.core, operator.shift
        self._take(new, self.levels[0].A, np.empty(0, np.int32))
        self._levels_shared = True
        return self.follow(operator)

    def _fill(self, changed: np.ndarray | None) -> None:
        """Coarse matrices after the rows `changed` (None: all rows) of the finest have changed."""
        for fine, coarse in zip(self.levels, self.levels[1:]):
            if self._levels_shared:  # another problem has closed rows there
                coarse.A.closed[:] = 0
            changed = fine.P.fill(coarse.A, fine.A, changed)
        self._levels_shared = False
        self._solve_bottom()

    def below(self, operator: Operator) -> AlgebraicHierarchy:
        """The hierarchy without its finest level, for the matrix of the next one; its levels are shared.

        They are filled again before this hierarchy uses them.
        """
        view = object.__new__(AlgebraicHierarchy)
        view.recipe, view.coarsening, view.base, view._shift = self.recipe, self.coarsening, operator.core, None
        view.levels = self.levels[1:]
        view.order = np.arange(operator.n, dtype=np.int32)
        view.scale = np.ones(operator.n)
        view._closed = np.zeros(operator.n, np.int8)
        self._levels_shared = True
        view._begin(operator)
        return view

    # -- the next coarser problem, in double precision ----------------------------------------------------------

    def restrict(self, fine: np.ndarray, out: np.ndarray) -> None:
        """out = Pᵀ S fine"""
        P = self.levels[0].P
        kernels._restrict_rows(out, (self.scale * fine)[self.order], P.first, P.row, P.value)

    def interpolate(self, coarse: np.ndarray, out: np.ndarray) -> None:
        """out = S P coarse"""
        finest = self.levels[0]
        x = np.zeros(finest.n)
        kernels._prolong_rows(x, finest.A.dinv, coarse, finest.P.cols, finest.P.vals)
        out[self.order] = x
        out *= self.scale

    def means(self, values: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """S⁻¹ values on the coarse rows, and whether they have one.

        If a coarse row is not chosen, the mean over chosen rows that have most in common with it. (A mean over all of
        them cuts off kinks of the values, and sets are then predicted less well.)
        """
        P = self.levels[0].P
        alone = (P.vals[:, 0] == 1.0) & (P.parent >= 0)
        own, found = self._mean(values, chosen, alone)
        mean, near = self._mean(values, chosen, P.parent >= 0)
        return np.where(found, own, mean), found | near

    def _mean(self, values: np.ndarray, chosen: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean of S⁻¹ values over rows of each coarse row, and whether there are any; `among` is in our order."""
        P, rows = self.levels[0].P, self.order[among]
        parent, rows = P.parent[among][chosen[rows]], rows[chosen[rows]]
        count = np.bincount(parent, minlength=P.n_coarse)
        total = np.bincount(parent, values[rows] / self.scale[rows], minlength=P.n_coarse)
        return total / np.maximum(count, 1), count > 0

    # -- one cycle ----------------------------------------------------------------------------------------------

    @property
    def notes(self):
        return {"levels": len(self.levels), "unknowns": [level.n for level in self.levels]}

    @property
    def linear(self):
        return self.cycle.linear

    def run(self, r, top):
        finest = self.levels[0]
        self._top = top
        kernels._enter(finest.b, r, self.order, self.scale, 1.0 / top)
        for k in range(self.recipe.repeat):
            self.cycle.run(self.levels, 0, from_zero=k == 0)

    def inner(self, q=None):
        finest = self.levels[0]
        partial = np.empty((2, -(-finest.n // BLOCK)))
        kernels._inner_blocks(partial, finest.b, finest.x, np.empty(0) if q is None else q, self.order, self.scale)
        rho, along = partial.sum(axis=1)
        return float(rho) * self._top * self._top, float(along) * self._top

    def leave(self, out, beta=0.0):
        kernels._leave(out, self.levels[0].x, self.order, self.scale, self._top, beta)

    def _outside(self):
        return self._clamped
