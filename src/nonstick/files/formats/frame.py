"""A frame of a run: its arrays, checked, and the grid they lie on; `grid.columns` says where each number sits.

Fields over cells: a cell takes the mean velocity of its particles. Beyond them it is extrapolated, as in the
simulation, because a surface lies up to half a cell outside the particles, and programs that blur or move things look a
little further.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ...core.columns import FRAME as LAYOUT
from ...errors import NonstickError
from ...grid._extrapolate import _extrapolate
from ...grid.mac import Grid
from ...kernels import parallel, prange, serial
from ...kernels._interpolate import _sample
from ..rundir import damaged


@dataclass(frozen=True)
class Frame:
    """The arrays of one frame, checked, with the grid they lie on.

    Parameters
    ----------
    number : int
        Which frame of the run it is.
    arrays : mapping
        What `frames/NNNNNN.npz` holds; see `LAYOUT`.
    grid : Grid
        Cells of the run.
    file : Path, optional
        Where the arrays were read; an error then says how to make the file again.

    Examples
    --------
    >>> import numpy as np
    >>> frame = Frame(3, {"time": 0.05, "phi": np.ones((4, 4))}, Grid((4, 4), 0.25))
    >>> frame.time, frame.dimension, frame.count
    (0.05, 2, 0)
    """

    number: int
    arrays: Mapping[str, np.ndarray]
    grid: Grid
    file: Path | None = None

    def __post_init__(self) -> None:
        fault = self._fault()
        if fault:
            raise damaged(self.file, fault) if self.file else NonstickError(f"frame {self.number} is damaged: {fault}")

    def _fault(self) -> str:
        """What is wrong with the arrays; nothing if they are sound."""
        missing = {"body_centre", "body_orientation"} - self.arrays.keys()
        if len(missing) == 1:
            return f"{missing.pop()} is missing"
        bodies = len(np.atleast_1d(self.arrays["body_centre"])) if "body_centre" in self.arrays else 0
        for name, column in LAYOUT.items():
            if name in self.arrays and name not in ("born", "deep", "sources"):
                shape = column.shape(self.grid.shape, self.count, bodies)
                kinds = ("f4", "f8") if np.dtype(column.dtype).kind == "f" else ("i4", "i8", "u4")
                if np.asarray(self.arrays[name]).dtype.str[1:] not in kinds:
                    return f"{name} does not hold {'real' if kinds[0] == 'f4' else 'whole'} numbers"
                if np.shape(self.arrays[name]) != shape:
                    return f"{name} has shape {np.shape(self.arrays[name])} and not {shape}"
        deep, cells = self.deep, math.prod(self.grid.shape)
        if deep.dtype.kind not in "iu" or deep.ndim != 1 or np.any((deep < 0) | (deep >= cells)):
            return "deep does not hold numbers of cells"
        for name in ("position", "velocity", "phi", "volume", "time", "body_centre", "body_orientation"):
            if name in self.arrays and not np.isfinite(self.arrays[name]).all():
                return f"{name} holds numbers that are not finite"
        if "dx" in self.arrays and not float(np.asarray(self.arrays["dx"])) > 0.0:
            return "dx is not positive"
        return ""

    def get(self, name: str) -> np.ndarray | None:
        """An array, or None if the frame has none of that name."""
        return self.arrays.get(name)

    @property
    def time(self) -> float:
        return float(self.arrays["time"]) if "time" in self.arrays else 0.0

    @property
    def dimension(self) -> int:
        return self.grid.dimension

    @property
    def dx(self) -> float:
        return self.grid.dx

    @property
    def count(self) -> int:
        """Number of particles."""
        return len(self.arrays["position"]) if "position" in self.arrays else 0

    @property
    def deep(self) -> np.ndarray:
        """The numbers of the cells of liquid without particles (`particles.band`)."""
        return np.asarray(self.arrays.get("deep", np.zeros(0, np.int64)))

    @property
    def ids(self) -> np.ndarray:
        """Numbers of the particles: their own where the frame has them, else their place in the file."""
        own = self.get("id")
        return np.arange(self.count, dtype=np.int64) if own is None else own

    @cached_property
    def by_id(self) -> np.ndarray:
        """The places of the particles in the order of their ids.

        >>> Frame(0, {"position": np.zeros((3, 2)), "id": np.array([7, 5, 9])}, Grid((4, 4), 0.25)).by_id.tolist()
        [1, 0, 2]
        """
        ids = self.ids
        most = int(ids.max()) + 1 if len(ids) else 0
        if most > 8 * len(ids):  # many have died
            return np.argsort(ids, kind="stable")
        place = np.full(most, -1, np.int32)
        place[ids] = np.arange(len(ids), dtype=np.int32)
        return place if most == len(ids) else place[place >= 0]

    @property
    def level(self) -> np.ndarray:
        """φ over cells."""
        if "phi" not in self.arrays:
            raise NonstickError(
                f"frame {self.number} holds no surface (output.surface = false), so this format has nothing to write"
            )
        return self.arrays["phi"]

    @cached_property
    def cell_velocity(self) -> np.ndarray:
        """Velocity at cell centres, `[axis, i, j(, k)]`: means of particles, continued a few cells into the air."""
        x, v = self.get("position"), self.get("velocity")
        if x is None or v is None:
            return np.zeros((self.dimension, *self.grid.shape), np.float32)
        return on_cells(x, v, self.grid.shape, self.dx)


def in_space(vectors: np.ndarray) -> np.ndarray:
    """Vectors with their components last; those of 2D get a third one, which is zero."""
    missing = 3 - vectors.shape[-1]
    return np.pad(vectors, [(0, 0)] * (vectors.ndim - 1) + [(0, missing)]) if missing else vectors


def widen(mask: np.ndarray, r: int, outside: bool = False) -> np.ndarray:
    """Cells within r of one in the mask along every axis, as uint8; `outside` says whether those beyond are in it."""
    out = np.array(mask, np.uint8, order="C")
    for axis in range(out.ndim):
        before, part = out.copy(), [slice(None)] * out.ndim
        for d in range(1, r + 1):
            part[axis] = slice(d, None)
            later = tuple(part)
            part[axis] = slice(None, -d)
            sooner = tuple(part)
            out[later] |= before[sooner]
            out[sooner] |= before[later]
        if outside:
            for rim in (slice(None, r), slice(-r, None)):
                part[axis] = rim
                out[tuple(part)] = 1
    return out


#: layers of air that get a velocity
LAYERS = 3


def on_cells(
    position: np.ndarray, values: np.ndarray, shape: tuple[int, ...], dx: float, layers: int = LAYERS
) -> np.ndarray:
    """Values of particles (n, up to 3) over cells, `[component, i, j(, k)]`, float32; zero far from the liquid.

    Beyond cells with particles they are extrapolated over some layers.
    """
    three, components = (1,) * (3 - len(shape)) + shape, values.shape[1]
    field, count = np.zeros((3, *three), np.float32), np.zeros(three, np.int32)
    if len(position):
        x, v = _lift(np.asarray(position, np.float32)), in_space(np.asarray(values, np.float32))
        _means(field, count, x, v, np.float32(1.0 / dx))
        for part in field[:components]:
            continued = part.astype(float)
            _extrapolate(continued, (count > 0).view(np.int8), np.empty(count.size, np.int32), layers)
            part[:] = continued
    return field[:components].reshape(components, *shape)


def at_points(cells: np.ndarray, points: np.ndarray, dx: float) -> np.ndarray:
    """Values at points (n, d) in metres of fields over cells `[component, i, j(, k)]`, linear between centres."""
    n, *shape = cells.shape
    out = np.empty((len(points), n), np.float32)
    _values(out, cells.reshape(n, *(1,) * (3 - len(shape)), *shape), _lift(points), 1.0 / dx)
    return out


def _lift(points: np.ndarray) -> np.ndarray:
    """Points with three coordinates; the first one is zero in 2D."""
    return np.pad(points, ((0, 0), (3 - points.shape[1], 0)))


def on_faces(cells: np.ndarray) -> list[np.ndarray]:
    """Staggered velocity: component a at the lower face of each cell along axis a, the mean of both sides."""
    out = []
    for a, field in enumerate(cells):
        before = np.concatenate([np.take(field, [0], a), np.take(field, range(field.shape[a] - 1), a)], axis=a)
        out.append(0.5 * (before + field))
    return out


@serial
def _means(out, count, x, v, scale):
    """Means (3, i, j, k) of the values (n, 3) of the particles (n, 3) in each cell, and their number; zero on entry.

    Particles of a cell mostly follow each other, so sums go to memory when the cell changes.
    """
    _, nx, ny, nz = out.shape
    flat, counts, last = out.reshape(3, -1), count.reshape(-1), -1
    some, s0, s1, s2 = 0, np.float32(0.0), np.float32(0.0), np.float32(0.0)
    for p in range(len(x) + 1):
        q = -1
        if p < len(x):
            i = min(max(int(x[p, 0] * scale), 0), nx - 1)
            j = min(max(int(x[p, 1] * scale), 0), ny - 1)
            q = (i * ny + j) * nz + min(max(int(x[p, 2] * scale), 0), nz - 1)
        if q != last:
            if last >= 0:
                counts[last] += some
                flat[0, last] += s0
                flat[1, last] += s1
                flat[2, last] += s2
            last, some, s0, s1, s2 = q, 0, np.float32(0.0), np.float32(0.0), np.float32(0.0)
        if q >= 0:
            some += 1
            s0 += v[p, 0]
            s1 += v[p, 1]
            s2 += v[p, 2]
    for q in range(len(counts)):
        if counts[q] > 1:
            for axis in range(3):
                flat[axis, q] /= counts[q]


@parallel
def _values(out, cells, points, scale):
    """Values (n, components) of fields over cells at points (n, 3)."""
    for p in prange(len(points)):
        a, b, c = points[p, 0] * scale - 0.5, points[p, 1] * scale - 0.5, points[p, 2] * scale - 0.5
        for axis in range(len(cells)):
            out[p, axis] = _sample(cells[axis], a, b, c)
