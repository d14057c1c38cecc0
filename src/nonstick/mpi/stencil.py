"""`StencilOperator` on the rows of many ranks.

A vector of a rank has its own rows and its ghosts. `apply` and `residual` bring the ghosts of x up to date first; in
what they return the ghosts are zero, so that a sum over the vector counts every row of the problem once.
"""

from __future__ import annotations

import numpy as np

from ..operators.stencil import StencilOperator
from ..parallel.components import united
from .piece import Piece


class SharedStencil(StencilOperator):
    """One rank's rows of a stencil operator; `weights` and `diagonal` are those of the rows of `piece`."""

    def __init__(self, piece: Piece, weights: tuple[np.ndarray, np.ndarray, np.ndarray], diagonal: np.ndarray):
        super().__init__(piece.rows, weights, diagonal)
        self.piece, self.comm = piece, piece.comm
        self.has_entries = self.comm.size == 1

    @property
    def unknowns(self):
        return self.piece.count

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

    def magnitude(self, x, out):
        super().magnitude(x, out)
        out[self.piece.ghosts] = 0.0
        return out

    def plus_diagonal(self, shift):
        diagonal = self.diagonal + shift
        self.exchange(diagonal)
        return SharedStencil(self.piece, self.weights, diagonal)

    def components(self):
        count, label = super().components()
        first = np.concatenate([[0], np.cumsum(self.comm.gathered(count))])
        mine = label.astype(np.int64) + first[self.comm.rank]
        theirs, ghosts = mine.copy(), self.piece.ghosts
        self.exchange(theirs)
        pairs = np.unique(np.stack([mine[ghosts], theirs[ghosts]], axis=1), axis=0)
        total, number = united(self.comm, pairs, int(first[-1]))
        label = number[mine]
        label[ghosts] = -1
        return total, label

    def matrix(self):
        if self.has_entries:
            return super().matrix()
        raise TypeError("a rank has only its own rows of this matrix")
