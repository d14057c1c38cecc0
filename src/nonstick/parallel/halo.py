"""Boxes of a grid, one for each rank, and ghost layers: `width` more layers that a rank holds of the boxes of others.

`Halo` serves arrays over cells, faces and nodes. PETSc's DMDA knows only cuts by whole planes through the grid; boxes
with equal numbers of liquid cells are no such cut, so the exchange is a PetscSF, PETSc's graph of what each rank needs
from others. It packs, sends and adds in C.

Every box has about the same number of liquid cells, by recursive bisection: a region is cut across the axis along which
its liquid is longest, where the liquid on both sides is in proportion to the ranks on both sides. Only sums over planes
travel between ranks; no rank sees the whole grid. Cuts lie at multiples of `align` cells, so that 2×2×2 blocks of
cells, and blocks of blocks, belong to one rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import NonstickError
from ..grid.box import IndexBox
from .comm import Comm

#: sums of liquid cells over the planes across each axis, for each of several regions
PlaneSums = Callable[[list[IndexBox]], list[list[np.ndarray]]]


class Boxes:
    """The boxes of all ranks, and the owner of every cell.

    Attributes
    ----------
    shape : tuple
        Of the whole grid.
    boxes : list of IndexBox
        One for each rank.

    Examples
    --------
    >>> boxes = Boxes.regular((8, 8), 2, align=2)
    >>> boxes.boxes[1], boxes.owner(np.array([[1, 7], [5, 0]]))
    (IndexBox(low=(4, 0), high=(8, 8)), array([0, 1]))
    """

    def __init__(
        self, shape: Sequence[int], boxes: list[IndexBox], cuts: list[tuple[int, int, int, int]], align: int = 1
    ):
        self.shape, self.boxes, self.align = tuple(int(n) for n in shape), boxes, align
        # a cut is (axis, plane, what is below, what is above): the number of another cut, or -1 - rank
        self.cuts = np.array(cuts, np.int64).reshape(-1, 4)

    def __len__(self) -> int:
        return len(self.boxes)

    def __getitem__(self, rank: int) -> IndexBox:
        return self.boxes[rank]

    def owner(self, cells: np.ndarray) -> np.ndarray:
        """The rank of each row of (n, d) cells; cells outside the grid belong to the box that is next to them."""
        cells = np.asarray(cells)
        at = np.zeros(len(cells), np.int64) if len(self.cuts) else np.full(len(cells), -1)
        while True:
            open_ = np.flatnonzero(at >= 0)
            if not open_.size:
                return -1 - at
            axis, plane, below, above = self.cuts[at[open_]].T
            at[open_] = np.where(cells[open_, axis] < plane, below, above)

    def coarse(self, factor: int) -> Boxes:
        """The same boxes on a grid of cells `factor` times as large, which must divide `align`."""
        if self.align % factor:
            raise NonstickError(f"boxes aligned to {self.align} cells have no grid {factor} times as coarse")

        def up(values: Sequence[int]) -> tuple[int, ...]:
            return tuple(-(-v // factor) for v in values)

        cuts = self.cuts.copy()
        cuts[:, 1] //= factor
        boxes = [IndexBox(up(b.low), up(b.high)) for b in self.boxes]
        return Boxes(up(self.shape), boxes, [(c[0], c[1], c[2], c[3]) for c in cuts.tolist()], self.align // factor)

    def three(self) -> Boxes:
        """The same boxes with three axes; the first is one cell thick if there were two."""
        extra = 3 - len(self.shape)
        cuts = [(axis + extra, plane, below, above) for axis, plane, below, above in self.cuts.tolist()]
        return Boxes((1,) * extra + self.shape, [box.three() for box in self.boxes], cuts, self.align)

    @classmethod
    def regular(cls, shape: Sequence[int], parts: int, align: int = 1) -> Boxes:
        """Boxes of about equal volume."""

        def volumes(regions: list[IndexBox]) -> list[list[np.ndarray]]:
            return [[np.full(n, region.size // max(n, 1)) for n in region.shape] for region in regions]

        return cls._bisected(shape, parts, align, volumes)

    @classmethod
    def by_liquid(cls, comm: Comm, shape: Sequence[int], own: IndexBox, liquid: np.ndarray, align: int = 1) -> Boxes:
        """Boxes with about equal numbers of liquid cells; every rank calls it.

        Parameters
        ----------
        own : IndexBox
            Where this rank has looked for liquid; the boxes of all ranks cover the grid once, as `regular` or an
            earlier cut does.
        liquid : ndarray of bool
            Over `own`.
        """
        return cls.by_cells(comm, shape, np.argwhere(liquid) + np.array(own.low), align)

    @classmethod
    def by_cells(
        cls, comm: Comm, shape: Sequence[int], cells: np.ndarray, align: int = 1, parts: int | None = None
    ) -> Boxes:
        """The same from lists: the (n, d) liquid cells that this rank knows of; every cell is in one list.

        `parts` is the number of boxes; by default one for each rank.
        """

        def sums(regions: list[IndexBox]) -> list[list[np.ndarray]]:
            out = []
            for region in regions:
                low = np.array(region.low)
                mine = cells[((cells >= low) & (cells < np.array(region.high))).all(axis=1)] - low
                out.append([np.bincount(mine[:, axis], minlength=n) for axis, n in enumerate(region.shape)])
            flat = comm.total(np.concatenate([p for planes in out for p in planes]))
            ends = np.cumsum([p.size for planes in out for p in planes])
            pieces = iter(np.split(flat, ends[:-1]))
            return [[next(pieces) for _ in planes] for planes in out]

        return cls._bisected(shape, parts or comm.size, align, sums)

    @classmethod
    def _bisected(cls, shape: Sequence[int], parts: int, align: int, sums: PlaneSums) -> Boxes:
        whole = IndexBox.whole(shape)
        boxes: list[IndexBox] = [whole] * parts
        cuts: list[tuple[int, int, int, int]] = []
        #: regions to cut, their first rank and number of ranks, and the place where their cut is noted
        todo = [(whole, 0, parts, (-1, 0))]
        while todo:
            leaves = [item for item in todo if item[2] == 1]
            todo = [item for item in todo if item[2] > 1]
            for region, rank, _, place in leaves:
                boxes[rank] = region
                _note(cuts, place, -1 - rank)
            after = []
            for (region, rank, count, place), planes in zip(todo, sums([item[0] for item in todo]) if todo else []):
                axis, plane = _best_cut(region, planes, count, align)
                _note(cuts, place, len(cuts))
                cuts.append((axis, plane, 0, 0))
                half, here = (count + 1) // 2, len(cuts) - 1
                low, high = list(region.low), list(region.high)
                low[axis] = high[axis] = plane
                after.append((IndexBox(region.low, tuple(high)), rank, half, (here, 2)))
                after.append((IndexBox(tuple(low), region.high), rank + half, count - half, (here, 3)))
            todo = after
        return cls(shape, boxes, cuts, align)


def _note(cuts: list, place: tuple[int, int], value: int) -> None:
    cut, side = place
    if cut >= 0:
        entry = list(cuts[cut])
        entry[side] = value
        cuts[cut] = tuple(entry)


def _best_cut(region: IndexBox, planes: list[np.ndarray], count: int, align: int) -> tuple[int, int]:
    """Axis and plane of the cut of a region for `count` ranks."""
    half = (count + 1) // 2
    if not planes[0].any():  # no liquid here: cut by volume
        planes = [np.full(n, region.size // max(n, 1)) for n in region.shape]
    extent = [np.ptp(np.flatnonzero(p)) + 1 if p.any() else 0 for p in planes]
    for axis in sorted(range(len(planes)), key=lambda a: (-extent[a], a)):
        low, high = region.low[axis], region.high[axis]
        at = np.arange(-(-(low + 1) // align) * align, high, align)
        blocks = [int(np.prod([-(-n // align) for a, n in enumerate(region.shape) if a != axis]))] * 2
        room = (-(-(at - low) // align) * blocks[0] >= half) & (-(-(high - at) // align) * blocks[1] >= count - half)
        at = at[room]
        if at.size:
            below = np.cumsum(planes[axis])[at - low - 1]
            load = np.maximum(below / half, (planes[axis].sum() - below) / (count - half))
            return axis, int(at[np.argmin(load)])
    raise NonstickError(
        f"the grid is too small for so many ranks: its boxes are cut at multiples of {align} cells; take fewer ranks"
    )


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
