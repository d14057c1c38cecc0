"""A grid cut into boxes, one for each rank, so that every box has about the same number of liquid cells.

Recursive bisection: a region is cut across the axis along which its liquid is longest, where the liquid on both sides
is in proportion to the ranks on both sides. Only sums over planes travel between ranks; no rank sees the whole grid.
Cuts lie at multiples of `align` cells, so that 2×2×2 blocks of cells, and blocks of blocks, belong to one rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
