"""k problems with one matrix: their solutions side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..core import validate
from ..core.show import Shown, span
from ..errors import NonstickError
from .solution import Solution


class Batch(Shown, Sequence[Solution]):
    """The solutions of k problems: a sequence of `Solution`, and arrays of what they hold.

    Attributes
    ----------
    x, dual, active : ndarray
        n × k, a column for each problem.
    converged, success, iterations, nit, fun : ndarray
        k numbers.
    status, message : list of str
        One for each problem.
    seconds : float
        The time of all solves together.

    Examples
    --------
    >>> import nonstick
    >>> batch = nonstick.solve([[2.0, -1.0], [-1.0, 2.0]], [[1.0, 3.0], [-3.0, 0.0]])
    >>> batch.x.round(6)
    array([[0.5, 2. ],
           [0. , 1. ]])
    >>> batch.status, batch[0].active
    (['converged', 'converged'], array([ 0, -1], dtype=int8))
    """

    def __init__(self, solutions: list[Solution], seconds: float):
        self._solutions, self.seconds = solutions, seconds

    def __len__(self) -> int:
        return len(self._solutions)

    def __getitem__(self, j: Any) -> Any:
        return self._solutions[j]

    def __iter__(self) -> Iterator[Solution]:
        return iter(self._solutions)

    def _columns(self, name: str) -> np.ndarray:
        return np.stack([getattr(solution, name) for solution in self], axis=-1)

    @property
    def x(self) -> np.ndarray:
        return self._columns("x")

    @property
    def dual(self) -> np.ndarray:
        return self._columns("dual")

    jac = dual

    @property
    def active(self) -> np.ndarray:
        return self._columns("active")

    @property
    def converged(self) -> np.ndarray:
        return self._columns("converged")

    success = converged

    @property
    def iterations(self) -> np.ndarray:
        return self._columns("iterations")

    nit = iterations

    @property
    def fun(self) -> np.ndarray:
        return self._columns("fun")

    @property
    def status(self) -> list[str]:
        return [solution.status for solution in self]

    @property
    def message(self) -> list[str]:
        return [solution.message for solution in self]

    def kkt(self) -> np.ndarray:
        """The optimality residual of each problem, recomputed."""
        return np.array([solution.kkt() for solution in self])

    def facts(self) -> dict[str, object]:
        """What `repr` and notebooks show."""
        done = int(np.count_nonzero(self.converged))
        counts = span(self.iterations)
        return {"problems": len(self), "converged": done, "iterations": counts, "seconds": f"{self.seconds:.3g}"}


def columns(n: int, b: Any, lower: Any, upper: Any, x0: Any = None, active: Any = None) -> int | None:
    """The number of problems that these arrays describe; None for one problem, whose arrays are vectors.

    An array of shape (n, 1) is a vector.
    """
    wide = {}
    for name, values in (("b", b), ("lower", lower), ("upper", upper), ("x0", x0), ("active", active)):
        shape = validate.shape(values)
        if len(shape) == 2 and shape[0] == n and shape[1] > 1:
            wide[name] = shape[1]
    if not wide:
        return None
    if len(set(wide.values())) > 1:
        sizes = ", ".join(f"{name} has {count}" for name, count in wide.items())
        raise NonstickError(f"the numbers of columns differ: {sizes}; give each array one column a problem")
    return int(next(iter(wide.values())))
