"""What every method needs of a matrix: `A x`, its diagonal, and (rarely) its entries.

All vectors are flat float arrays over the unknowns; where an unknown sits on a grid is the operator's
own business (`StencilOperator.rows`), so one solver serves grids and plain matrices alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp

from ..kernels._vector import dot


class Operator(ABC):
    """A symmetric linear operator on vectors of `n` unknowns."""

    n: int
    diagonal: np.ndarray
    #: (n, d) integer grid coordinates of the unknowns, or None for a bare matrix
    cells: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    @property
    def dtype(self) -> np.dtype:
        return self.diagonal.dtype

    @abstractmethod
    def apply(self, x: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out = A x"""

    def energy(self, x: np.ndarray, out: np.ndarray) -> float:
        """out = A x; returns xᵀA x."""
        self.apply(x, out)
        return dot(x, out)

    def residual(self, b: np.ndarray, x: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out = b - A x"""
        self.apply(x, out)
        np.subtract(b, out, out=out)
        return out

    @abstractmethod
    def matrix(self) -> sp.csr_array:
        """The entries, assembled (and kept) on first call; only for methods that cannot do without."""

    @abstractmethod
    def row_sums(self) -> np.ndarray:
        """A 1: zero on rows coupled to nothing but their neighbours (pure Neumann)."""

    @abstractmethod
    def components(self) -> tuple[int, np.ndarray]:
        """Connected parts of the graph of A: their number and the label of each unknown."""

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        return self.apply(x, np.empty_like(x))
