"""The viscosity operator of Batty–Bridson on the unknown faces of a staggered grid, never assembled.

`A = M + Gᵀ K G`, where M is the liquid fraction of the faces, K has one coefficient for each stress sample (cells and
edges), and G forms the differences of the strain. `FaceSystem` is the operator of one grid, finest or coarser, on
padded vectors (`FaceGrid`); `ViscosityOperator` is the same on compact vectors: the unknowns of u, then v, then w,
each in C order.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..kernels._faces import (
    _cg_direction,
    _cg_update,
    _copy_runs,
    _cut_runs,
    _faces_apply,
    _faces_apply_dot,
    _faces_diagonal,
    _faces_dot,
    _faces_peak,
    _faces_residual,
    _faces_scaled,
    _gather,
    _mark_plain,
    _scatter,
)
from ..kernels._vector import peak_and_sum
from .base import Operator


@dataclass(frozen=True)
class FaceGrid:
    """A box of cells with three axes; a 2D grid has one cell along axis 0, and no faces across it."""

    cells: tuple[int, int, int]
    dimension: int

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> FaceGrid:
        """The grid of a user's array of cells, 2D or 3D."""
        n0, n1, n2 = (1,) * (3 - len(shape)) + tuple(int(n) for n in shape)
        return cls((n0, n1, n2), len(shape))

    @property
    def padded(self) -> tuple[int, int, int]:
        """Cell, face and edge (i, j, k) live at (i + 1, j + 1, k + 1) of arrays of this shape."""
        n0, n1, n2 = self.cells
        return 3 if self.dimension == 2 else n0 + 4, n1 + 4, n2 + 4

    @property
    def P(self) -> int:
        return int(np.prod(self.padded))

    @property
    def strides(self) -> np.ndarray:
        return np.array([self.padded[1] * self.padded[2], self.padded[2], 1], np.int64)

    @property
    def axes(self) -> range:
        """The user's axes; also the user's components, in order."""
        return range(3 - self.dimension, 3)

    @property
    def edges(self) -> tuple[int, ...]:
        """Directions of the edges that carry stress: one in 2D (the nodes), three in 3D."""
        return (0,) if self.dimension == 2 else (0, 1, 2)

    def window(self, shift: tuple[int, ...] = (0, 0, 0)) -> tuple[slice, ...]:
        """The part of a padded array that holds samples with this shift; 1 along an axis means between cells."""
        return tuple(slice(1, 1 + n + s) for n, s in zip(self.cells, shift))

    def face_window(self, a: int) -> tuple[slice, ...]:
        return self.window(face_shift(a))

    def edge_window(self, e: int) -> tuple[slice, ...]:
        return self.window(self.edge_shift(e))

    def edge_shift(self, e: int) -> tuple[int, int, int]:
        s = [1, 1, 1]
        s[e] = 0
        return s[0], s[1], s[2]

    def user(self, window: np.ndarray) -> np.ndarray:
        """A window of a padded array in the user's shape."""
        return window[0] if self.dimension == 2 else window

    def coarser(self) -> FaceGrid:
        """Half as many cells along the user's axes, rounded up."""
        n = [-(-m // 2) if a in self.axes else m for a, m in enumerate(self.cells)]
        return FaceGrid((n[0], n[1], n[2]), self.dimension)


def face_shift(a: int) -> tuple[int, int, int]:
    """Faces of component a sit between cells along axis a."""
    s = [0, 0, 0]
    s[a] = 1
    return s[0], s[1], s[2]


def cell_array(a: int) -> int:
    """Index of the array with the cells' coefficients for component a, in a `k` of six arrays."""
    return 3 + a if a else 0


#: plain stretches shorter than this do not get their own loop
SHORTEST_PLAIN = 12


class FaceSystem(Operator):
    """Coefficients and unknowns of one grid; vectors are padded (see `FaceGrid`), zero outside the unknowns.

    Vectors may be float32 (`astype`), but coefficients are always float64, which saves compilation.

    Parameters
    ----------
    grid : FaceGrid
        The grid.
    m : array
        3P face masses, flat.
    k : array
        4P stress coefficients of cells and of edges along each axis, flat. A `k` of 6P has the coefficients of cells
        for component 0 first and those for components 1 and 2 last.
    active : array of bool
        (3, *padded): the unknowns.
    scale : float or None
        The coefficient of a full edge if the viscosity is constant, None if it varies; then no run is plain.
    fluid : array of bool, optional
        (3, *padded): faces that are not solid. Coarser systems are made from it.
    cell_stress : float or array, optional
        The coefficient of a full edge in every cell, or one for all; `scale` if that is not None.
    """

    def __init__(
        self,
        grid: FaceGrid,
        m: np.ndarray,
        k: np.ndarray,
        active: np.ndarray,
        scale: float | None,
        fluid: np.ndarray | None = None,
        cell_stress: np.ndarray | float | None = None,
    ):
        self.grid, self.m, self.k, self.scale = grid, m, k, scale
        self.fluid = fluid
        self.cell_stress = scale if scale is not None else cell_stress
        self.P, self.strides = grid.P, grid.strides
        self._dtype = np.dtype(np.float64)
        self.plain = np.zeros((3, 4))
        if scale is not None:
            for a in grid.axes:
                others = [scale if (a + step) % 3 in grid.axes else 0.0 for step in (1, 2)]
                self.plain[a] = (1.0, 2 * scale, *others)
        self.runs = self.runs_of(active)
        self.n = int((self.runs[:, 2] - self.runs[:, 1]).sum())
        self._partial = np.empty(len(self.runs))

    @property
    def coefficients(self) -> tuple:
        """The last arguments of every kernel that multiplies by A."""
        return self.m, self.k, self.runs, self.plain, self.strides, self.P

    @property
    def strongest(self) -> float:
        """The largest stress coefficient; a mass is at most 1."""
        return float(self.scale if self.scale is not None else self.k.max(initial=0.0))

    @property
    def dtype(self):
        return self._dtype

    def astype(self, dtype) -> FaceSystem:
        """The same operator on vectors of another precision."""
        other = copy(self)
        other._dtype = np.dtype(dtype)
        return other

    def plain_rows(self, active: np.ndarray) -> np.ndarray:
        """Unknowns whose row has the constant coefficients."""
        constant = np.zeros(active.shape, np.bool_)
        if self.scale is not None:
            _mark_plain(constant, self.m, self.k, self.plain, active, np.array(self.grid.padded, np.int64))
        return constant

    def runs_of(self, active: np.ndarray) -> np.ndarray:
        """The run table of some of the faces."""
        shape = np.array(self.grid.padded, np.int64)
        constant = self.plain_rows(active)
        count = _cut_runs(np.empty((0, 5), np.int64), active, constant, shape, SHORTEST_PLAIN)
        runs = np.zeros((count, 5), np.int64)
        _cut_runs(runs, active, constant, shape, SHORTEST_PLAIN)
        order = np.lexsort((runs[:, 1], runs[:, 0]))
        length = (runs[:, 2] - runs[:, 1])[order]
        runs[order, 4] = np.cumsum(length) - length
        return runs

    # -- products ------------------------------------------------------------------------------------------

    def apply(self, x, out):
        _faces_apply(out, x, *self.coefficients)
        return out

    def residual(self, b, x, out):
        _faces_residual(out, b, x, *self.coefficients)
        return out

    def energy(self, x, out):
        _faces_apply_dot(out, self._partial, x, *self.coefficients)
        return float(self._partial.sum())

    @property
    def diagonal(self) -> np.ndarray:
        """diag(A) in the padded layout, 0 outside the unknowns."""
        out = np.zeros(3 * self.P)
        _faces_diagonal(out, self.m, self.k, self.runs, self.strides, self.P)
        return out

    def scaled(self, damping: float, r: np.ndarray, out: np.ndarray) -> np.ndarray:
        """out = damping D⁻¹ r"""
        _faces_scaled(out, r, *self.coefficients, damping)
        return out

    # -- vectors -------------------------------------------------------------------------------------------

    def zeros(self, dtype=np.float64):
        return np.zeros(3 * self.P, dtype)

    def enter(self, x, out=None):
        return self.scatter(np.ascontiguousarray(x), out)

    def right_hand_side(self, b):
        """The compact vector itself: `residual`, `peak` and `leave` take it, and a padded copy would cost memory."""
        return b

    def leave(self, vector, out):
        return super().leave(vector, out) if vector.size == self.n else self.gather(vector, out)

    def dot(self, x, y):
        _faces_dot(self._partial, x, y, self.runs, self.P)
        return float(self._partial.sum())

    def peak(self, x):
        if x.size == self.n:
            return peak_and_sum(x)[0]
        _faces_peak(self._partial, x, self.runs, self.P)
        return float(self._partial.max(initial=0.0))

    def combine(self, y, x, beta):
        if beta == 0.0:
            self.copy(x, y)
        else:
            _cg_direction(y, x, beta, self.runs, self.P)

    def copy(self, x: np.ndarray, out: np.ndarray, factor: float = 1.0) -> None:
        """out = factor x, in the precision of out; what lies between the unknowns is not written, so its memory is
        never allocated."""
        _copy_runs(out, x, factor, self.runs, self.P)

    def step(self, x, r, p, q, alpha):
        return self.step_and_copy(x, r, p, q, alpha, r, 1.0)

    def step_and_copy(self, x, r, p, q, alpha: float, copy: np.ndarray, scale: float) -> float:
        """`step`, and copy = scale r in the same pass, in the precision of the copy."""
        _cg_update(x, r, copy, self._partial, p, q, alpha, scale, self.runs, self.P)
        return float(self._partial.max(initial=0.0))

    def gather(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The compact vector of a padded one."""
        out = np.empty(self.n, x.dtype) if out is None else out
        _gather(out, x, self.runs, self.P)
        return out

    def scatter(self, compact: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The padded vector of a compact one; entries outside the unknowns are not changed."""
        out = self.zeros(compact.dtype) if out is None else out
        _scatter(out, compact, self.runs, self.P)
        return out

    def positions(self) -> np.ndarray:
        """Index into a padded vector of every unknown, in compact order."""
        return _places(self.runs, self.runs[:, 0] * self.P + self.runs[:, 1])

    def within(self, low: np.ndarray, high: np.ndarray) -> RunsInBox:
        """The rows whose run intersects the box low <= padded cell < high."""
        first, length = self.runs[:, 1], self.runs[:, 2] - self.runs[:, 1]
        i, j, k = np.unravel_index(first, self.grid.padded)
        hit = (i >= low[0]) & (i < high[0]) & (j >= low[1]) & (j < high[1]) & (k < high[2]) & (k + length > low[2])
        return RunsInBox(self, self.runs[hit])

    def active(self) -> np.ndarray:
        """(3, *padded) booleans: the unknowns."""
        return self.scatter(np.ones(self.n, np.bool_)).reshape(3, *self.grid.padded)

    def matrix(self) -> sp.csr_array:
        """M + Gᵀ K G, assembled."""
        where = self.positions()
        number = np.full(3 * self.P, -1, np.int64)
        number[where] = np.arange(self.n)
        rows, columns, signs, weights = [], [], [], []
        count = 0
        for offsets, k in self._samples():
            live = np.flatnonzero(k)
            for shift, sign in offsets:
                column = number[live + shift]
                hit = np.flatnonzero(column >= 0)
                rows.append(count + hit)
                columns.append(column[hit])
                signs.append(np.full(hit.size, sign))
            weights.append(k[live].astype(np.float64))
            count += live.size
        entries = (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns)))
        G = sp.csr_array(sp.coo_array(entries, shape=(count, self.n)))
        A = G.T @ sp.diags_array(np.concatenate(weights)) @ G + sp.diags_array(self.m[where].astype(np.float64))
        A = sp.csr_array(A)
        A.sort_indices()
        return A

    def magnitude(self, x, out):
        """out = M|x| + |G|ᵀK|G||x|: two samples seldom share a pair of faces, and then this is |A||x|."""
        size = np.abs(x)
        np.multiply(self.m, size, out=out)
        for offsets, k in self._samples():
            live = np.flatnonzero(k)
            total = k[live] * sum(size[live + shift] for shift, _ in offsets)
            for shift, _ in offsets:
                out[live + shift] += total  # one offset never meets a face twice
        return out

    def _samples(self):
        """Every kind of stress sample: the faces in its difference (offset into a padded vector, sign), and K."""
        s, P = self.strides, self.P
        for a in self.grid.axes:
            own = cell_array(a) if self.k.size > 4 * P else 0
            yield ((a * P + s[a], 1.0), (a * P, -1.0)), self.k[own * P : (own + 1) * P]
        for e in self.grid.edges:
            a, b = (e + 1) % 3, (e + 2) % 3
            yield (
                ((a * P, 1.0), (a * P - s[b], -1.0), (b * P, 1.0), (b * P - s[a], -1.0)),
                self.k[(1 + e) * P : (2 + e) * P],
            )


class ViscosityOperator(Operator):
    """`system` on compact vectors: unknown faces of u, then v, then w, each in C order."""

    def __init__(self, system: FaceSystem):
        self.system = system
        self.n = system.n
        self._matrix: sp.csr_array | None = None

    @property
    def native(self) -> FaceSystem:
        return self.system

    @cached_property
    def diagonal(self) -> np.ndarray:
        return self.system.gather(self.system.diagonal)

    @cached_property
    def faces(self) -> np.ndarray:
        """(n, 1 + d): component and grid coordinates of every unknown."""
        grid = self.system.grid
        a, *ijk = np.unravel_index(self.system.positions(), (3, *grid.padded))
        first = 3 - grid.dimension
        return np.stack([a - first, *(x - 1 for x in ijk[first:])], axis=1)

    def apply(self, x, out):
        padded = self.system.enter(np.asarray(x, dtype=np.float64))
        return self.system.gather(self.system.apply(padded, self.system.zeros()), out)

    def magnitude(self, x, out):
        padded = self.system.enter(np.asarray(x, dtype=np.float64))
        return self.system.gather(self.system.magnitude(padded, self.system.zeros()), out)

    def matrix(self) -> sp.csr_array:
        if self._matrix is None:
            self._matrix = self.system.matrix()
        return self._matrix


class RunsInBox:
    """Some of the rows of a face system; vectors are the padded vectors of the whole system."""

    def __init__(self, system: FaceSystem, runs: np.ndarray):
        self.system, self.runs = system, runs.copy()
        length = runs[:, 2] - runs[:, 1]
        order = np.argsort(runs[:, 4], kind="stable")
        self.runs[order, 4] = np.cumsum(length[order]) - length[order]
        self.n = int(length.sum())
        #: place of every row in a compact vector of the whole system
        self.numbers = _places(self.runs, runs[:, 4])

    def apply(self, x: np.ndarray, out: np.ndarray) -> np.ndarray:
        S = self.system
        _faces_apply(out, x, S.m, S.k, self.runs, S.plain, S.strides, S.P)
        return out

    def gather(self, x: np.ndarray) -> np.ndarray:
        out = np.empty(self.n, x.dtype)
        _gather(out, x, self.runs, self.system.P)
        return out


def _places(runs: np.ndarray, first: np.ndarray) -> np.ndarray:
    """For every row, in compact order, its place if each run begins at `first`."""
    order = np.argsort(runs[:, 4], kind="stable")
    length = (runs[:, 2] - runs[:, 1])[order]
    return np.repeat((first - runs[:, 4])[order], length) + np.arange(int(length.sum()))
