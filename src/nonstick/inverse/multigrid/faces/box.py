"""Aanjaneya's box smoother for viscosity (§6.3): the faces around each face are solved for together.

`stencil_box` lists the faces in the row of the centre (9 in 2D, 15 in 3D), `full_box` the rectangular neighbourhood
the paper starts from (17 and 75). Departures: the shared factor of interior boxes is kept as an explicit
inverse; the paper's red-black partition along x is cut into slabs of fixed thickness, so that results do
not depend on the number of threads. The paper coarsens by `Voxels`; their volumes of 0 or 1 enlarge the liquid at every
level, which raises iterations at large viscosities (20 instead of 6 at 1024²). `MeanVolumes` does not do this.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ....operators.faces import FaceGrid, FaceSystem
from ..level import OperatorLevel
from ..smoothers import Smoother, SmootherRecipe
from ._box import _assemble_box, _box_sweep, _mark_boxes
from .coarsening import require_faces

#: a slab must be at least this thick, so that every second slab is independent
SLAB = 4

Face = tuple[int, tuple[int, int, int]]


def stencil_box() -> list[Face]:
    """The centre and its neighbours in the matrix: (role, offsets along a, b, c)."""
    own = [(0, 0, 0), (-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]
    b = [(p, q, 0) for q in (0, 1) for p in (-1, 0)]
    c = [(p, 0, q) for q in (0, 1) for p in (-1, 0)]
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
        self.sample = np.array([(kind, *at) for kind, at, _ in every], np.int64)
        self.ptr = np.cumsum([0] + [len(members) for *_, members in every]).astype(np.int64)
        self.local = np.array([n for *_, members in every for n in members], np.int64)
        self.sign = np.array([s for *_, members in every for s in members.values()])

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
    """Boxes of one system: the plain ones, their common inverse, and the slabs that may run in parallel."""

    def __init__(self, system: FaceSystem, table: BoxTable):
        self.system, self.table = system, table
        grid = system.grid
        shape = np.array(grid.padded, np.int64)
        active = system.active()
        constant = system.plain_rows(active)
        self.kind = np.zeros(3 * system.P, np.int8)
        members = table.members(grid)
        _mark_boxes(self.kind, active.ravel(), constant.ravel(), shape, members, table.role, table.offset)
        self.inverse = self._shared_inverse(members)
        first = grid.axes[0]
        coordinate = np.unravel_index(system.runs[:, 1], grid.padded)[first] - 1
        slab = coordinate // SLAB
        self.slabs = np.searchsorted(slab, np.arange(slab.max(initial=0) + 2)).astype(np.int64)

    def _shared_inverse(self, members: np.ndarray) -> np.ndarray:
        """The inverse of a plain box, for each component."""
        system, table = self.system, self.table
        n = table.role.size
        out = np.zeros((3, n, n))
        A = np.empty((n, n))
        for a in system.grid.axes:
            centres = np.flatnonzero(self.kind[a * system.P : (a + 1) * system.P] == 2)
            if centres.size:
                t = int(centres[0])
                s = [system.strides[(a + axis) % 3] for axis in range(3)]
                where = (a + table.role) % 3 * system.P + t + table.offset @ np.array(s)
                where[~members[a]] = -1
                samples = table.sample, table.ptr, table.local, table.sign
                _assemble_box(A, t, a, system.m, system.k, where, system.strides, system.P, *samples)
                L = np.linalg.inv(np.linalg.cholesky(A))
                out[a] = L.T @ L
                out[a][~members[a]] = 0.0
        return out

    def pre(self, level):
        for colour in (0, 1):
            self._sweep(level, colour, False)

    def post(self, level):
        for colour in (1, 0):
            self._sweep(level, colour, True)

    def _sweep(self, level: OperatorLevel, colour: int, backward: bool) -> None:
        S, T = self.system, self.table
        matrix, way = (S.m, S.k, self.kind, S.runs), (self.slabs, colour, backward)
        box = T.role, T.offset, T.sample, T.ptr, T.local, T.sign, self.inverse
        _box_sweep(level.x, level.b, *matrix, *way, S.plain, S.strides, S.P, *box)
