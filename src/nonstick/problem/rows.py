"""The row test: every row is judged in its own units, so no large entry elsewhere can hide an error.

With `g = A x - b`, `a = diag(A)` and the natural residual `v = a (x - clip(x - g/a, lower, upper))`, the error of row
i is

    |v_i| / min((|A||x|)_i, a_i (upper_i - lower_i)),

the step that Jacobi's method would still take, against the terms that the row is made of, and against its box. For a
row that is free, |v_i| = |g_i|, and this is the componentwise backward error of Oettli and Prager (1964): x solves a
problem whose entries in row i differ by this part. For a row whose step ends at a bound, it is the distance to that
bound. b is not part of the scale: a large b that presses a row against its bound says nothing about the size of x.
The number does not change if A, b and x are given in other units, one for all or one for each row and column.

Rounding. A row counts as solved if its equation holds to the last digits of its own terms, or if its step is below the
last digits of x: of the row's own x, and of the largest x, both as it is and as √a x, whichever is smaller. So a pocket
of liquid at rest, where b is nothing but rounding errors, asks for no work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..core import rounding
from ..kernels._vector import BLOCK
from . import _rows as kernels

if TYPE_CHECKING:
    from .box import BoxProblem


class RowError(NamedTuple):
    """The largest error of a row, and the number of that row (-1 if all rows hold exactly)."""

    value: float
    row: int


def row_error(
    problem: BoxProblem,
    x: np.ndarray,
    g: np.ndarray,
    *,
    linear: bool = False,
    atol: float = 0.0,
    enough: float = 0.0,
    strict: bool = False,
) -> RowError:
    """The largest row error of x.

    Parameters
    ----------
    problem : BoxProblem
        The problem that x should solve.
    x, g : ndarray
        A point, and A x - b there.
    linear : bool
        Ignore the bounds.
    atol : float
        Rows with |v_i| at most this count as solved.
    enough : float
        A value that would do. If a lower estimate of |A||x|, which costs nothing, shows that no row error is above it,
        the number that belongs to the estimate is returned; it is never too small. Otherwise |A||x| takes the time
        of one product with A.
    strict : bool
        Count rounding by the terms of each row alone, not by the largest x.
    """
    d, blocks = problem.A.diagonal, -(-x.size // BLOCK)
    plain, scaled, worst = np.zeros((3, blocks))
    where = np.zeros(blocks, np.int64)
    kernels._block_sizes(plain, scaled, x, d)
    given = linear or problem.edges is not None
    v = g if linear or not given else problem.natural_residual(x, g)
    box = problem.box.lower, problem.box.upper, v, given
    sizes = (0.0, 0.0, atol)
    if not strict:
        sizes = (*problem.A.comm.largest(np.array([plain.max(initial=0.0), scaled.max(initial=0.0)])).tolist(), atol)

    def judge(size: np.ndarray, exact: bool) -> RowError:
        kernels._block_rows(worst, where, x, g, problem.b, d, *box, size, exact, *sizes)
        k = int(np.argmax(worst)) if blocks else 0
        own = RowError(float(worst[k]), int(where[k])) if blocks else RowError(0.0, -1)
        value = problem.A.comm.largest(own.value)
        return own if value == own.value else RowError(value, -1)

    quick = judge(x, False)
    if quick.value <= enough:
        return quick
    return judge(problem.A.magnitude(x, np.empty(x.size)), True)


def exhausted(problem: BoxProblem, x: np.ndarray, g: np.ndarray, *, linear: bool = False) -> bool:
    """True if no arithmetic of this precision can improve a row of x.

    Every row holds to the last digits of its own terms, (|A||x| + |b|)_i, or of its own x. A nearly singular matrix has
    such x too, where b is lost in the rounding errors of a huge x. There xᵀA x is, and it does not count.
    """
    if row_error(problem, x, g, linear=linear, strict=True).value > 0.0:
        return False
    with np.errstate(over="ignore", invalid="ignore"):  # sums of a huge x have no size, and do not count
        parts = [np.abs(x) @ problem.A.magnitude(x, np.empty(x.size)), x @ (g + problem.b)]
    size, energy = problem.A.comm.total(np.array(parts)).tolist()
    return bool(energy >= rounding.TOTAL * size if 0.0 < size < np.inf else size == 0.0)
