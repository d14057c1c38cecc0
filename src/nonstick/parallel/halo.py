"""Ghost layers: every rank holds its box and `width` more layers, which belong to other ranks.

`Halo` serves arrays over cells, faces and nodes. PETSc's DMDA knows only cuts by whole planes through the grid; boxes
with equal numbers of liquid cells are no such cut, so the exchange is a PetscSF, PETSc's graph of what each rank needs
from others. It packs, sends and adds in C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..grid.box import IndexBox
from .boxes import Boxes
from .comm import Comm


class Halo:
    """The ghost layers of arrays over one rank's box.

    Parameters
    ----------
    comm : Comm
        The ranks.
    boxes : Boxes
        Their boxes.
    width : int
        Ghost layers on each side; none beyond the ends of the grid.
    stagger : tuple of int
        0 for cells; 1 along the axes on which samples sit between cells: `(1, 0, 0)` for u, `(1, 1, 1)` for nodes. The
        sample between cells i - 1 and i belongs to the owner of cell i; the last one of the grid to that of the last
        cell.

    Attributes
    ----------
    held, own : IndexBox
        The samples that an array of this rank holds, and those among them that belong to it.
    inside : tuple of slice
        Where the own samples lie in an array.

    Examples
    --------
    >>> from nonstick.parallel.comm import world
    >>> halo = Halo(world(), Boxes.regular((4, 6), 1), 2, stagger=(1, 0))
    >>> halo.held.shape, halo.own.shape
    ((5, 6), (5, 6))
    """

    def __init__(self, comm: Comm, boxes: Boxes, width: int, stagger: Sequence[int] | None = None):
        self.comm, self.width = comm, width
        stagger = tuple(stagger) if stagger is not None else (0,) * len(boxes.shape)
        owned = [_owned(box, boxes.shape, stagger) for box in boxes.boxes]
        held = [_held(box, boxes.shape, stagger, width) for box in boxes.boxes]
        me = comm.rank
        self.own, self.held = owned[me], held[me]
        self.inside = self.own.within(self.held)
        ghosts, roots = [], []
        sent = neighbours = 0
        for other in range(comm.size):
            if other == me:
                continue
            needed, asked = held[me].intersection(owned[other]), held[other].intersection(owned[me])
            if needed.size:
                ghosts.append(needed.numbers(held[me]))
                there = needed.numbers(held[other])
                roots.append(np.stack((np.full(there.size, other), there), axis=1))
            sent += asked.size
            neighbours += asked.size > 0
        self.graph = Graph(comm, self.held.size, ghosts, roots, sent, neighbours)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an array of this rank."""
        return self.held.shape

    def exchange(self, *arrays: np.ndarray) -> None:
        """Fill the ghost samples of C-contiguous arrays from their owners."""
        self.graph.exchange(*arrays)

    def add(self, *arrays: np.ndarray) -> None:
        """Add the ghost samples of arrays to their owners, in the order of ranks; the ghosts keep their values."""
        self.graph.add(*arrays)


class Graph:
    """What is copied between flat arrays of the ranks: a PetscSF.

    Parameters
    ----------
    comm : Comm
        The ranks.
    size : int
        The length of this rank's arrays.
    ghosts : list of ndarray
        Places that other ranks own.
    roots : list of ndarray
        For each of them (owner, place in the owner's array).
    sent, neighbours : int
        Values that an exchange sends from here, and to how many ranks.
    """

    def __init__(self, comm: Comm, size: int, ghosts: list, roots: list, sent: int, neighbours: int):
        self.comm, self.sent, self.neighbours = comm, sent, neighbours
        self.ghosts = np.concatenate([np.zeros(0, np.int64), *ghosts])
        self._received, self._owners = self.ghosts.size, len(roots)
        self._sf: Any = None
        if comm.size > 1:
            kind = comm.petsc.IntType
            remote = np.concatenate([np.zeros((0, 2), np.int64), *roots]).astype(kind)
            self._sf = comm.petsc.SF().create(comm=comm.mpi)
            self._sf.setGraph(size, self.ghosts.astype(kind), np.ascontiguousarray(remote).ravel())
            self._sf.setUp()

    def exchange(self, *arrays: np.ndarray) -> None:
        """Copy from owners to ghosts."""
        if self._sf is not None:
            self._run(self._sf.bcastBegin, self._sf.bcastEnd, "REPLACE", arrays)
            self._count(self.neighbours, self.sent, arrays)

    def add(self, *arrays: np.ndarray) -> None:
        """Add ghosts to what their owners have."""
        if self._sf is not None:
            self._run(self._sf.reduceBegin, self._sf.reduceEnd, "SUM", arrays)
            self._count(self._owners, self._received, arrays)

    def _run(self, begin: Any, end: Any, operation: str, arrays: Sequence[np.ndarray]) -> None:
        from .ranks import MPI, mpi_type

        how = getattr(MPI, operation)
        begun = [(mpi_type(flat.dtype), flat) for flat in map(_flat, arrays)]
        for step in (begin, end):
            for kind, flat in begun:
                step(kind, flat, flat, how)

    def _count(self, messages: int, values: int, arrays: Sequence[np.ndarray]) -> None:
        traffic = self.comm.traffic
        traffic.messages += messages * len(arrays)
        traffic.bytes += sum(values * a.itemsize for a in arrays)


def _flat(array: np.ndarray) -> np.ndarray:
    if not array.flags.c_contiguous:
        raise ValueError("ghost layers are exchanged in place: the array must be C-contiguous")
    return array.reshape(-1).view(np.uint8) if array.dtype == np.bool_ else array.reshape(-1)


def _owned(box: IndexBox, shape: Sequence[int], stagger: Sequence[int]) -> IndexBox:
    return IndexBox(box.low, tuple(h + s * (h == n) for h, n, s in zip(box.high, shape, stagger)))


def _held(box: IndexBox, shape: Sequence[int], stagger: Sequence[int], width: int) -> IndexBox:
    """The box with its ghosts: the samples of the cells that are held."""
    cells = box.grown(width, shape)
    return IndexBox(cells.low, tuple(h + s for h, s in zip(cells.high, stagger)))
