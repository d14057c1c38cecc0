"""`StencilOperator` on the rows of many ranks.

A vector of a rank has its own rows and its ghosts. `apply` and `residual` bring the ghosts of x up to date first; in
what they return the ghosts are zero, so that a sum over the vector counts every row of the problem once.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np

from ..kernels._vector import dot
from ..operators.stencil import StencilOperator
from .piece import Piece


class SharedStencil(StencilOperator):
    """One rank's rows of a stencil operator; `weights` and `diagonal` are those of the rows of `piece`."""

    def __init__(self, piece: Piece, weights: tuple[np.ndarray, np.ndarray, np.ndarray], diagonal: np.ndarray):
        super().__init__(piece.rows, weights, diagonal)
        self.piece, self.comm = piece, piece.comm

    @property
    def unknowns(self):
        return self.piece.count

    def total(self, values):
        return self.comm.total(values)

    def largest(self, values):
        return self.comm.largest(values)

    def fingerprint(self, values):
        return np.array(self.comm.gathered(crc32(np.ascontiguousarray(values).tobytes())), np.int64)

    def exchange(self, x: np.ndarray) -> None:
        """Bring the ghosts of a vector up to date."""
        self.piece.graph.exchange(x)

    def apply(self, x, out):
        self.exchange(x)
        super().apply(x, out)
        out[self.piece.ghosts] = 0.0
        return out

    def energy(self, x, out):
        self.apply(x, out)
        return self.dot(x, out)

    def residual(self, b, x, out):
        self.exchange(x)
        super().residual(b, x, out)
        out[self.piece.ghosts] = 0.0
        return out

    def dot(self, x, y):
        return float(self.comm.total(dot(x, y)))

    def peak(self, x):
        return float(self.comm.largest(super().peak(x)))

    def magnitude(self, x, out):
        super().magnitude(x, out)
        out[self.piece.ghosts] = 0.0
        return out

    def matrix(self):
        raise TypeError("a rank has only its own rows of this matrix")
