"""`Partition`: the cells of a grid that a process has, its own and the ghost layers around them.

Every process has one box of the grid (`boxes`). Its arrays also hold the cells next to the box, which belong to other
processes: ghost layers. At their outer side, where the grid goes on, kernels see an end of the grid that is not there.
What they compute next to it is wrong, one layer further with every value they read from a neighbour. So ghosts are
filled again, from the processes that own them, before the error comes to cells that count.

One process has the whole grid and no ghosts: it does the same, at no cost and without changing a bit. It may hold fewer
cells than it owns (`hold`): a box around what happens, and nothing happens elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..grid.box import IndexBox
from ..grid.faces import FaceField
from ..grid.fractions import connected_parts
from ..grid.mac import SubGrid
from .comm import SELF, Comm
from .halo import Boxes, Halo


class Partition:
    """One process's part of a grid.

    Parameters
    ----------
    comm : Comm
        The ranks.
    boxes : Boxes
        The own cells of all ranks.
    dx : float
        Size of a cell.
    width : int
        Ghost layers.

    Attributes
    ----------
    grid : SubGrid
        The cells of this process, ghosts included.
    own_box, held : IndexBox
        The own cells in the whole grid, and the cells that arrays hold: these with the ghosts, or the active box.
    cell_halo, face_halos
        The ghost layers of arrays over cells, and over the faces of each axis.
    depth : int
        Half sweeps after which ghost cells must be filled again; 0: never.

    Examples
    --------
    >>> part = Partition.whole((8, 6), 0.1)
    >>> part.grid.shape, part.shared, part.comm.total(3.0)
    ((8, 6), False, 3.0)
    """

    def __init__(self, comm: Comm, boxes: Boxes, dx: float, width: int = 0):
        self.comm, self.boxes, self.width = comm, boxes, width
        self.depth = width if self.shared else 0
        d = len(boxes.shape)
        self.cell_halo = Halo(comm, boxes, width)
        self.face_halos = [Halo(comm, boxes, width, tuple(int(b == a) for b in range(d))) for a in range(d)]
        self._nodes = Halo(comm, boxes, width, (1,) * d)
        self.own_box, self.held = boxes[comm.rank], self.cell_halo.held
        self.grid = SubGrid(self.held.shape, dx, first=self.held.low)
        self.dx = dx
        self._only = (np.zeros(0), np.zeros(0))

    @classmethod
    def whole(cls, shape: Sequence[int], dx: float):
        """The whole grid, in one process."""
        return cls(SELF, Boxes.regular(shape, 1), dx)

    @property
    def shared(self) -> bool:
        """True if other processes have parts of the grid."""
        return self.comm.size > 1

    # -- the active box -------------------------------------------------------------------------------

    def hold(self, box: IndexBox) -> None:
        """Hold the cells of this box from now on; one process alone."""
        self.held = box
        self.grid = SubGrid(box.shape, self.dx, first=box.low)

    @property
    def holds_all(self) -> bool:
        """True if arrays hold all own cells."""
        return self.shared or self.held == self.own_box

    def over_own(self, cells: np.ndarray, outside: float = 0.0) -> np.ndarray:
        """A field over own cells, in the user's dimension, which has one value where none are held."""
        if self.holds_all:
            return self.own(cells)
        out = np.full(self.own_box.shape, outside, cells.dtype)
        out[self.held.slices] = cells
        return out

    # -- own cells and faces --------------------------------------------------------------------------

    def own(self, cells: np.ndarray) -> np.ndarray:
        """A view of the cells that belong to this process: all but the ghosts."""
        inside = self.cell_halo.inside if self.shared else ()
        return cells[(slice(None),) * (cells.ndim - len(inside)) + inside]

    def own_nodes(self, nodes: np.ndarray) -> np.ndarray:
        """A view of the nodes that belong to this process, in the user's dimension."""
        return nodes[self._nodes.inside] if self.shared else nodes

    def own_faces_in(self, window: tuple[slice, ...], axis: int) -> tuple[slice, ...]:
        """The own faces in a window of faces of an axis of the grid, as slices of the window."""
        if not self.shared:
            return (slice(None),) * len(window)
        pairs = zip(window, self.face_halos[axis].inside)
        both = [(max(w.start, o.start), max(min(w.stop, o.stop), w.start)) for w, o in pairs]
        return tuple(slice(low - w.start, max(high, low) - w.start) for (low, high), w in zip(both, window))

    def only_own(self, cells: np.ndarray) -> np.ndarray:
        """The array with zeros in ghost cells."""
        if not self.shared:
            return cells
        if self._only[0] is not cells:  # the same array is asked for many times
            out = np.zeros_like(cells)
            self.own(out)[...] = self.own(cells)
            self._only = cells, out
        return self._only[1]

    # -- ghosts ---------------------------------------------------------------------------------------

    def with_ghosts(self, cells: np.ndarray) -> np.ndarray:
        """An array over own cells with ghost cells around it."""
        if not self.shared:
            return cells
        out = np.zeros(self.grid.shape, cells.dtype)
        self.own(out)[...] = cells
        self.fill_cells(out)
        return out

    def fill_cells(self, *arrays: np.ndarray) -> None:
        """Give ghost cells the values of their owners, in place."""
        self.cell_halo.exchange(*arrays)

    def fill_faces(self, faces: FaceField) -> None:
        """Give ghost faces, of arrays for three axes, the values of their owners, in place."""
        for halo, values in zip(self.face_halos, list(faces)[3 - len(self.face_halos) :]):
            halo.exchange(values)

    def colour(self, sweep: int) -> int:
        """The parity of this grid's cells that a red-black half sweep updates."""
        return (sweep + sum(self.held.low)) & 1

    # -- connected parts ------------------------------------------------------------------------------

    def parts(self, space: np.ndarray) -> tuple[np.ndarray, int]:
        """Number of the connected part of `space > 0` that each cell lies in, and the number of parts; 0 outside.

        Every rank labels its own cells. Labels that meet across the side of two boxes are pairs, and only pairs travel
        to all ranks.
        """
        own, count = connected_parts(self.own(space) > 0.0)
        if not self.shared:
            return own, count
        which = np.zeros(space.shape, np.int64)
        counts = self.comm.gathered(int(count))
        self.own(which)[...] = np.where(own > 0, own + sum(counts[: self.comm.rank]), 0)
        self.fill_cells(which)
        pairs = np.unique(np.concatenate([_touching(which, axis) for axis in range(which.ndim)]), axis=0)
        parts, number = united(self.comm, pairs, sum(counts) + 1)  # label 0 is outside, and nothing is joined with it
        return number[which], parts - 1


def _touching(which: np.ndarray, axis: int) -> np.ndarray:
    """Pairs (m, 2) of different labels on both sides of a face."""
    a, b = np.moveaxis(which, axis, 0)[:-1].ravel(), np.moveaxis(which, axis, 0)[1:].ravel()
    different = (a != b) & (a > 0) & (b > 0)
    return np.stack([a[different], b[different]], axis=1)


def united(comm: Comm, pairs: np.ndarray, count: int) -> tuple[int, np.ndarray]:
    """Join `count` labels of all ranks wherever a rank has a pair (m, 2) of them: the number of parts, and the part of
    each label.

    Parts are numbered by their first label, so the numbers are the same on all ranks.
    """
    import scipy.sparse as sp  # slow to load
    from scipy.sparse.csgraph import connected_components

    a, b = comm.joined(np.ascontiguousarray(pairs, np.int64).reshape(-1, 2)).T
    graph = sp.coo_array((np.ones(a.size), (a, b)), shape=(count, count))
    parts, number = connected_components(graph, directed=False)
    return parts, number.astype(np.int64)
