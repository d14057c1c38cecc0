"""`FaceField`: one array per face direction of the staggered grid; and neighbours along an axis.

Inside, every array has three axes. A 2D grid is one cell thick along the first axis, across which nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np


class FaceField(np.lib.mixins.NDArrayOperatorsMixin):
    """One array on three axes for each of three face directions; kernels take the three as one tuple, `field.arrays`.

    Operators and the elementwise functions of NumPy act on the faces of each axis in turn: `u - a + b`, `share > 0.0`,
    `u += v`. The operands are face fields or numbers. On a 2D grid the first of the three arrays is never read.

    Examples
    --------
    >>> u = FaceField.of((np.ones((3, 2)), np.zeros((2, 3))))
    >>> [a.shape for a in u], list(u.axes)
    ([(2, 1, 1), (1, 3, 2), (1, 2, 3)], [1, 2])
    >>> (2.0 * u - 0.5).user[0][0]
    array([1.5, 1.5])
    """

    __slots__ = ("arrays", "axes")

    def __init__(self, arrays: Iterable[np.ndarray], axes: range = range(3)):
        """`axes` are those along which anything happens; `arrays` are theirs, or three."""
        own = list(arrays)[-len(axes) :]
        self.arrays = (*[np.zeros((2, 1, 1))] * (3 - len(own)), *own)
        self.axes = axes

    @classmethod
    def of(cls, faces: Sequence[np.ndarray]) -> FaceField:
        """From the face arrays of a grid in the user's dimension, as views."""
        return cls(map(lifted, faces), range(3 - len(faces), 3))

    @property
    def user(self) -> tuple[np.ndarray, ...]:
        """The face arrays in the user's dimension, as views."""
        first = self.axes.start
        return tuple(a.reshape(a.shape[first:]) for a in self.arrays[first:])

    def __getitem__(self, axis: int) -> np.ndarray:
        return self.arrays[axis]

    def __len__(self) -> int:
        return 3

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.arrays)

    def each(self) -> Iterator[tuple[int, np.ndarray]]:
        """The axes along which anything happens, with their arrays."""
        return zip(self.axes, self.arrays[self.axes.start :])

    def map(self, function: Callable[..., np.ndarray], *others: FaceField) -> FaceField:
        """The field of what a function makes of the arrays of each axis."""
        return FaceField((function(a, *(o[axis] for o in others)) for axis, a in self.each()), self.axes)

    def copy(self) -> FaceField:
        return self.map(np.copy)

    def zeros(self, dtype: type = float) -> FaceField:
        """A field of the same shape, zero everywhere."""
        return self.map(lambda a: np.zeros(a.shape, dtype))

    def where(self, one: FaceField | float, other: FaceField | float) -> FaceField:
        """The values of `one` where this mask is true, those of `other` elsewhere."""
        both = [x if isinstance(x, FaceField) else [x] * 3 for x in (one, other)]
        return FaceField((np.where(a, *(x[axis] for x in both)) for axis, a in self.each()), self.axes)

    def largest(self) -> float:
        """The largest size of a value."""
        return max(float(np.abs(a).max(initial=0.0)) for _, a in self.each())

    def any(self) -> bool:
        """True if a value is not zero."""
        return any(bool(a.any()) for _, a in self.each())

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if method != "__call__":
            return NotImplemented
        made = []
        for axis in self.axes:
            parts = (x[axis] if isinstance(x, FaceField) else x for x in inputs)
            made.append(ufunc(*parts, **options, **({} if out is None else {"out": out[0][axis]})))
        return out[0] if out is not None else FaceField(made, self.axes)


def lifted(a: np.ndarray) -> np.ndarray:
    """An array over a 2D or 3D grid on three axes, as a view: a 2D grid is one cell thick along the first."""
    return a.reshape((1,) * (3 - a.ndim) + a.shape)


def lower(a: np.ndarray, axis: int) -> np.ndarray:
    """A view without the last entry along an axis: the lower one of two neighbours."""
    return a[(slice(None),) * axis + (slice(None, -1),)]


def upper(a: np.ndarray, axis: int) -> np.ndarray:
    """A view without the first entry along an axis: the upper one of two neighbours."""
    return a[(slice(None),) * axis + (slice(1, None),)]


def ends(axis: int) -> tuple:
    """The index of the first and the last entry along an axis."""
    return (slice(None),) * axis + ([0, -1],)


def between(a: np.ndarray, axis: int) -> np.ndarray:
    """Mean of neighbouring entries along an axis."""
    return 0.5 * (lower(a, axis) + upper(a, axis))


def at_faces(nodal: np.ndarray, axis: int) -> np.ndarray:
    """Nodal values in the middles of the faces of an axis."""
    for other in range(nodal.ndim):
        if other != axis:
            nodal = between(nodal, other)
    return nodal
