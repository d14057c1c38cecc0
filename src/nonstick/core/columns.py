"""The arrays of frames and checkpoints: where each sits, its type and its shape.

Frames, checkpoints, the pieces of ranks and all checks of files are made from these tables. Lengths of frames are in
metres from the lower corner of the domain, y points up. Arrays over cells are `[i, j(, k)]` = x, y(, z): the centre of
cell (i, j, k) is at `dx · (i + ½, j + ½, k + ½)`. Arrays over nodes are one longer along every axis: node (i, j, k) is
at `dx · (i, j, k)`.

Kernels trust their arguments: a wrong shape or a position outside the grid would make them write anywhere in memory.
Files of a run may be damaged or changed by others, so everything that comes from them passes `check_array`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..errors import NonstickError

#: how many numbers a place or a velocity, an orientation and a spin have in 2D and in 3D
AXES, TURN, SPIN = {2: 2, 3: 3}, {2: 1, 3: 4}, {2: 1, 3: 3}


class Column(NamedTuple):
    """One array of a frame or a checkpoint."""

    #: a scalar, particles, cells, nodes, bodies, or its shape in words
    where: str
    unit: str
    meaning: str
    dtype: type = np.float32
    #: numbers of each particle or body, if it has more than one; the same, or by the dimension
    width: int | Mapping[int, int] = 0
    #: bounds of the values
    low: float = -np.inf
    high: float = np.inf

    @property
    def values(self) -> tuple[type, float, float]:
        """What the values may be: their type and bounds."""
        return self.dtype, self.low, self.high

    def numbers(self, dimension: int = 3) -> int:
        """The width in a dimension."""
        return self.width if isinstance(self.width, int) else self.width[dimension]

    def shape(self, cells: tuple[int, ...], particles: int, bodies: int) -> tuple[int | None, ...]:
        """The shape in a frame on a grid of some cells, with some particles and bodies; None: any length."""
        one = self.numbers(len(cells))
        more = (one,) if one else ()
        places: dict[str, tuple[int | None, ...]] = {
            "scalar": (),
            "cells": cells,
            "nodes": tuple(n + 1 for n in cells),
            "particles": (particles, *more),
            "bodies": (bodies, *more),
        }
        return places.get(self.where, (None, *more))


#: arrays of frames/NNNNNN.npz: where they sit (a scalar, particles, cells, nodes or bodies), unit, meaning
FRAME = {
    "time": Column("scalar", "s", "time of the frame", float),
    "dx": Column("scalar", "m", "width of a cell", float),
    "volume": Column("scalar", "m³", "volume of the liquid by the ledger (2D: m²)", float),
    "position": Column("particles", "m", "where each particle is", width=AXES),
    "velocity": Column("particles", "m/s", "how fast it moves", width=AXES),
    "viscosity": Column("particles", "Pa s", "its viscosity, where that varies"),
    "id": Column("particles", "1", "a number that stays with a particle from frame to frame", np.uint32),
    "born": Column("scalar", "1", "how many particles were made so far; the next one gets this id", np.int64),
    "sources": Column(
        "m × 2", "1", "(first id, number) where particles begin to come from another liquid or inflow", np.int64, 2
    ),
    "deep": Column("m", "1", "with `particles.band`: the numbers of cells of liquid without particles", np.int64),
    "phi": Column("cells", "m", "distance to the liquid's surface, negative in the liquid, reliable near the surface"),
    "pressure": Column("cells", "Pa", "pressure of the last substep (3D: with `output.pressure`)"),
    "phi_solid": Column("nodes", "m", "distance to the walls, negative in them, if a wall moves; bodies left out"),
    "body_centre": Column("bodies", "m", "centre of mass", float, AXES),
    "body_orientation": Column(
        "bodies", "1", "rotation since time 0: quaternion w x y z (2D: one angle in radians)", float, TURN
    ),
    "body_velocity": Column("bodies", "m/s", "velocity of the centre of mass", float, AXES),
    "body_spin": Column("bodies", "rad/s", "angular velocity (2D: one number)", float, SPIN),
}

#: columns of particles in a checkpoint, `[number, particle]`, on three axes
PARTICLES = {
    "x": Column("particles", "cells", "where each particle is", float, 3),
    "vel": Column("particles", "m/s", "how fast it moves", width=3),
    "aff": Column("particles", "m/s per cell", "rows of the APIC matrix; none without APIC", width=9),
    "id": FRAME["id"],
    "mu": Column("particles", "Pa s", "viscosity; no entries unless it varies", low=0.0),
}
#: fields over cells in a checkpoint
FIELDS = {
    "pressure": Column("cells", "Pa", "pressure, from which the next step starts", float),
    "active": Column("cells", "1", "contact set, from which the next step starts", np.int8),
    "surface": Column("cells", "cells", "distance to the surface of particles, which the next step moves", float),
}
#: numbers of a checkpoint
NUMBERS = {
    "steps": Column("scalar", "1", "steps so far", np.int64, low=0.0),
    "time": Column("scalar", "s", "time", float, low=0.0),
    "lag": Column("scalar", "s", "how far velocities are behind the time", float, low=0.0),
}


def kind_of(name: str) -> str | None:
    """How an array of a frame or a checkpoint is cut into pieces; None if it is the same on all ranks.

    Over `cells` or `nodes`; with particles along the first axis (`rows`) or along the last one (`columns`).

    >>> [kind_of(name) for name in ("phi", "position", "vel", "mu", "time")]
    ['cells', 'rows', 'columns', 'rows', None]
    """
    column = (FRAME | PARTICLES | FIELDS).get(name)
    if column is None or column.where in ("scalar", "bodies", "m", "m × 2"):
        return None
    if column.where == "particles":
        return "columns" if name in PARTICLES and column.width else "rows"
    return column.where


#: sizes beyond which numbers of a state overflow when they are squared
LARGEST = {4: 1e15, 8: 1e60}


def check_array(
    name: str,
    found: Mapping[str, np.ndarray],
    shape: tuple[int | None, ...],
    dtype: np.dtype | type | str,
    low: float = -np.inf,
    high: float = np.inf,
) -> np.ndarray:
    """The array of that name, if it has this shape (None: any length) and type and its values lie between the bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from nonstick.core.columns import check_array
    >>> check_array("x", {"x": np.array([0.5, 1.5])}, (None,), float, 0.0, 2.0)
    array([0.5, 1.5])
    >>> check_array("x", {"x": np.array([0.5, np.nan])}, (None,), float, 0.0, 2.0)
    Traceback (most recent call last):
    nonstick.errors.NonstickError: x contains values that are not finite
    """
    if name not in found:
        raise NonstickError(f"{name} is missing")
    array = found[name]
    if array.dtype != np.dtype(dtype):
        raise NonstickError(f"{name} has the type {array.dtype}, and {np.dtype(dtype)} is needed")
    fits = array.ndim == len(shape) and all(want is None or n == want for n, want in zip(array.shape, shape))
    if not fits:
        raise NonstickError(f"{name} has the shape {array.shape}, and {_shown(shape)} is needed")
    if array.dtype.kind == "f" and array.size:
        least, most = float(array.min()), float(array.max())  # NaN if there is one
        if not np.isfinite([least, most]).all():
            raise NonstickError(f"{name} contains values that are not finite")
        limit = LARGEST.get(array.dtype.itemsize, np.inf)
        if max(-least, most) > limit:
            raise NonstickError(f"{name} contains numbers beyond {limit:g}")
    if array.size and (array.min() < low or array.max() > high):
        raise NonstickError(f"{name} contains values that are not between {low:g} and {high:g}")
    return array


def check_state(
    found: Mapping[str, np.ndarray], own: Mapping[str, np.ndarray], columns: Mapping[str, int] | None = None
) -> None:
    """Does a state have all arrays that `own`, the state of a simulation of the same scene, has?

    `columns` names arrays that may have any length along one axis, which must be the same for all of them.
    """
    columns = columns or {}
    lengths = set()
    for name, like in own.items():
        free = columns.get(name)
        array = check_array(name, found, tuple(None if a == free else n for a, n in enumerate(like.shape)), like.dtype)
        if free is not None:
            lengths.add(array.shape[free])
    if len(lengths) > 1:
        names = ", ".join(columns)
        raise NonstickError(f"{names} describe {' or '.join(map(str, sorted(lengths)))} things: they disagree")


def _shown(shape: tuple[int | None, ...]) -> str:
    return "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
