"""What walls do to the faces and the stress of the viscosity solve, each wall in its own way.

Solids and sides are `no-slip`, `slip` or `separating` (see `viscosity`). A face whose middle lies in a solid belongs to
the solid nearest to it, a face beyond the domain to its side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...grid.faces import FaceField, at_faces, ends, lower, upper
from .solids import Solids


@dataclass
class Walls:
    """What a viscosity problem needs to know of walls."""

    #: masks, False on solid faces
    fluid: FaceField
    #: velocity of liquid and of solids
    velocity: FaceField
    #: distance of the faces to solids, in cells
    distance: FaceField
    #: liquid fractions at edges, 0 where no shear acts, in the user's dimension
    edges: tuple[np.ndarray, ...]
    #: the distances, NaN in solids to which no liquid clings
    clinging: FaceField


def walls_of(solids: Solids, velocity: FaceField, unpressed: FaceField, edges, pressure: np.ndarray) -> Walls:
    """The walls of a step; `pressure` of the projection before says where liquid presses on them.

    On faces that have left a wall the liquid moves as it did before that projection (`unpressed`): the projection
    leaves closed faces the velocity of their solid.
    """
    grid = solids.grid
    distance = clinging = FaceField((at_faces(solids.nodes, axis) for axis in grid.axes), grid.axes)
    solid = distance <= 0.0
    for axis, mask in solid.each():
        mask[ends(axis)] = True  # the sides of the domain
    given, fluid = solid.where(solids.velocity, velocity), ~solid
    for kind in ("slip", "separating"):
        if kind not in solids.viscous:
            continue
        mine, sides = _of_kind(solids, solid, kind)
        free = np.ones(pressure.shape, bool)
        if kind == "slip":
            distance, clinging = mine.where(0.0, distance), mine.where(np.nan, distance)
        else:
            # include cells of air: liquid that has begun to leave still fills a part of them
            free = pressure <= 0.0
            left = FaceField((m & touches(free, axis) for axis, m in mine.each()), grid.axes)
            fluid, given = fluid | left, left.where(unpressed, given)
        edges = tuple(e * ~grid.drop(_at_walls(mine, sides, free, axis)) for axis, e in zip(grid.edge_axes, edges))
    return Walls(fluid, given, distance, edges, clinging)


def _of_kind(solids: Solids, solid: FaceField, kind: str) -> tuple[FaceField, list[tuple[bool, bool]]]:
    """The solid faces of walls of this kind, and for each of three axes whether its sides are of this kind."""
    sides = [False, False] * solids.grid.axes.start + [side.viscous == kind for side in solids.sides]
    sides_of_axes = list(zip(sides[::2], sides[1::2]))
    if len(set(solids.viscous)) == 1:
        return solid, sides_of_axes
    alike = np.array(solids.viscous) == kind
    return solid & solids.nearest_to_faces().map(lambda nearest: alike[nearest]), sides_of_axes


def touches(cells: np.ndarray, a: int) -> np.ndarray:
    """Faces of axis a next to a cell of the mask."""
    return _either(_widened(cells, a), a)


def _at_walls(solid: FaceField, sides: list[tuple[bool, bool]], wet: np.ndarray, n: int) -> np.ndarray:
    """Edges along axis n with a solid face, or on one of the sides, and next to a cell of `wet`; all on three axes."""
    a, b = (axis for axis in range(3) if axis != n)
    around_a = _either(_widened(solid[a], b, sides[b]), b)
    around_b = _either(_widened(solid[b], a, sides[a]), a)
    near = _either(_either(_widened(_widened(wet, a), b), a), b)
    return (around_a | around_b) & near


def _widened(mask: np.ndarray, axis: int, ends: tuple[bool, bool] = (False, False)) -> np.ndarray:
    """A mask with one more entry at both ends of an axis."""
    pad = [(int(k == axis),) * 2 for k in range(mask.ndim)]
    return np.pad(mask, pad, constant_values=[ends if k == axis else (False, False) for k in range(mask.ndim)])


def _either(mask: np.ndarray, axis: int) -> np.ndarray:
    """True where at least one of two neighbours along an axis is True."""
    return lower(mask, axis) | upper(mask, axis)
