"""Mazes as boolean arrays over cells, for the tables of Takahashi–Batty."""

from __future__ import annotations

import itertools

import numpy as np

from ..grid.shapes.maze import doors


def maze(n: int, corridor: int, wall: int, loops: float = 0.15, door: int | None = None, seed: int = 1) -> np.ndarray:
    """Rooms of `corridor`³ cells behind walls of `wall` cells, joined by a random tree and some loops.

    A door is as wide as the room (corridors), or `door` cells somewhere in the wall. `loops` is the probability that a
    wall which the tree does not open is opened too. There are as many rooms as fit into n cells per side.
    """
    pitch, count = corridor + wall, (n + wall) // (corridor + wall)
    cells = np.zeros((count * pitch - wall,) * 3, bool)
    for room in itertools.product(range(count), repeat=3):
        cells[tuple(slice(k * pitch, k * pitch + corridor) for k in room)] = True
    width = door or corridor
    for below, axis, place in doors(count, loops, corridor - width, seed):
        corner = [int(i) * pitch for i in np.unravel_index(below, (count,) * 3)]
        opening = [slice(low + c, low + c + width) for low, c in zip(corner, place)]
        start = corner[axis] + corridor
        opening[axis] = slice(start, start + wall)
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
