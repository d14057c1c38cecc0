"""Contacts of bodies with each other and with walls: gap, normal and place, from probes of one body and the distance of
the other.

For a probe with normal m on one surface, the other's distance φ is read at a small depth s inside, at q = p - s m. The
gradient n there belongs to the face that is touched, even if p itself has passed an edge. For faces the gap at p is
φ(q) + s n·m. A round probe of radius r has the gap φ - r. Only some contacts between two partners are kept: those that
carried load before, then the deepest, then those farthest from the contacts already kept. A wall is an obstacle that
bodies cannot move: a side of the domain or a solid of the scene.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

import numpy as np

from ..grid.shapes import HalfSpace, Probes, Shape

Key = tuple[int, int, int, int]
#: contacts kept between two partners
KEPT = {2: 4, 3: 8}


@dataclass
class Partner:
    """A partner in contacts: a body or a wall at its present position."""

    #: index of the body, or -1
    index: int
    #: position in the list of all partners, and its name
    order: int
    name: str
    shape: Shape
    #: probes in world coordinates
    probes: Probes
    low: np.ndarray
    high: np.ndarray
    #: its typical length: half its least extent (a wall: infinite)
    size: float
    friction: float | None
    restitution: float | None
    #: True if impulses move it
    free: bool = False


@dataclass
class Contacts:
    """Columns over contacts between partners `first` and `second`; the normal points from second to first."""

    first: np.ndarray
    second: np.ndarray
    x: np.ndarray
    normal: np.ndarray
    gap: np.ndarray
    #: identifies the probe and its partner: it stays the same while a contact lasts
    key: list[Key]

    @property
    def n(self) -> int:
        return self.gap.size

    def frames(self) -> np.ndarray:
        """Normal and two tangents of each contact as rows, (n, 3, 3); in 2D the second tangent is z."""
        d, n = self.normal.shape
        out = np.zeros((n, 3, 3))
        m, t = out[:, 0].T, out[:, 1].T
        m[:d] = self.normal
        if d == 2:
            t[0], t[1] = -m[1], m[0]
        else:
            # perpendicular to the normal and to the axis that is farthest from the normal
            least = np.argmin(np.round(np.abs(m), 6), axis=0)
            axis = (np.arange(3)[:, None] == least).astype(float)
            t[:] = _cross(m, axis)
            t /= np.sqrt((t * t).sum(axis=0))
        out[:, 2] = _cross(m, t).T
        return out

    def keep(self, which: list[int]) -> Contacts:
        """Some of the contacts."""
        return Contacts(
            self.first[which],
            self.second[which],
            self.x[:, which],
            self.normal[:, which],
            self.gap[which],
            [self.key[c] for c in which],
        )


def find(partners: list[Partner], dimension: int, margin: np.ndarray, known: Container[Key] = ()) -> Contacts:
    """All contacts with a gap below the sum of the margins of both partners; `known` contacts are kept first."""
    rows = []
    for i, one in enumerate(partners):
        if one.index < 0:
            continue
        for j, other in enumerate(partners):
            if j == i or (other.index >= 0 and j < i) or not (one.free or other.free):
                continue
            reach = margin[i] + margin[j]
            if (one.low - reach > other.high).any() or (other.low - reach > one.high).any():
                continue
            if other.index < 0:
                # distances of shapes are never too large, so this wall is out of reach
                middle, half = 0.5 * (one.low + one.high), 0.5 * (one.high - one.low)
                if float(other.shape(*middle)) > float(np.sqrt(half @ half)) + reach:
                    continue
            found = [_probe(one, other, i, j, 0, reach), _probe(other, one, i, j, 1, reach)]
            rows += _reduce([f for f in found if f is not None], dimension, known)
    if not rows:
        empty = np.empty((dimension, 0))
        none = np.empty(0, np.int64)
        return Contacts(none, none, empty, empty, np.empty(0), [])
    first, second, x, normal, gap, key = zip(*rows)
    return Contacts(
        np.array(first, np.int64),
        np.array(second, np.int64),
        np.array(x).T,
        np.array(normal).T,
        np.array(gap),
        list(key),
    )


def _probe(owner: Partner, other: Partner, i: int, j: int, side: int, reach: float):
    """Contacts of the probes of `owner` with `other`; side 1 if the owner is the second partner."""
    probes = owner.probes
    if probes.n == 0:
        return None
    near = ((probes.x + probes.radius >= other.low[:, None] - reach).all(axis=0)) & (
        (probes.x - probes.radius <= other.high[:, None] + reach).all(axis=0)
    )
    if not near.any():
        return None
    which = np.flatnonzero(near)
    p, m, r = probes.x[:, which], probes.normal[:, which], probes.radius[which]
    size = min(owner.size, other.size)
    s = 0.1 * size
    q = p - s * m
    phi = np.asarray(other.shape(*q), float)
    near = phi < reach + r + s
    if not near.any():
        return None
    which, p, m, r, q, phi = which[near], p[:, near], m[:, near], r[near], q[:, near], phi[near]
    n = other.shape.gradient(q, 1e-5 * size)
    facing = (n * m).sum(axis=0)
    gap = phi - r + s * facing
    x = p - r * n
    # a face that points away from the other's surface can touch it only from behind
    keep = (gap < reach) & ((facing < -1e-3) | (r > 0.0))
    flat = r == 0.0
    if flat.any():
        # the probe lies beside the other, not on it, as the distance at the surface itself shows
        keep &= ~flat | (np.asarray(other.shape(*p), float) < reach + 0.02 * size)
    sign = 1.0 if side == 0 else -1.0
    return [(i, j, x[:, c], sign * n[:, c], float(gap[c]), (i, j, side, int(which[c]))) for c in np.flatnonzero(keep)]


def _reduce(found: list[list], dimension: int, known: Container[Key]) -> list:
    rows = [row for part in found for row in part]
    if len(rows) <= 2:
        return rows
    x = np.array([row[2] for row in rows])
    gap = np.array([row[4] for row in rows])
    # the patch is scaled to length one along each main axis, so that a long thin patch keeps all its corners
    x = x - x.mean(axis=0)
    _, axes = np.linalg.eigh(x.T @ x)
    x = x @ axes
    side = np.ptp(x, axis=0)
    spread = float(side.max())
    if not spread > 0.0:
        return rows[:1]
    place = np.concatenate([x / np.maximum(side, 0.02 * spread), [row[3] for row in rows]], axis=1)
    # values are rounded to steps before the comparison, so that rounding errors do not decide
    depth = np.round(gap / (1e-6 * spread))
    chosen = [c for c, row in enumerate(rows) if row[5] in known and gap[c] < 1e-3 * spread][: KEPT[dimension]]
    if not chosen or depth.min() < depth[chosen].min():
        chosen.append(int(np.argmin(depth)))
    distance = np.full(len(rows), np.inf)
    for c in chosen[:-1]:
        distance = np.minimum(distance, ((place - place[c]) ** 2).sum(axis=1))
    while len(chosen) < KEPT[dimension]:
        distance = np.minimum(distance, ((place - place[chosen[-1]]) ** 2).sum(axis=1))
        # a wide gap counts against a contact: it may never close
        value = np.round((distance - 2.0 * np.maximum(gap, 0.0) / spread) * 1e6)
        best = int(np.argmax(value))
        if distance[best] < 0.3:
            break
        chosen.append(best)
    return [rows[c] for c in sorted(chosen)]


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross products of columns (3, n)."""
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


@dataclass
class Wall:
    """An obstacle that bodies collide with but cannot move.

    Parameters
    ----------
    name : str
        Used in messages.
    shape : Shape
        The solid at time 0.
    place : callable, optional
        `place(t)` is the shape at time t; without it the wall never moves.
    speed : callable, optional
        `speed(t, x)` is its velocity at points (d, n).
    probes : Probes, optional
        Probes of its surface at time 0, for a bounded wall.
    pose : callable, optional
        `pose(t)` moves the probes: rotation matrix, centre of rotation, offset.

    Examples
    --------
    >>> from nonstick.bodies import Wall
    >>> from nonstick.grid import Box
    >>> step = Box((0.0, 0.0), (0.5, 0.2))
    >>> wall = Wall("step", step, probes=step.probes(2))
    """

    name: str
    shape: Shape
    place: Callable[[float], Shape] | None = None
    speed: Callable[[float, np.ndarray], np.ndarray] | None = None
    probes: Probes | None = None
    pose: Callable[[float], tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None


def box_walls(size: Sequence[float]) -> list[Wall]:
    """The sides of a box from the origin to `size`.

    Examples
    --------
    >>> from nonstick.bodies import box_walls
    >>> len(box_walls((1.0, 1.0, 1.0)))
    6
    """
    d = len(size)
    out = []
    for axis in range(d):
        for value, sign in ((0.0, 1.0), (float(size[axis]), -1.0)):
            point, normal = np.zeros(d), np.zeros(d)
            point[axis], normal[axis] = value, sign
            out.append(Wall(f"the domain's side {'xyz'[axis]} = {value:g}", HalfSpace(tuple(point), tuple(normal))))
    return out
