"""A frame of a run: its arrays, checked, and the grid they lie on; `grid.columns` says where each number sits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ...core.columns import FRAME as LAYOUT
from ...errors import NonstickError
from ...grid.mac import Grid
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
        from .cells import on_cells

        x, v = self.get("position"), self.get("velocity")
        if x is None or v is None:
            return np.zeros((self.dimension, *self.grid.shape), np.float32)
        return on_cells(x, v, self.grid.shape, self.dx)


def in_space(vectors: np.ndarray) -> np.ndarray:
    """Vectors with their components last; those of 2D get a third one, which is zero."""
    missing = 3 - vectors.shape[-1]
    return np.pad(vectors, [(0, 0)] * (vectors.ndim - 1) + [(0, missing)]) if missing else vectors
