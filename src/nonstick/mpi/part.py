"""One rank's part of a simulation: its box of cells with ghost layers, and the particles in it.

A step of the simulator runs on the grid of `Part.grid`, the rank's own cells and `WIDTH` or more layers around them. At
the outer side of the ghosts, where the domain goes on, kernels see an end of the grid that is not there. What they
compute next to it is wrong, one layer further with every value they read from a neighbour. So ghosts are filled again,
from the ranks that own them, before the error comes to cells that count:

- particles in ghost cells are copies of those of other ranks, made anew in each step (`surround`); they take part in
  what particles tell the grid, and are dropped before particles move (`release`);
- φ, velocities, the pressure and what evens out particles are exchanged after each stage that reads far;
- a particle that leaves the own cells moves to its new owner at the end of the step (`settle`).

Positions of particles are in cells from the corner of the rank's grid. They are rounded such that adding and
subtracting the corner is exact: all ranks agree on the cell of a particle.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..discretise.coupling import Whole
from ..discretise.viscosity import ViscosityProblem
from ..grid.box import IndexBox
from ..grid.columns import FIELDS, PARTICLES
from ..grid.faces import FaceField
from ..grid.mac import Part as PartOfGrid
from ..parallel.boxes import Boxes
from ..parallel.comm import Comm
from ..parallel.components import join_parts
from ..parallel.halo import Halo
from ..problem.box import BoxProblem
from ..problem.solution import Solution
from .shared import Shared, bare
from .solve import solve_shared
from .viscous import Thickened, solve_viscosity

#: fewest ghost layers: the surface at a steep wall looks at particles five cells away, and at the cells beside them
WIDTH = 6


def ghost_layers(cfl: float) -> int:
    """Ghost layers for steps of this CFL number.

    Velocities are continued ⌈CFL⌉ + 2 layers beyond the liquid and then corrected by their neighbours, and particles
    move with the result: more than twice as far as the CFL number says, if the pressure speeds them up.
    """
    return max(WIDTH, math.ceil(cfl) + 4)


class Part:
    """One rank's part of the domain; it has the methods of `nonstick.sim.liquid.alone.Alone`.

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
    """

    shared = True

    def __init__(self, comm: Comm, boxes: Boxes, dx: float, width: int = WIDTH):
        self.comm, self.boxes = comm, boxes
        self.rank, self.size = comm.rank, comm.size
        #: half sweeps that ghost layers last
        self.depth = width
        d = len(boxes.shape)
        self._cells = Halo(comm, boxes, width)
        self._faces = [Halo(comm, boxes, width, tuple(int(b == a) for b in range(d))) for a in range(d)]
        self._nodes = Halo(comm, boxes, width, (1,) * d)
        held = self._cells.held
        self.own_box: IndexBox = boxes[comm.rank]
        self.grid = PartOfGrid(held.shape, dx, first=held.low)
        self.counted = _Counted(comm, held.low, self._cells.inside, [halo.inside for halo in self._faces])
        #: corner of the grid in cells of the domain, on three axes
        self._corner = np.concatenate([np.zeros(3 - d), np.array(held.low, float)])[:, None]
        self._bounds = [_bounds(box, boxes.shape) for box in boxes.boxes]
        near = [_bounds(box.grown(width, boxes.shape), boxes.shape) for box in boxes.boxes]
        #: ranks with ghosts among the own cells, and where these are
        self._around = {
            r: near[r]
            for r in range(comm.size)
            if r != comm.rank and boxes[r].grown(width, boxes.shape).intersection(self.own_box).size
        }
        #: True if the particles include those in ghost cells
        self._mixed = False
        self._only: tuple[Any, np.ndarray] = (None, np.zeros(0))

    # -- numbers --------------------------------------------------------------------------------------

    def sum(self, value: float) -> float:
        return self.comm.total(value)

    def max(self, value: float) -> float:
        return self.comm.largest(value)

    def any(self, flag: bool) -> bool:
        return self.comm.any(flag)

    def total(self, values: np.ndarray) -> np.ndarray:
        return self.comm.total(values)

    # -- cells and faces ------------------------------------------------------------------------------

    def own(self, cells: np.ndarray) -> np.ndarray:
        return cells[(slice(None),) * (cells.ndim - len(self._cells.inside)) + self._cells.inside]

    def own_faces(self, faces: np.ndarray, axis: int) -> np.ndarray:
        first = 3 - len(self._faces)
        return faces if axis < first else faces[(slice(None),) * first + self._faces[axis - first].inside]

    def own_nodes(self, nodes: np.ndarray) -> np.ndarray:
        return nodes[self._nodes.inside]

    def with_ghosts(self, cells: np.ndarray) -> np.ndarray:
        out = np.zeros(self.grid.shape, cells.dtype)
        self.own(out)[...] = cells
        self.fill_cells(out)
        return out

    def only_own(self, cells: np.ndarray) -> np.ndarray:
        if self._only[0] is not cells:  # the same array is asked for many times
            out = np.zeros_like(cells)
            self.own(out)[...] = self.own(cells)
            self._only = cells, out
        return self._only[1]

    def own_starts(self, start: np.ndarray) -> np.ndarray:
        out = np.zeros_like(start)
        counts = np.diff(start).reshape(self.grid.shape)
        inside = np.zeros_like(counts)
        self.own(inside)[...] = self.own(counts)
        np.cumsum(inside.reshape(-1), out=out[1:])
        return out

    def fill_cells(self, *arrays: np.ndarray) -> None:
        self._cells.exchange(*arrays)

    def fill_faces(self, faces: FaceField) -> None:
        for halo, values in zip(self._faces, faces[3 - len(self._faces) :]):
            halo.exchange(values)

    def colour(self, sweep: int) -> int:
        return (sweep + sum(self._cells.held.low)) & 1

    def parts(self, space: np.ndarray) -> tuple[np.ndarray, int]:
        return join_parts(self, space)

    # -- particles ------------------------------------------------------------------------------------

    def position(self, x: np.ndarray) -> np.ndarray:
        return x + self._corner

    def here(self, x: np.ndarray) -> np.ndarray:
        return x - self._corner

    def mine(self, x: np.ndarray) -> np.ndarray:
        return _inside(x, *self._bounds[self.rank])

    def born(self, pieces: Iterator[np.ndarray]) -> tuple[np.ndarray, np.ndarray | None, int]:
        """Each rank has made some of the particles, in the order of ranks; they go to their owners."""
        x = np.concatenate(list(pieces), axis=1)
        counts = self.comm.gathered(x.shape[1])
        place = sum(counts[: self.rank]) + np.arange(x.shape[1])
        owner = self.boxes.owner(np.floor(x[3 - len(self.boxes.shape) : 3]).astype(np.int64).T)
        rows = np.column_stack([x.T, place])  # numbers up to 2^53 are exact
        got = self.comm.swapped({int(r): rows[owner == r] for r in np.unique(owner)})
        rows = np.concatenate([np.zeros((0, len(x) + 1)), *got.values()])  # in the order of ranks, so places rise
        return np.ascontiguousarray(rows[:, :-1].T), rows[:, -1].astype(np.int64), sum(counts)

    def own_particles(self, cloud: Any) -> Any:
        if not self._mixed:
            return cloud
        out = copy.copy(cloud)
        out.keep(self.mine(self.position(cloud.x)))
        return out

    def surround(self, cloud: Any) -> None:
        """Replace the particles in ghost cells by copies of those that other ranks have there now."""
        x = self.position(cloud.x)
        if self._mixed:
            mine = self.mine(x)
            cloud.keep(mine)
            x = x[:, mine]
        sent = {r: _packed(cloud, x, np.flatnonzero(_inside(x, *box))) for r, box in self._around.items()}
        self._receive(cloud, self.comm.swapped(sent))
        self._mixed = True

    def release(self, cloud: Any, change: Callable[[], np.ndarray]) -> Callable[[], np.ndarray]:
        before = cloud.x.copy()
        change()
        mine = self.mine(self.position(before))
        changed = np.ascontiguousarray(cloud.x[:, mine])
        cloud.x = before
        cloud.keep(mine)
        self._mixed = False

        def later() -> np.ndarray:
            way = (changed - cloud.x).sum(axis=1)
            cloud.x = changed
            return self.comm.total(way)

        return later

    def settle(self, cloud: Any) -> None:
        x = self.position(cloud.x)
        cloud.x = self.here(x)  # rounded, so that the sum is exact from now on
        mine = self.mine(x)
        if not mine.all():
            gone = np.flatnonzero(~mine)
            owner = self.boxes.owner(np.floor(x[3 - len(self.boxes.shape) :, gone]).astype(np.int64).T)
            sent = {int(r): _packed(cloud, x, gone[owner == r]) for r in np.unique(owner)}
            cloud.keep(mine)
        else:
            sent = {}
        self._receive(cloud, self.comm.swapped(sent))

    def _receive(self, cloud: Any, pieces: dict[int, np.ndarray]) -> None:
        """Append particles that other ranks have sent."""
        for piece in pieces.values():
            _append(cloud, piece, self.here)

    def moved(self, state: dict[str, np.ndarray], boxes: Boxes) -> dict[str, np.ndarray]:
        """The arrays of a checkpoint after the domain was cut again: own cells and particles of the new box."""
        out = dict(state)
        cells = np.floor(state["x"][3 - len(boxes.shape) :]).astype(np.int64).T
        owner = boxes.owner(cells)
        thick = self.comm.any(len(state["mu"]) > 0)
        for name in PARTICLES:
            values = state[name].T  # particles along the first axis
            if {"aff": len(state["aff"]) == 9, "mu": thick}.get(name, True):  # the same on all ranks
                sent = {int(r): values[owner == r] for r in np.unique(owner)}
                got = self.comm.swapped(sent)
                empty = np.empty((0, *values.shape[1:]), values.dtype)
                out[name] = np.ascontiguousarray(np.concatenate([empty, *got.values()]).T)
        if out["aff"].shape[0] != 9:
            out["aff"] = np.zeros((len(state["aff"]), out["x"].shape[1]), np.float32)
        new = boxes[self.rank]
        for name in [name for name in FIELDS if name in state]:  # the same on all ranks
            both = {r: self.own_box.intersection(boxes[r]) for r in range(self.size)}
            sent = {r: state[name][b.within(self.own_box)].reshape(-1) for r, b in both.items() if b.size}
            field = np.zeros(new.shape, state[name].dtype)
            for r, values in self.comm.swapped(sent).items():
                there = new.intersection(self.boxes[r])
                field[there.within(new)] = values.reshape(there.shape)
            out[name] = field
        return out

    # -- pressure -------------------------------------------------------------------------------------

    def solve(
        self, problem: BoxProblem, x0: np.ndarray | None, active: np.ndarray | None, rtol: float, maxiter: int | None
    ) -> Solution:
        """Every rank keeps the solution in its rows and all ghosts; `notes["kkt"]` is the residual of all ranks."""
        shared = Shared(self.comm, self.boxes, self._cells.held, problem)
        # the criterion of one process, see `sim.liquid.pressure`
        found = solve_shared(shared, x0=x0, active=active, rtol=rtol, maxiter=maxiter, criterion="papers")
        rows = bare(problem.A).rows
        cells = rows.to_grid(shared.leave(found.x))
        self.fill_cells(cells)
        x = rows.from_grid(cells)
        notes = found.notes | {"kkt": found.kkt()}
        return replace(found, problem=problem, x=x, dual=problem.gradient(x), notes=notes)

    def thicken(self, problem: ViscosityProblem, rtol: float, start: Sequence[np.ndarray] | None = None) -> Thickened:
        """Solve a viscosity problem; the velocity is right in all ghosts too."""
        return solve_viscosity(self.comm, self._faces, problem, rtol, start)


class _Counted(Whole):
    """A rank's own cells and faces, for sums over bodies."""

    def __init__(self, comm: Comm, first: tuple[int, ...], cells: tuple[slice, ...], faces: list[tuple[slice, ...]]):
        self.comm, self.first, self._cells, self._faces = comm, first, cells, faces

    def own_cells(self, shape):
        out = np.zeros(shape, bool)
        out[self._cells] = True
        return out

    def own_faces(self, window, axis):
        both = [(max(w.start, o.start), max(min(w.stop, o.stop), w.start)) for w, o in zip(window, self._faces[axis])]
        return tuple(slice(low - w.start, max(high, low) - w.start) for (low, high), w in zip(both, window))


def _bounds(box: IndexBox, shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corner of a box in cells on three axes; infinite at the ends of the grid."""
    low = [-np.inf if l == 0 else float(l) for l in box.low]
    high = [np.inf if h == n else float(h) for h, n in zip(box.high, shape)]
    none = 3 - len(shape)
    return np.array([-np.inf] * none + low), np.array([np.inf] * none + high)


def _inside(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Mask of positions (3, n) between two corners."""
    out = np.ones(x.shape[1], bool)
    for row, a, b in zip(x, low, high):
        if a > -np.inf:
            out &= row >= a
        if b < np.inf:
            out &= row < b
    return out


def _columns(cloud: Any) -> list[tuple[str, int]]:
    """Columns of a cloud that travel besides positions, and their rows."""
    return [(name, width) for name, width in cloud.columns().items() if width and name != "x"]


def _packed(cloud: Any, x: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Some particles as rows of bytes; x are their positions in cells of the domain."""
    parts = [x] + [getattr(cloud, name) for name, _ in _columns(cloud)]
    rows = [np.ascontiguousarray(np.atleast_2d(p)[:, which].T).view(np.uint8) for p in parts]
    return np.concatenate(rows, axis=1)


def _append(cloud: Any, rows: np.ndarray, here: Callable[[np.ndarray], np.ndarray]) -> None:
    """Append particles that `_packed` has packed."""
    at = 0

    def take(kind: Any, width: int) -> np.ndarray:
        nonlocal at
        size = np.dtype(kind).itemsize * width
        piece = np.ascontiguousarray(rows[:, at : at + size]).view(kind)
        at += size
        return piece.T

    cloud.x = np.concatenate([cloud.x, here(take(float, 3))], axis=1)
    for name, width in _columns(cloud):
        column = getattr(cloud, name)
        new = take(column.dtype, width)
        setattr(cloud, name, np.concatenate([column, new if column.ndim == 2 else new[0]], axis=-1))
    if not cloud.affine:
        cloud.aff = np.zeros((cloud.aff.shape[0], cloud.x.shape[1]), np.float32)
