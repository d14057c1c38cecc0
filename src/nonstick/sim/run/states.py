"""A look at arrays from checkpoints and frames before compiled code sees them.

Kernels trust their arguments: a wrong shape or a position outside the grid would make them write anywhere in memory.
Files of a run may be damaged or changed by others, so everything that comes from them passes through here.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...errors import NonstickError

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
    >>> from nonstick.sim.run.states import check_array
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
