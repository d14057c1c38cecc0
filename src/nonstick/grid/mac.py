"""The staggered (MAC) grid: cubic cells of size dx, pressures at centres, velocities at faces, solids at nodes.

Arrays are `[i, j(, k)]` = x, y(, z). Face array `a` is one longer along axis a: `u[i, j, k]` sits between
cells i-1 and i. Nodal arrays are one longer along every axis.

Inside the simulator every array has three axes (`Grid.three`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import NonstickError
from .faces import FaceField, lifted


@dataclass(frozen=True)
class Grid:
    """A grid of cubic cells in 2D or 3D.

    Parameters
    ----------
    shape : tuple of int
        Cells along each axis.
    dx : float
        Size of a cell.
    origin : tuple of float, optional
        Lower corner of the first cell; zero by default.

    Examples
    --------
    >>> from nonstick.grid import Ball, Grid
    >>> grid = Grid((16, 8), dx=0.125)
    >>> grid.face_shape(0), Ball((1.0, 0.5), 0.3).sample(grid.cells()).shape
    ((17, 8), (16, 8))
    """

    shape: tuple[int, ...]
    dx: float
    origin: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        if len(self.shape) not in (2, 3) or min(self.shape) < 1:
            raise NonstickError(f"a grid has two or three axes with at least one cell each, not shape {self.shape}")
        if not (np.isfinite(self.dx) and self.dx > 0):
            raise NonstickError(f"the cell size dx must be positive, not {self.dx}")
        object.__setattr__(self, "origin", tuple(map(float, self.origin)) or (0.0,) * len(self.shape))
        if len(self.origin) != len(self.shape):
            raise NonstickError(f"the origin needs {len(self.shape)} coordinates, not {len(self.origin)}")

    @classmethod
    def unit(cls, n: int, dimension: int = 3) -> Grid:
        """n cells along each axis of the unit box."""
        return cls((n,) * dimension, 1.0 / n)

    @property
    def dimension(self) -> int:
        return len(self.shape)

    @property
    def node_shape(self) -> tuple[int, ...]:
        return tuple(n + 1 for n in self.shape)

    def face_shape(self, axis: int) -> tuple[int, ...]:
        return tuple(n + (a == axis) for a, n in enumerate(self.shape))

    @property
    def size(self) -> tuple[float, ...]:
        """Extent of the box along each axis."""
        return tuple(n * self.dx for n in self.shape)

    def cells(self) -> tuple[np.ndarray, ...]:
        """Coordinates of cell centres, as arrays that broadcast to `shape`."""
        return self._mesh(self.shape, [0.5] * self.dimension)

    def nodes(self) -> tuple[np.ndarray, ...]:
        """Coordinates of nodes, as arrays that broadcast to `node_shape`."""
        return self._mesh(self.node_shape, [0.0] * self.dimension)

    def faces(self, axis: int) -> tuple[np.ndarray, ...]:
        """Coordinates of the centres of the faces normal to `axis`."""
        return self._mesh(self.face_shape(axis), [0.0 if a == axis else 0.5 for a in range(self.dimension)])

    # -- three axes: a 2D grid is one cell thick along the first of them ------------------------------------

    @property
    def axes(self) -> range:
        """The user's axes, among three."""
        return range(3 - self.dimension, 3)

    @property
    def edge_axes(self) -> range:
        """The directions of the cell edges that carry shear: all axes in 3D, the first axis in 2D."""
        return range(3) if self.dimension == 3 else range(1)

    @cached_property
    def three(self) -> tuple[int, int, int]:
        """Cells along three axes."""
        nx, ny, nz = (1,) * (3 - self.dimension) + self.shape
        return nx, ny, nz

    @cached_property
    def plane(self) -> int:
        """Number of cells in one plane normal to the first of the user's axes."""
        return int(np.prod(self.shape[1:]))

    def lift(self, a: np.ndarray) -> np.ndarray:
        """An array of the user's dimension on three axes, as a view."""
        return lifted(a)

    def drop(self, a: np.ndarray) -> np.ndarray:
        """An array on three axes in the user's dimension, as a view."""
        return a.reshape(a.shape[3 - self.dimension :])

    def lift_points(self, x: np.ndarray) -> np.ndarray:
        """Positions (d, n) in cells with three coordinates; those of a 2D grid lie at 0.5 on the first axis."""
        return np.concatenate([np.full((3 - self.dimension, x.shape[1]), 0.5), x])

    def vector(self, components: Sequence[float]) -> np.ndarray:
        """A vector of the user's dimension with three components."""
        return np.concatenate([np.zeros(3 - self.dimension), np.asarray(components, float)])

    def still(self) -> FaceField:
        """A velocity of zero on all faces."""
        return FaceField.of([np.zeros(self.face_shape(axis)) for axis in range(self.dimension)])

    def coarser(self) -> Grid:
        """The grid of cells twice as wide that covers this one."""
        return Grid(tuple(-(-n // 2) for n in self.shape), 2 * self.dx, self.origin)

    def _mesh(self, shape, offset) -> tuple[np.ndarray, ...]:
        axes = (o + self.dx * (np.arange(n) + s) for o, n, s in zip(self.origin, shape, offset))
        return np.meshgrid(*axes, indexing="ij", sparse=True)


@dataclass(frozen=True)
class SubGrid(Grid):
    """A box of cells of a larger grid whose lower corner is zero; coordinates have the same bits as there.

    Parameters
    ----------
    first : tuple of int
        The cell of the larger grid that is the first one here.

    Examples
    --------
    >>> from nonstick.grid.mac import Grid, SubGrid
    >>> whole, part = Grid((9, 7), 0.1), SubGrid((4, 3), 0.1, first=(5, 2))
    >>> bool((whole.cells()[0][5:] == part.cells()[0]).all())
    True
    """

    first: tuple[int, ...] = ()

    def _mesh(self, shape, offset) -> tuple[np.ndarray, ...]:
        axes = (self.dx * (np.arange(f, f + n) + s) for f, n, s in zip(self.first, shape, offset))
        return np.meshgrid(*axes, indexing="ij", sparse=True)
