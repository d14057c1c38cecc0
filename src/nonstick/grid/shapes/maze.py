"""A maze of cubic rooms behind walls, joined by doors: a random tree of rooms and some loops.

Space is cut into cells of one `pitch`, each a room and the wall behind it. A point is near to eight rooms at most, its
own and those on its side, and to the doors between them. So the distance costs the same for any number of rooms.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from annotated_types import Ge, Le

from ...errors import NonstickError
from .base import Corners, Positive, Shape, Vector


def doors(count: int, loops: float, spare: int, seed: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """The doors of a cube of count³ rooms: the room below, the axis, and where in the room (0 to `spare` per axis).

    The rooms form a random tree; a wall that the tree does not open is opened too with the probability `loops`.
    """
    rng = np.random.default_rng(seed)
    leader = list(range(count**3))

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = leader[leader[i]]
            i = leader[i]
        return i

    rooms = np.arange(count**3).reshape((count,) * 3)
    walls = []
    for axis in range(3):
        below = np.take(rooms, range(count - 1), axis).ravel()
        walls += [(int(a), int(b), axis) for a, b in zip(below, np.take(rooms, range(1, count), axis).ravel())]
    found = []
    for k in rng.permutation(len(walls)):
        a, b, axis = walls[k]
        if find(a) == find(b) and rng.random() >= loops:
            continue
        leader[find(a)] = find(b)
        found.append((a, axis, tuple(int(rng.integers(0, spare + 1)) for _ in range(3))))
    return found


@dataclass(frozen=True)
class Maze(Shape):
    """The walls of a maze in the cube from `low` with sides of `size`: `rooms` along each side.

    Parameters
    ----------
    wall : float
        Thickness of the walls between rooms.
    door : float, optional
        Width of the doors, somewhere in the wall; as wide as the room by default.
    loops : float
        Probability that a wall is opened though its rooms are joined already.
    seed : int
        Another seed is another maze.

    Examples
    --------
    >>> from nonstick.grid import Maze
    >>> maze = Maze((0.0, 0.0, 0.0), 1.0, 4, wall=0.04)
    >>> bool(maze(0.1, 0.1, 0.1) > 0.0)     # in a room
    True
    """

    kind = "maze"
    low: Vector
    size: Positive
    rooms: Annotated[int, Ge(1), Le(64)]
    wall: Positive
    door: float | None = None
    loops: float = 0.15
    seed: Annotated[int, Ge(0)] = 1
    dimension = 3

    def __post_init__(self) -> None:
        if len(self.low) != 3:
            raise NonstickError(f"a maze has three dimensions, but its corner `low` has {len(self.low)} coordinates")
        if not self.room > 0.0:
            raise NonstickError(
                f"walls of {self.wall:g} leave no rooms: {self.rooms} rooms have {self.size:g} to share"
            )
        if self.door is not None and not 0.0 < self.door <= self.room:
            raise NonstickError(f"a door of {self.door:g} does not fit into a room of {self.room:g}")

    @property
    def room(self) -> float:
        """The side of a room."""
        return (self.size + self.wall) / self.rooms - self.wall

    def bounds(self, dimension: int) -> Corners:
        low = np.array(self.low, float)
        return low - self.wall, low + self.size + self.wall

    @cached_property
    def _doors(self) -> tuple[np.ndarray, np.ndarray]:
        """For every axis and room: whether there is a door to the next room, and the corner of the door in the room."""
        is_open = np.zeros((3, *(self.rooms,) * 3), bool)
        corner = np.zeros((*is_open.shape, 3))
        width = self.room if self.door is None else self.door
        steps = 0 if self.door is None else 1000  # places for a narrow door along a side
        for below, axis, place in doors(self.rooms, self.loops, steps, self.seed):
            at = (axis, *(int(i) for i in np.unravel_index(below, (self.rooms,) * 3)))
            is_open[at] = True
            corner[at] = np.array(place) / max(steps, 1) * (self.room - width)
        return is_open, corner

    def distance(self, *x):
        points = np.broadcast_arrays(*x)
        p = np.stack([np.asarray(a, float).ravel() for a in points]) - np.array(self.low)[:, None]
        pitch, room = self.room + self.wall, self.room
        width = room if self.door is None else self.door
        is_open, corner = self._doors
        first = np.clip(np.floor((p - 0.5 * room) / pitch).astype(int), -1, self.rooms - 1)
        inside = np.full(p.shape[1], np.inf)
        for shift in itertools.product((0, 1), repeat=3):
            index = first + np.array(shift)[:, None]
            exists = ((index >= 0) & (index < self.rooms)).all(axis=0)
            at = tuple(np.clip(index, 0, self.rooms - 1))
            local = p - pitch * index
            inside = np.where(exists, np.minimum(inside, _box(local, 0.0, room)), inside)
            for axis in range(3):
                if shift[axis]:
                    continue  # the door belongs to the lower of its two rooms
                low = corner[(axis, *at)].T.copy()
                high = low + width
                low[axis], high[axis] = 0.5 * room, pitch + 0.5 * room  # it reaches into both rooms
                there = exists & is_open[(axis, *at)]
                inside = np.where(there, np.minimum(inside, _box(local, low, high)), inside)
        # beyond the outermost wall there is space again
        outer = _box(p, -self.wall, self.size + self.wall)
        return np.maximum(-inside, outer).reshape(points[0].shape)


def _box(x, low, high):
    """Signed distance to boxes, per point."""
    q = np.maximum(low - x, x - high)
    outside = np.sqrt((np.maximum(q, 0.0) ** 2).sum(axis=0))
    return outside + np.minimum(q.max(axis=0), 0.0)
