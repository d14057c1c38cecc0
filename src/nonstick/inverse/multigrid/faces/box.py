"""Aanjaneya's box smoother for viscosity (§6.3): the faces around each face are solved for together.

`stencil_box` lists the faces in the row of the centre (9 in 2D, 15 in 3D), `full_box` the rectangular neighbourhood
the paper starts from (17 and 75). Departures: factors are kept as explicit inverses, not only the one inside the liquid
but one for every kind of box; the paper's red-black partition along x is cut into slabs of fixed thickness, so that
results do not depend on the number of threads, and boxes along the last axis are coloured, so that many are solved at
once. The paper coarsens by `Voxels`; their volumes of 0 or 1 enlarge the liquid at every level, which raises iterations
at large viscosities (20 instead of 6 at 1024²). `MeanVolumes` does not do this.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ....kernels._faces import _cut_runs
from ....operators.faces import FaceGrid, FaceSystem
from ..level import OperatorLevel
from ..smoothers import Smoother, SmootherRecipe
from ._box import (
    BoxFaces,
    BoxInverses,
    FaceCoefficients,
    PackedLines,
    _box_keys,
    _box_sweep,
    _invert_boxes,
    _mark_boxes,
    _pack,
    _unpack,
)
from .coarsening import require_faces

#: a slab must be at least this thick, so that every second slab is independent
SLAB = 4
#: inverses of boxes at the boundary may take this many bytes an unknown, or this many bytes in all if that is more
STORED = 8, 2**28

Face = tuple[int, tuple[int, int, int]]


def stencil_box() -> list[Face]:
    """The faces in the row of the centre, in the order of the kernels: (role, offsets along a, b, c)."""
    own = [(0, 0, 0), (-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]
    b = [(0, 0, 0), (-1, 0, 0), (0, 1, 0), (-1, 1, 0)]
    c = [(0, 0, 0), (-1, 0, 0), (0, 0, 1), (-1, 0, 1)]
    return [(0, o) for o in own] + [(1, o) for o in b] + [(2, o) for o in c]


def full_box() -> list[Face]:
    """Every face in the rectangle around the centre."""
    near, half, wide = (-1, 0, 1), (-1, 0), (-1, 0, 1, 2)
    own = sorted(itertools.product(near, near, near), key=lambda o: o != (0, 0, 0))
    b = itertools.product(half, wide, near)
    c = itertools.product(half, near, wide)
    return [(0, o) for o in own] + [(1, o) for o in b] + [(2, o) for o in c]


class BoxTable:
    """A box in the form of the kernels: faces, and the stress samples that touch them."""

    def __init__(self, faces: list[Face]):
        number = {face: n for n, face in enumerate(faces)}
        samples: dict[tuple[int, tuple[int, int, int]], dict[int, float]] = {}

        def touch(kind: int, at: tuple[int, int, int], parts: list[tuple[Face, float]]) -> None:
            samples[kind, at] = {number[f]: s for f, s in parts if f in number}

        cells = {}
        for role, o in faces:
            for at in (o, _move(o, role, -1)):
                parts = [((role, _move(at, role, 1)), 1.0), ((role, at), -1.0)]
                cells[role, at] = {number[f]: s for f, s in parts if f in number}
            for other in range(3):
                if other != role:
                    for at in (o, _move(o, other, 1)):
                        first, second = min(role, other), max(role, other)
                        parts = [
                            ((first, at), 1.0),
                            ((first, _move(at, second, -1)), -1.0),
                            ((second, at), 1.0),
                            ((second, _move(at, first, -1)), -1.0),
                        ]
                        touch(first + second, at, parts)
        every = [(3 + role if role else 0, at, members) for (role, at), members in cells.items()]
        every += [(kind, at, members) for (kind, at), members in samples.items()]
        self.role = np.array([role for role, _ in faces], np.int64)
        self.offset = np.array([o for _, o in faces], np.int64)
        sample = np.array([(kind, *at) for kind, at, _ in every], np.int64)
        ptr = np.cumsum([0] + [len(members) for *_, members in every]).astype(np.int64)
        local = np.array([n for *_, members in every for n in members], np.int64)
        sign = np.array([s for *_, members in every for s in members.values()])
        #: the arrays of the kernels
        self.box = BoxFaces(self.role, self.offset, sample, ptr, local, sign)
        #: every so many boxes along a line are independent: a box writes from -1 to `reach`, and reads one face further
        reach = int(self.offset.max())
        self.colours = reach + 3

    def members(self, grid: FaceGrid) -> np.ndarray:
        """(3, faces) booleans: the faces of a box that exist on this grid; a 2D grid has none across its thin axis."""
        out = np.zeros((3, self.role.size), np.bool_)
        for a in grid.axes:
            for q in range(self.role.size):
                moved = {(a + axis) % 3 for axis in range(3) if self.offset[q, axis]}
                out[a, q] = (a + self.role[q]) % 3 in grid.axes and moved <= set(grid.axes)
        return out


def _move(o: tuple[int, int, int], axis: int, by: int) -> tuple[int, int, int]:
    p = list(o)
    p[axis] += by
    return p[0], p[1], p[2]


@dataclass(frozen=True)
class BoxSweep(SmootherRecipe):
    """One sweep over all boxes before the coarse correction, the reverse sweep after it.

    Parameters
    ----------
    full : bool
        Use the rectangular boxes of 17 or 75 faces instead of those of the stencil.

    Examples
    --------
    >>> from nonstick.inverse import BoxSweep, MeanVolumes, Multigrid, V
    >>> cycle = Multigrid(MeanVolumes(), BoxSweep(), V(1, 1), smallest=4000)
    """

    full: bool = False

    def setup(self, A):
        require_faces(A)
        return BoxSmoother(A, BoxTable(full_box() if self.full else stencil_box()))


class BoxSmoother(Smoother):
    """Boxes of one system: their runs, their inverses, and the slabs that may run in parallel."""

    def __init__(self, system: FaceSystem, table: BoxTable, stored: tuple[int, int] = STORED):
        self.system, self.table = system, table
        grid, P = system.grid, system.P
        shape = np.array(grid.padded, np.int64)
        active = system.active()
        members = table.members(grid)
        whole = np.zeros(active.shape, np.bool_)
        plain = system.plain_rows(active)
        _mark_boxes(whole.ravel(), active.ravel(), plain.ravel(), shape, members, table.role, table.offset)
        del plain
        self.runs = np.zeros((_cut_runs(np.empty((0, 5), np.int64), active, whole, shape, 1), 5), np.int64)
        _cut_runs(self.runs, active, whole, shape, 1)
        length = np.where(self.runs[:, 3], 0, self.runs[:, 2] - self.runs[:, 1])
        self.runs[:, 4] = np.cumsum(length) - length

        coordinate = np.unravel_index(self.runs[:, 1], grid.padded)[grid.axes[0]] - 1
        slab = coordinate // SLAB
        self.slabs = np.searchsorted(slab, np.arange(slab.max(initial=0) + 2)).astype(np.int64)
        self._invert(active.ravel(), whole, int(length.sum()), stored)
        self._pack_by_colour(members)
        self.rows = np.unique(self.runs[:, 0] * P + self.runs[:, 1] // shape[2] * shape[2])

    def _invert(self, active: np.ndarray, whole: np.ndarray, others: int, stored: tuple[int, int]) -> None:
        """The inverses of all boxes, of which many are equal."""
        S, T = self.system, self.table
        n = T.role.size
        faces = FaceCoefficients(S.m, S.k, active, S.strides, S.P)
        self.shared = np.zeros((3, n, n), S.dtype)
        for a in S.grid.axes:
            centre = a * S.P + np.flatnonzero(whole[a])[:1]
            _invert_boxes(self.shared[a : a + centre.size], centre, faces, T.box)
        keys = np.empty(others, np.uint64)
        _box_keys(keys, self.runs, faces, T.box)
        _, first, kind, count = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        del keys
        most = max(stored[0] * S.n, stored[1]) // (n * n * S.dtype.itemsize)
        kept = np.sort(np.argsort(-count, kind="stable")[:most])
        number = np.full(first.size, -1, np.int32)
        number[kept] = np.arange(kept.size, dtype=np.int32)
        self.kinds = number[kind]
        rest = self.runs[self.runs[:, 3] == 0]
        run = rest[np.searchsorted(rest[:, 4], first[kept], side="right") - 1]
        self.stored = np.zeros((kept.size, n, n), S.dtype)
        centres = run[:, 0] * S.P + run[:, 1] + first[kept] - run[:, 4]
        _invert_boxes(self.stored, centres, faces, T.box)
        self.active = active if kept.size < first.size else np.zeros(0, np.bool_)

    def _pack_by_colour(self, members: np.ndarray) -> None:
        """Where colours begin in a packed line, and where the entries of the rows of a box are from there."""
        grid, T, P = self.system.grid, self.table, self.system.P
        line, C = grid.padded[2], T.colours
        sizes = [-(-(line - colour) // C) for colour in range(C)]
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.members = np.full((3, T.role.size), -1, np.int64)
        self.near = np.zeros((3, C, T.role.size, 15), np.int64)
        self.shift = np.zeros((3, T.role.size), np.int64)
        for a in grid.axes:
            rows = np.flatnonzero(members[a])
            self.members[a, : rows.size] = rows
            for q in rows:
                of = (a + T.role[q]) % 3
                self.shift[a, q] = of * P + T.offset[q] @ np.roll(self.system.strides, -a)
                for s, (role, move) in enumerate(stencil_box()):
                    away = np.zeros(3, np.int64)
                    for axis in range(3):
                        away[(a + axis) % 3] += T.offset[q, axis]
                        away[(of + axis) % 3] += move[axis]
                    line_at = (of + role) % 3 * P + away[:2] @ self.system.strides[:2]
                    for colour in range(C):
                        turns, other = divmod(colour + away[2], C)
                        self.near[a, colour, q, s] = line_at + self.starts[other] + turns

    def pre(self, level):
        self._sweep(level, False, False)

    def pre_from_zero(self, level):
        self._sweep(level, False, True)

    def post(self, level):
        self._sweep(level, True, False)

    def _sweep(self, level: OperatorLevel, backward: bool, from_zero: bool) -> None:
        """x is packed into r, which is zero again at the end."""
        S, T, x = self.system, self.table, level.r
        line = S.grid.padded[2]
        if from_zero:
            _unpack(level.x, x, self.rows, line, self.starts)  # whatever r held is gone
        else:
            _pack(x, level.x, self.rows, line, self.starts)
        faces = FaceCoefficients(S.m, S.k, self.active, S.strides, S.P)
        lines = PackedLines(self.starts, self.members, self.shift, self.near)
        inverses = BoxInverses(self.shared, self.stored, self.kinds)
        for colour in (1, 0) if backward else (0, 1):
            _box_sweep(x, level.b, faces, self.runs, self.slabs, colour, backward, S.plain, lines, T.box, inverses)
        _unpack(level.x, x, self.rows, line, self.starts)
