"""The particles as columns: positions, velocities, APIC matrices, ids and more, in the order of cells."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np

from ....core.columns import PARTICLES, check_array
from ....errors import NonstickError
from ....grid.mac import Grid
from ._particles import BATCH, _bounds, _cell_of, _fastest, _sort_by_cell, _take_entries


class Cloud:
    """Columns over particles: `x` (3, n) in cells, `vel` (3, n) in m/s, `aff` (9, n) in m/s per cell, `mu`, `id` (n).

    Positions belong to the end of a step, velocities to its middle. Positions are float64, other columns float32. `aff`
    has no rows without APIC; `mu` has no entries unless the viscosity varies. After sorting, `start[c]` is the first
    particle of cell c.

    `id` stays with a particle for its whole life. Ids count births, from zero, and none is given twice: `born` is the
    id of the next particle. `sources` (m, 2) has a row (first id, number) where particles begin to come from another
    liquid or inflow of the scene, so no particle needs to carry it.

    Velocities and matrices are most of what a particle has, and a step reads them once before it writes them anew. So
    sorting leaves them where they are: they follow when they are asked for, and `unsorted` gives them as they are. In
    memory the numbers of a particle follow each other (Fortran order), because they are read one particle at a time;
    positions are read along an axis.
    """

    #: four bytes a particle are enough for 4 294 967 296 births
    ID = np.uint32
    x: np.ndarray
    id: np.ndarray
    mu: np.ndarray

    def __init__(self, grid: Grid, affine: bool, thick: bool = False):
        self.grid = grid
        self.affine = affine
        self.thick = thick
        #: four rows, of which `x` is three; empty if it is not
        self._rows = np.empty((4, 0))
        #: the place of each particle's velocity and matrix; None where the particle is
        self._order: np.ndarray | None = None
        for name, column in PARTICLES.items():
            setattr(self, name, np.empty((column.width, 0) if column.width else 0, column.dtype, order="F"))
        self.born = 0
        self.sources = np.zeros((0, 2), np.int64)
        self.start = np.zeros(int(np.prod(grid.three)) + 1, np.int64)
        #: beside thin walls: the side of every particle (`solids.layers`), -1 if it is not known; None: no wall is thin
        self.side: np.ndarray | None = None

    @property
    def n(self) -> int:
        """Number of particles."""
        return self.x.shape[1]

    @property
    def vel(self) -> np.ndarray:
        """Velocities, in the order of the particles."""
        self._follow()
        return self._vel

    @vel.setter
    def vel(self, values: np.ndarray) -> None:
        self._follow()
        self._vel = np.asfortranarray(values)

    @property
    def aff(self) -> np.ndarray:
        """APIC matrices, in the order of the particles."""
        self._follow()
        return self._aff

    @aff.setter
    def aff(self, values: np.ndarray) -> None:
        self._follow()
        self._aff = np.asfortranarray(values)

    def unsorted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Velocities and matrices where they are, and the place of each particle's; no places: they are in order."""
        return self._vel, self._aff, np.zeros(0, np.int32) if self._order is None else self._order

    def replaced(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities and matrices, all of which will be written."""
        self._order = None
        return self._vel, self._aff

    def _follow(self) -> None:
        order, self._order = getattr(self, "_order", None), None
        if order is not None:
            self._vel, self._aff = (np.take(columns.T, order, axis=0).T for columns in (self._vel, self._aff))

    def __copy__(self) -> Cloud:
        self._follow()  # the copy has the same arrays
        out = Cloud.__new__(Cloud)
        out.__dict__.update(self.__dict__)
        return out

    def add(
        self, x: np.ndarray, vel: np.ndarray, mu: np.ndarray | float = 0.0, source: int = 0,
        places: np.ndarray | None = None, count: int | None = None,
    ) -> None:  # fmt: skip
        """Append particles of a source; `mu` is their viscosity, which is ignored if the viscosity does not vary.

        They may be some of `count` particles that are born: `places` are theirs in the order of births.
        """
        count = x.shape[1] if count is None else count
        if count and (not len(self.sources) or self.sources[-1, 1] != source):
            self.sources = np.append(self.sources, [[self.born, source]], axis=0)
        last = self.born + count
        if last > np.iinfo(self.ID).max + 1:
            raise NonstickError(f"more than {np.iinfo(self.ID).max + 1} particles were made: there are no ids left")
        ids = np.arange(self.born, last, dtype=self.ID) if places is None else (self.born + places).astype(self.ID)
        self.id = np.concatenate([self.id, ids])
        self.born = last
        if self.thick:
            self.mu = np.concatenate([self.mu, np.broadcast_to(np.float32(mu), x.shape[1:])])
        self.x = np.concatenate([self.x, x], axis=1)
        self.vel = np.concatenate([self.vel, vel.astype(np.float32)], axis=1)
        aff = np.zeros((9 if self.affine else 0, x.shape[1]), np.float32)
        self.aff = np.concatenate([self.aff[: aff.shape[0]], aff], axis=1)
        if self.side is not None:
            self.side = np.concatenate([self.side, np.full(x.shape[1], -1, self.side.dtype)])

    def keep(self, mask: np.ndarray) -> None:
        """Remove the particles outside the mask."""
        self._rows = np.empty((4, 0))
        for name in PARTICLES:
            column = getattr(self, name)
            if column.shape[-1]:  # without a viscosity of their own there are no entries
                setattr(self, name, np.ascontiguousarray(column[..., mask]))
        if self.side is not None:
            self.side = self.side[mask]

    def part(self, mask: np.ndarray) -> Cloud:
        """The particles of a mask as a cloud of their own, sorted like this one."""
        out = copy.copy(self)
        out.start = np.concatenate([[0], np.cumsum(mask)])[self.start]
        out.keep(mask)
        return out

    def columns(self) -> dict[str, int]:
        """How many numbers each particle has in every column; 0 in columns that are not used."""
        used = {"aff": self.affine, "mu": self.thick}
        return {name: int(used.get(name, True)) * (c.numbers() or 1) for name, c in PARTICLES.items()}

    def sort(self) -> None:
        """Sort the particles by cell; the sort is stable, so the order is unique."""
        self._follow()
        n = self.n
        cell = np.empty(n, np.int32)
        _cell_of(cell, self.x, *self.grid.three)
        order = np.empty(n, np.int32)
        _sort_by_cell(order, self.start, cell)
        ids = cell.view(self.ID)  # the cells are not needed any more
        _take_entries(ids, self.id, order)
        self.id = ids
        self._sort_places(order)
        if self.thick:
            self.mu = self.mu[order]
        if self.side is not None:
            self.side = self.side[order]
        self._order = order

    def _sort_places(self, order: np.ndarray) -> None:
        """Bring the positions into this order: by turns one row up and one row down, so they need one row more."""
        rows, up = self._rows, True
        if self.x.base is rows and self.x.shape[1] == rows.shape[1]:
            up = self.x.ctypes.data == rows.ctypes.data
        else:
            rows = np.empty((4, self.n))
        out = rows[1:] if up else rows[:3]
        for axis in (2, 1, 0) if up else (0, 1, 2):
            _take_entries(out[axis], self.x[axis], order)
        self._rows, self.x = rows, out

    def bounds(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Lower and upper corner of the box around all particles, in cells; None without particles."""
        if not self.n:
            return None
        low, high = (np.empty((3, -(-self.n // BATCH))) for _ in range(2))
        _bounds(low, high, self.x)
        return low.min(axis=1), high.max(axis=1)

    def fastest(self) -> float:
        """The largest velocity component."""
        largest = np.zeros(-(-self.n // BATCH), np.float32)
        _fastest(largest, self._vel)
        return float(largest.max(initial=0.0))

    def check(self, state: Mapping[str, np.ndarray], domain: tuple[int, int, int]) -> None:
        """Refuse a state that particles in a domain of this many cells cannot have."""
        n = check_array("x", state, (3, None), float).shape[1]
        for axis, cells in enumerate(domain):
            check_array("x", {"x": state["x"][axis]}, (n,), float, 0.0, float(cells))
        shapes: dict[str, tuple[int | None, ...]] = {
            "vel": (3, n),
            "aff": (9 if self.affine else None, n),
            "mu": (n if self.thick else 0,),
        }
        for name, shape in shapes.items():
            check_array(name, state, shape, *PARTICLES[name].values)
        check_array("dt", state, (), float, 0.0)
        check_array("sources", {"sources": self.sources} | dict(state), (None, 2), np.int64, 0)
        if "id" in state:
            born = int(check_array("born", state, (), np.int64, n, np.iinfo(self.ID).max + 1))
            ids = np.sort(check_array("id", state, (n,), self.ID, 0, born - 1))
            if (ids[1:] == ids[:-1]).any():
                raise NonstickError("id contains a number twice")


def sums(shape: tuple[int, ...]) -> np.ndarray:
    """Zeros for the sums of `_scatter_velocity`, with room behind them for two numbers."""
    size = int(np.prod(shape))
    return np.zeros(size + 2)[:size].reshape(shape)
