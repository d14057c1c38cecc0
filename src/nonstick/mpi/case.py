"""Static cases on many ranks: each rank discretises the cells of its own box."""

from __future__ import annotations

import numpy as np

from .. import cases
from ..errors import NonstickError
from ..grid.box import IndexBox
from ..inverse.multigrid.grid.level import shared_levels
from ..parallel.boxes import Boxes
from ..parallel.comm import Comm
from .shared import Shared, bare

#: ghost layers of the fields from which a rank discretises: the rows of its box and of one layer around it are complete
WIDTH = 2


def build(comm: Comm, name: str, n: int, **options) -> Shared:
    """The case as a problem of all ranks; its boxes have about equal numbers of unknowns."""
    shape = (n,) * cases.dimension(name)
    first = Boxes.regular(shape, comm.size)[comm.rank]
    unknown = _unknowns(comm, name, n, first, options)
    levels = shared_levels(int(comm.total(np.count_nonzero(unknown))), len(shape))
    boxes = Boxes.by_liquid(comm, shape, first, unknown, align=2**levels)
    held = boxes[comm.rank].grown(WIDTH, shape)
    with comm.same_outcome():
        local = _build(name, n, held, options)
    return Shared(comm, boxes, held, local.problem)


def _build(name: str, n: int, held: IndexBox, options: dict) -> cases.StaticCase:
    try:
        return cases.build(name, n, window=(held.low, held.high), **options)
    except TypeError:
        raise NonstickError(
            f"the case {name!r} is not made from shapes; on many ranks take a case of a liquid"
        ) from None


def _unknowns(comm: Comm, name: str, n: int, box: IndexBox, options: dict) -> np.ndarray:
    """True in the cells of a box that are unknowns."""
    held = box.grown(WIDTH, (n,) * len(box.low))
    with comm.same_outcome():
        rows = bare(_build(name, n, held, options).problem.A).rows
    return rows.to_grid(np.ones(rows.n, bool), False)[box.within(held)]
