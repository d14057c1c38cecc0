"""Mazes as boolean arrays over cells, for the tables of Takahashi–Batty."""

from __future__ import annotations

import itertools

import numpy as np


def maze(n: int, corridor: int, wall: int, loops: float = 0.15, door: int | None = None, seed: int = 1) -> np.ndarray:
    """Rooms of `corridor`³ cells behind walls of `wall` cells, joined by a random tree and some loops.

    A door is as wide as the room (corridors), or `door` cells somewhere in the wall. `loops` is the probability that a
    wall which the tree does not open is opened too. There are as many rooms as fit into n cells per side.
    """
    rng = np.random.default_rng(seed)
    pitch, count = corridor + wall, (n + wall) // (corridor + wall)
    cells = np.zeros((count * pitch - wall,) * 3, bool)
    for room in itertools.product(range(count), repeat=3):
        cells[tuple(slice(k * pitch, k * pitch + corridor) for k in room)] = True
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
    for k in rng.permutation(len(walls)):
        a, b, axis = walls[k]
        if find(a) == find(b) and rng.random() >= loops:
            continue
        leader[find(a)] = find(b)
        width = door or corridor
        corner = [int(i) * pitch + int(rng.integers(0, corridor - width + 1)) for i in np.unravel_index(a, rooms.shape)]
        opening = [slice(c, c + width) for c in corner]
        opening[axis] = slice(int(np.unravel_index(a, rooms.shape)[axis]) * pitch + corridor, None)
        opening[axis] = slice(opening[axis].start, opening[axis].start + wall)
        cells[tuple(opening)] = True
    return cells


def open_faces(cells: np.ndarray) -> tuple[np.ndarray, ...]:
    """Face weights of a maze: 1 between two open cells, 0 elsewhere and on the edge."""
    out = []
    for axis in range(cells.ndim):
        first = np.moveaxis(cells, axis, 0)
        inner = (first[:-1] & first[1:]).astype(float)
        pad = [(1, 1)] + [(0, 0)] * (cells.ndim - 1)
        out.append(np.moveaxis(np.pad(inner, pad), 0, axis))
    return tuple(out)
