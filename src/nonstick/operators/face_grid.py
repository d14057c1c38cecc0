"""The positions of cells, faces and edges of a staggered grid in the padded arrays of the viscosity kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FaceGrid:
    """A box of cells with three axes; a 2D grid has one cell along axis 0, and no faces across it."""

    cells: tuple[int, int, int]
    dimension: int

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> FaceGrid:
        """The grid of a user's array of cells, 2D or 3D."""
        n0, n1, n2 = (1,) * (3 - len(shape)) + tuple(int(n) for n in shape)
        return cls((n0, n1, n2), len(shape))

    @property
    def padded(self) -> tuple[int, int, int]:
        """Cell, face and edge (i, j, k) live at (i + 1, j + 1, k + 1) of arrays of this shape."""
        n0, n1, n2 = self.cells
        return 3 if self.dimension == 2 else n0 + 4, n1 + 4, n2 + 4

    @property
    def P(self) -> int:
        return int(np.prod(self.padded))

    @property
    def strides(self) -> np.ndarray:
        return np.array([self.padded[1] * self.padded[2], self.padded[2], 1], np.int64)

    @property
    def axes(self) -> range:
        """The user's axes; also the user's components, in order."""
        return range(3 - self.dimension, 3)

    @property
    def edges(self) -> tuple[int, ...]:
        """Directions of the edges that carry stress: one in 2D (the nodes), three in 3D."""
        return (0,) if self.dimension == 2 else (0, 1, 2)

    def window(self, shift: tuple[int, ...] = (0, 0, 0)) -> tuple[slice, ...]:
        """The part of a padded array that holds samples with this shift; 1 along an axis means between cells."""
        return tuple(slice(1, 1 + n + s) for n, s in zip(self.cells, shift))

    def face_window(self, a: int) -> tuple[slice, ...]:
        return self.window(face_shift(a))

    def edge_window(self, e: int) -> tuple[slice, ...]:
        return self.window(self.edge_shift(e))

    def edge_shift(self, e: int) -> tuple[int, int, int]:
        s = [1, 1, 1]
        s[e] = 0
        return s[0], s[1], s[2]

    def user(self, window: np.ndarray) -> np.ndarray:
        """A window of a padded array in the user's shape."""
        return window[0] if self.dimension == 2 else window

    def coarser(self) -> FaceGrid:
        """Half as many cells along the user's axes, rounded up."""
        n = [-(-m // 2) if a in self.axes else m for a, m in enumerate(self.cells)]
        return FaceGrid((n[0], n[1], n[2]), self.dimension)


def face_shift(a: int) -> tuple[int, int, int]:
    """Faces of component a sit between cells along axis a."""
    s = [0, 0, 0]
    s[a] = 1
    return s[0], s[1], s[2]


def cell_array(a: int) -> int:
    """Index of the array with the cells' coefficients for component a, in a `k` of six arrays."""
    return 3 + a if a else 0
