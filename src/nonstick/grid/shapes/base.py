"""`Shape`: a signed distance, negative inside, with the geometric data that solids and liquids need.

A shape has four methods:

- `distance(x, y[, z])`: the signed distance to its surface;
- `bounds(d)`: the box around it;
- `moments(d)`: volume, centre and inertia;
- `probes(d)`: points of its surface that touch other shapes.

Only `distance` must be written. A shape without `bounds` counts as infinite; `moments` and `probes` are computed from
the distance. A subclass with a `kind` can be used in scene files: `shape = {type = KIND, ...}`. The keys of that table
are the arguments of the class, or of its class method `from_scene` if it has one.

From the distance alone, volume, centre and second moments are sums over the cells of a fine lattice, each filled by
clip(½ - φ/h, 0, 1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from annotated_types import Gt

from ...errors import NonstickError

#: coordinates of a point or a direction; one for every axis of the scene
Vector = tuple[float, ...]
#: a direction in space; it has no meaning in 2D and is ignored there
Direction = tuple[float, float, float]
#: a number above zero
Positive = Annotated[float, Gt(0)]
#: two corners of a box, (d,) each
Corners = tuple[np.ndarray, np.ndarray]

_KINDS: dict[str, type[Shape]] = {}


def shape_kinds() -> dict[str, type[Shape]]:
    """The shapes that scene files can name.

    Returns
    -------
    dict
        Kind to class, in the order of definition.

    Examples
    --------
    >>> from nonstick.grid import shape_kinds
    >>> shape_kinds()["ball"].__name__
    'Ball'
    """
    return dict(_KINDS)


class Shape(ABC):
    """A solid or a liquid as a signed distance: negative inside, in 2D and 3D alike.

    Shapes combine by operators: `a | b` union, `a & b` intersection, `a - b` difference, `~a` complement. Primitives
    are exact distances. Combinations have the exact surface; away from the surface their distance is never too large.

    Examples
    --------
    Your own shape is a subclass, most simply a frozen dataclass:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from nonstick.grid import Positive, Shape, Vector
    >>> @dataclass(frozen=True)
    ... class Diamond(Shape):
    ...     kind = "diamond"  # {type = "diamond", centre = [...], size = ...} in scene files
    ...     centre: Vector
    ...     size: Positive
    ...
    ...     def distance(self, *x):
    ...         return (sum(abs(a - c) for a, c in zip(x, self.centre)) - self.size) / len(x) ** 0.5
    ...
    ...     def bounds(self, dimension):
    ...         return np.array(self.centre) - self.size, np.array(self.centre) + self.size
    >>> diamond = Diamond((0.0, 0.0), 1.0)
    >>> round(diamond.moments(2).volume, 3)
    2.0
    """

    #: the `type` of its table in scene files; empty: scene files cannot name it
    kind: ClassVar[str] = ""
    #: True if a rotation about its centre does not change it
    is_round: ClassVar[bool] = False
    #: names of the two points halfway between which its `middle` lies; empty: the middle is that of the bounds
    _ends: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        kind = cls.__dict__.get("kind")
        if not kind:
            return
        known = _KINDS.get(kind)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise NonstickError(
                f"the shapes {known.__qualname__} and {cls.__qualname__} both have the kind {kind!r}: rename one"
            )
        _KINDS[kind] = cls

    # -- questions ------------------------------------------------------------------------------------

    @abstractmethod
    def distance(self, *x: np.ndarray) -> np.ndarray:
        """Signed distance at points, from coordinate arrays that broadcast against each other."""

    def __call__(self, *x: np.ndarray) -> np.ndarray:
        """`distance`, after a check of the number of coordinates."""
        if self.dimension is not None and len(x) != self.dimension:
            raise NonstickError(f"a shape with {self.dimension} coordinates cannot be evaluated in {len(x)} dimensions")
        return self.distance(*x)

    def bounds(self, dimension: int) -> Corners:
        """Lower and upper corner of a box that holds the shape; infinite along axes on which the shape is unbounded."""
        return np.full(dimension, -np.inf), np.full(dimension, np.inf)

    def exact_moments(self, dimension: int) -> Moments | None:
        """The moments by a formula, or None; `moments` then integrates."""
        return None

    def moments(self, dimension: int) -> Moments:
        """Volume, centre and second moments of a bounded shape."""
        found = self.exact_moments(dimension) or integrate(self, dimension)
        if not found.volume > 0.0:
            raise NonstickError("the shape is empty, so it has no mass; check its keys")
        return found

    def probes(self, dimension: int) -> Probes:
        """Points that touch other shapes; an unbounded shape has none."""
        return sample_surface(self, dimension)

    def triangles(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Vertices and faces of a shape made of triangles; None for all other shapes."""
        return None

    def facets(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Triangles that are exactly the surface of a shape in 3D, for pictures; None for a round surface."""
        return self.triangles()

    @property
    def middle(self) -> Vector | None:
        """The centre of rotation in a scene whose table has no `about`."""
        if self._ends:
            return tuple(0.5 * (a + b) for a, b in zip(*(getattr(self, end) for end in self._ends)))
        low, high = self.bounds(self.dimension or 3)
        return tuple((0.5 * (low + high)).tolist()) if np.isfinite([low, high]).all() else None

    @cached_property
    def dimension(self) -> int | None:
        """The number of coordinates of the shape, 2 or 3; None if it can have both."""
        found = {len(value) for name in _vectors(type(self)) if (value := getattr(self, name)) is not None}
        found |= {part.dimension for part in self._parts() if part.dimension is not None}
        if len(found) > 1:
            raise NonstickError(
                "the parts of a shape have different numbers of coordinates: use 2D parts or 3D parts only"
            )
        return found.pop() if found else None

    def _parts(self) -> Iterator[Shape]:
        for value in vars(self).values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Shape):
                    yield part

    def sample(self, coordinates: tuple[np.ndarray, ...], dtype=np.float64) -> np.ndarray:
        """The distance on a whole mesh (`grid.nodes()`, `grid.cells()`), a slab at a time to save memory."""
        first, *rest = coordinates
        out = np.empty(np.broadcast_shapes(*(c.shape for c in coordinates)), dtype)
        plane = max(1, out[0].size)
        step = max(1, 2_000_000 // plane)
        for i in range(0, out.shape[0], step):
            out[i : i + step] = self(first[i : i + step], *rest)
        return out

    def gradient(self, x: np.ndarray, step: float) -> np.ndarray:
        """Unit gradient of the distance at points (d, n), by central differences."""
        d, n = x.shape
        around = np.repeat(x[:, None, :], 2 * d, axis=1)
        for a in range(d):
            around[a, 2 * a] += step
            around[a, 2 * a + 1] -= step
        phi = np.asarray(self(*around.reshape(d, -1))).reshape(2 * d, n)
        g = phi[0::2] - phi[1::2]
        size = np.sqrt((g * g).sum(axis=0))
        return g / np.maximum(size, 1e-300)

    # -- other shapes from this one -------------------------------------------------------------------

    def rotate(self, angle: float, axis: Sequence[float] = (0.0, 0.0, 1.0), centre: Vector | None = None) -> Shape:
        """Turned by `angle` (radians) about `centre`; in 3D about the direction `axis`."""
        from .combined import Rotated

        return Rotated(self, angle, axis, centre)

    def move(self, offset: Vector) -> Shape:
        """Shifted by `offset`."""
        from .combined import Moved

        return Moved(self, tuple(offset))

    def __or__(self, other: Shape) -> Shape:
        from .combined import Union

        return Union((self, other))

    def __and__(self, other: Shape) -> Shape:
        from .combined import Intersection

        return Intersection((self, other))

    def __sub__(self, other: Shape) -> Shape:
        return self & ~other

    def __invert__(self) -> Shape:
        from .combined import Complement

        return Complement(self)


@cache
def _vectors(cls: type[Shape]) -> tuple[str, ...]:
    """Names of the arguments of a shape that are vectors."""
    hints = get_type_hints(cls)

    def is_vector(hint) -> bool:
        if get_origin(hint) in (Union, UnionType):
            return any(map(is_vector, get_args(hint)))
        return hint == Vector

    return tuple(name for name, hint in hints.items() if is_vector(hint))


@dataclass(frozen=True)
class Moments:
    """Volume (2D: area), centroid, and ∫ (x-c)(x-c)ᵀ dx."""

    volume: float
    centre: np.ndarray
    second: np.ndarray

    def inertia(self, density: float) -> np.ndarray:
        """The inertia tensor about the centroid: (3, 3), in 2D (1, 1)."""
        trace = np.trace(self.second)
        if len(self.centre) == 2:
            return np.array([[density * trace]])
        return density * (trace * np.eye(3) - self.second)


@dataclass(frozen=True)
class Probes:
    """Points of a shape's surface that touch other shapes, as columns.

    A probe is a point with a radius and a normal. Round shapes have probes in their core, with their radius and no
    normal: a ball is one probe, and its contact with any signed distance is exact. Other shapes have probes on their
    surface with the outward normal. Corners and edges carry one probe for each face that meets there, so that every
    probe has one clear normal.
    """

    #: positions and normals (d, n) in the shape's coordinates; the normal of a round probe is 0
    x: np.ndarray
    normal: np.ndarray
    #: (n,); 0 for probes with a normal
    radius: np.ndarray

    @classmethod
    def round(cls, x: np.ndarray, radius: float) -> Probes:
        return cls(x, np.zeros(x.shape), np.full(x.shape[1], float(radius)))

    @classmethod
    def flat(cls, x: np.ndarray, normal: np.ndarray) -> Probes:
        return cls(x, normal, np.zeros(x.shape[1]))

    @classmethod
    def none(cls, dimension: int) -> Probes:
        return cls.round(np.empty((dimension, 0)), 0.0)

    @classmethod
    def join(cls, parts: list[Probes], dimension: int) -> Probes:
        parts = parts or [cls.none(dimension)]
        return cls(
            np.concatenate([p.x for p in parts], axis=1),
            np.concatenate([p.normal for p in parts], axis=1),
            np.concatenate([p.radius for p in parts]),
        )

    @property
    def n(self) -> int:
        return self.x.shape[1]

    def keep(self, which: np.ndarray) -> Probes:
        """The probes of a mask or a list of indices."""
        return Probes(self.x[:, which], self.normal[:, which], self.radius[which])

    def thinned(self, most: int = 1500) -> Probes:
        """At most this many probes, taken evenly from all."""
        return self if self.n <= most else self.keep(np.linspace(0, self.n - 1, most).astype(int))

    def placed(self, R: np.ndarray, origin: np.ndarray, centre: np.ndarray) -> Probes:
        """The probes turned by R about `origin` and moved to `centre`."""
        return Probes(R @ (self.x - origin[:, None]) + centre[:, None], R @ self.normal, self.radius)


#: lattice cells of the quadrature
POINTS = {2: 400_000, 3: 1_000_000}


def integrate(shape: Shape, d: int) -> Moments:
    """The moments of a bounded shape, from its distance alone."""
    low, high = shape.bounds(d)
    if not np.isfinite([low, high]).all():
        raise NonstickError(
            "a body needs a bounded shape: a half-space or the outside of a shape has no finite mass; "
            'intersect it with a box (type = "intersection")'
        )
    side = high - low
    if (side <= 0).any():
        raise NonstickError("the shape is empty, so it has no mass; check its keys")
    h = float((np.prod(side) / POINTS[d]) ** (1 / d))
    h = max(h, float(side.max()) / 2000)
    axes = [np.arange(max(1, int(np.ceil(s / h)))) for s in side]
    steps = [s / len(n) for s, n in zip(side, axes)]
    points = [lo + (n + 0.5) * step for lo, n, step in zip(low, axes, steps)]
    mesh = np.meshgrid(*points, indexing="ij", sparse=True)
    share = np.clip(0.5 - shape.sample(tuple(mesh)) / h, 0.0, 1.0)
    if not share.max() > 0.5:  # a surface without an inside fills the cells it runs through by up to a half
        raise NonstickError(f"the shape is empty, or thinner than {h:.1g}, so it has no mass; check its keys")
    cell = float(np.prod(steps))
    volume = float(share.sum()) * cell
    sums = [share.sum(axis=tuple(b for b in range(d) if b != a)) for a in range(d)]
    centre = np.array([float(s @ x) for s, x in zip(sums, points)]) * cell / volume
    second = np.zeros((d, d))
    for a in range(d):
        r = points[a] - centre[a]
        # the second moment of the cell itself is added, so that the result for a box is exact
        second[a, a] = float(sums[a] @ (r * r + steps[a] ** 2 / 12)) * cell
        for b in range(a):
            plane = share if d == 2 else share.sum(axis=3 - a - b)
            second[a, b] = second[b, a] = float((points[b] - centre[b]) @ plane @ r) * cell
    return Moments(volume, centre, second)


#: lattice cells along the longest side
LATTICE = {2: 48, 3: 24}


def sample_surface(shape: Shape, d: int, pieces: Sequence[Shape] = ()) -> Probes:
    """Lattice points near the surface, moved onto it, and onto the edges where two of its `pieces` meet."""
    low, high = shape.bounds(d)
    with np.errstate(over="ignore", invalid="ignore"):
        side = high - low
    h = float(side.max()) / LATTICE[d]
    if not np.isfinite([low, high, side]).all() or h <= 0.0:  # without bounds, or too small to have places
        return Probes.none(d)
    axes = [lo - h + h * np.arange(int(np.ceil(s / h)) + 3) for lo, s in zip(low, side)]
    x = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")])
    x = x[:, np.abs(np.asarray(shape(*x))) < h]
    step = 1e-4 * h
    smooth = _onto([shape], x, step)
    smooth = smooth[:, np.abs(np.asarray(shape(*smooth))) < 1e-3 * h]
    parts = [Probes.flat(smooth, shape.gradient(smooth, step))]
    for i in range(len(pieces)):
        for j in range(i):
            edge = _onto([pieces[i], pieces[j]], x, step)
            on = np.maximum(*(np.abs(np.asarray(p(*edge))) for p in (pieces[i], pieces[j]))) < 1e-3 * h
            on &= np.abs(np.asarray(shape(*edge))) < 1e-3 * h
            edge = edge[:, on]
            # both faces of an edge, as for boxes
            parts += [Probes.flat(edge, p.gradient(edge, step)) for p in (pieces[i], pieces[j])]
    joined = Probes.join(parts, d)
    # one probe per lattice cell and direction
    key = np.concatenate([np.round(joined.x / (0.5 * h)), np.round(2 * joined.normal)]).astype(np.int64)
    _, first = np.unique(key, axis=1, return_index=True)
    first.sort()
    return joined.keep(first)


def _onto(pieces: list[Shape], x: np.ndarray, step: float) -> np.ndarray:
    """Points moved onto the common surface of all pieces, onto one piece after the other."""
    for _ in range(12):
        for piece in pieces:
            if x.shape[1]:
                x = x - np.asarray(piece(*x)) * piece.gradient(x, step)
    return x
