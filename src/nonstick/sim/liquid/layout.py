"""The layout of arrays of a 2D or 3D grid for the simulator's kernels: always on three axes.

A 2D grid is a 3D grid whose first axis has one cell. Its velocity has no component along that axis and its particles
lie at 0.5 on it. Only this file depends on it; the other files of the simulator loop over `Layout.axes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Layout:
    """`shape` counts the cells along the user's two or three axes.

    Arrays over cells and faces are converted to three axes, and back to the user's axes, as views.

    Examples
    --------
    >>> layout = Layout((4, 6))
    >>> layout.three, list(layout.axes)
    ((1, 4, 6), [1, 2])
    >>> layout.vector((0.0, -9.81))
    array([ 0.  ,  0.  , -9.81])
    """

    shape: tuple[int, ...]

    @cached_property
    def first(self) -> int:
        """The first axis along which anything happens: 0 in 3D, 1 in 2D."""
        return 3 - len(self.shape)

    @cached_property
    def three(self) -> tuple[int, int, int]:
        """Cells along three axes."""
        nx, ny, nz = (1,) * self.first + self.shape
        return nx, ny, nz

    @property
    def axes(self) -> range:
        """The user's axes, among three."""
        return range(self.first, 3)

    @property
    def edge_axes(self) -> range:
        """The directions of the cell edges that carry shear: all axes in 3D, the first axis in 2D."""
        return range(3) if self.first == 0 else range(1)

    @property
    def plane(self) -> int:
        """Number of cells in one plane normal to the first of the user's axes."""
        return int(np.prod(self.shape[1:]))

    # -- arrays ---------------------------------------------------------------------------------------

    def lift(self, a: np.ndarray) -> np.ndarray:
        """An array of the user's dimension on three axes."""
        return a.reshape((1,) * self.first + a.shape)

    def drop(self, a: np.ndarray) -> np.ndarray:
        """An array on three axes in the user's dimension."""
        return a.reshape(a.shape[self.first :])

    def lift_faces(self, faces: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Face arrays of the user's axes as three arrays; a missing axis gets an array that is never read."""
        return [np.zeros((2, 1, 1))] * self.first + [self.lift(f) for f in faces]

    def drop_faces(self, faces: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """The face arrays of the user's axes, out of three."""
        return tuple(self.drop(f) for f in faces[self.first :])

    def lift_nodes(self, a: np.ndarray) -> np.ndarray:
        """An array over nodes on three axes; a 2D array is repeated at both ends of the first axis."""
        return np.repeat(a[None], 2, axis=0) if self.first else a

    def drop_nodes(self, a: np.ndarray) -> np.ndarray:
        """An array over nodes in the user's dimension."""
        return a[0] if self.first else a

    # -- vectors and points ---------------------------------------------------------------------------

    def vector(self, components: Sequence[float]) -> np.ndarray:
        """A vector of the user's dimension with three components."""
        return np.concatenate([np.zeros(self.first), np.asarray(components, float)])

    def vectors(self, components: Sequence[np.ndarray | float], n: int) -> np.ndarray:
        """Vectors (3, n), each component a number or n numbers."""
        out = np.zeros((3, n))
        for row, values in zip(out[self.first :], components):
            row[:] = values
        return out

    def matrices(self, entries: np.ndarray) -> np.ndarray:
        """Matrices (d, d, n) of the user's dimension as nine rows (9, n), three rows and columns each."""
        out = np.zeros((3, 3, entries.shape[2]))
        out[self.first :, self.first :] = entries
        return out.reshape(9, -1)

    def lift_points(self, x: np.ndarray) -> np.ndarray:
        """Positions (d, n) in cells with three coordinates."""
        return np.concatenate([np.full((self.first, x.shape[1]), 0.5), x])

    def drop_points(self, x: np.ndarray) -> np.ndarray:
        """Rows (3, n) of positions or velocities along the user's axes."""
        return x[self.first :]


def between(a: np.ndarray, axis: int) -> np.ndarray:
    """Mean of neighbouring entries along an axis."""
    low, high = [slice(None)] * a.ndim, [slice(None)] * a.ndim
    low[axis], high[axis] = slice(None, -1), slice(1, None)
    return 0.5 * (a[tuple(low)] + a[tuple(high)])


def at_faces(nodal: np.ndarray, axis: int) -> np.ndarray:
    """Nodal values in the middles of the faces of an axis."""
    for other in range(nodal.ndim):
        if other != axis:
            nodal = between(nodal, other)
    return nodal
