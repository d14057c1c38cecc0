"""A problem of which every rank has discretised its own part, put together."""

from __future__ import annotations

import numpy as np

from ..errors import NonstickError
from ..operators.stencil import StencilOperator
from ..problem.box import BoxProblem
from .boxes import Box, Boxes
from .comm import Comm
from .piece import Piece, _inside
from .stencil import SharedStencil


class Shared:
    """One problem on many ranks.

    Parameters
    ----------
    comm : Comm
        The ranks; every rank makes a `Shared` at the same time.
    boxes : Boxes
        The boxes of all ranks, 2D or 3D, with an `align` of at least 2.
    held : Box
        The cells on which this rank has discretised: its box with at least two layers more (where the grid has them).
    local : BoxProblem
        What came out, on a stencil over `held`. The rows of the box must be those of the whole problem; the rows of
        the outermost layer do not matter.

    Attributes
    ----------
    problem : BoxProblem
        The problem of all ranks; a vector of it has this rank's rows and one layer of ghosts.
    """

    def __init__(self, comm: Comm, boxes: Boxes, held: Box, local: BoxProblem):
        with comm.together():
            A = _stencil(local)
            if boxes.align < 2:
                raise NonstickError(
                    "boxes of a problem on many ranks are cut at multiples of 2, 4, 8, … cells: give align"
                )
        self.dimension = len(boxes.shape)
        lifted, held = _lifted(boxes), _lift_box(held, self.dimension)
        cells = np.stack(np.unravel_index(A.rows.cells, held.shape), axis=1) + np.array(held.low)
        mine = _inside(cells, lifted[comm.rank])
        self.piece = piece = Piece(comm, lifted, cells[mine], self.dimension)
        #: the row of the local problem of each row of the piece; -1 for ghosts that it does not have
        number = np.full(held.size, -1, np.int64)
        number[A.rows.cells] = np.arange(A.n)
        at = np.ravel_multi_index(tuple((piece.cells - np.array(held.low)).T), held.shape)
        self._local = number[at]
        known = self._local >= 0
        right = piece.rows.neighbours()
        w0, w1, w2 = (np.where(known & (right[:, axis] >= 0), w[self._local], 0.0) for axis, w in enumerate(A.weights))
        d, b = (np.where(known, v[self._local], 0.0) for v in (A.diagonal, local.b))
        lower, upper = local.box.lower[self._local], local.box.upper[self._local]
        b[piece.ghosts] = 0.0
        lower[piece.ghosts], upper[piece.ghosts] = -np.inf, np.inf
        piece.graph.exchange(d)
        self.n = A.n
        self.problem = BoxProblem(SharedStencil(piece, (w0, w1, w2), d), b, lower, upper)

    def enter(self, values: np.ndarray) -> np.ndarray:
        """A vector of the problem from one of the local problem."""
        out = np.where(self._local >= 0, values[self._local], 0).astype(values.dtype)
        self.piece.graph.exchange(out)
        return out

    def leave(self, values: np.ndarray) -> np.ndarray:
        """A vector of the local problem: the rows of the box and those next to it; zero elsewhere."""
        self.piece.graph.exchange(values)
        out = np.zeros(self.n, values.dtype)
        known = self._local >= 0
        out[self._local[known]] = values[known]
        return out


def _stencil(local: BoxProblem) -> StencilOperator:
    for trait, what in (("bodies", "rigid bodies"), ("edges", "constraints on the edges of a wall")):
        if trait in local.traits:
            raise NonstickError(f"problems with {what} do not run on many ranks yet; run them on one")
    if local.A.stencil is None:
        raise NonstickError("many ranks need unknowns on a grid, coupled only across faces of cells: give their cells")
    return local.A.stencil


def _lifted(boxes: Boxes) -> Boxes:
    """The same boxes with three axes."""
    extra = 3 - len(boxes.shape)
    if not extra:
        return boxes
    cuts = [(axis + extra, plane, below, above) for axis, plane, below, above in boxes.cuts]
    return Boxes((1,) * extra + boxes.shape, [_lift_box(b, 3 - extra) for b in boxes.boxes], cuts, boxes.align)


def _lift_box(box: Box, dimension: int) -> Box:
    extra = 3 - dimension
    return Box((0,) * extra + box.low, (1,) * extra + box.high)
