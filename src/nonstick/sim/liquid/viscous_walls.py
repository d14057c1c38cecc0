"""What walls do to the faces and the stress of the viscosity solve, each wall in its own way.

Solids and sides are `no-slip`, `slip` or `separating` (see `viscosity`). A face whose middle lies in a solid belongs to
the solid nearest to it, a face beyond the domain to its side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .layout import at_faces
from .solids import Solids


@dataclass
class Walls:
    """Arguments of a viscosity problem, in the user's dimension."""

    #: masks, False on solid faces
    fluid: list[np.ndarray]
    #: velocity of liquid and of solids
    velocity: list[np.ndarray]
    #: distance of the faces to solids, in cells
    distance: list[np.ndarray]
    #: liquid fractions at edges, 0 where no shear acts
    edges: tuple[np.ndarray, ...]
    #: the distances, NaN in solids to which no liquid clings
    clinging: list[np.ndarray]


def walls_of(solids: Solids, velocity, unpressed, edges, pressure: np.ndarray) -> Walls:
    """The walls of a step; `pressure` of the projection before says where liquid presses on them.

    On faces that have left a wall the liquid moves as it did before that projection (`unpressed`): the projection
    leaves closed faces the velocity of their solid.
    """
    layout = solids.layout
    distance = _face_distances(solids)
    solid = [_closed(d <= 0.0, a) for a, d in enumerate(distance)]
    given = [np.where(s, w, u) for s, u, w in zip(solid, velocity, layout.drop_faces(solids.velocity))]
    fluid, clinging = [~s for s in solid], distance
    for kind in ("slip", "separating"):
        if kind not in solids.viscous:
            continue
        mine, sides = _of_kind(solids, solid, kind)
        free = np.ones(pressure.shape, bool)
        if kind == "slip":
            distance, clinging = ([np.where(m, v, d) for m, d in zip(mine, distance)] for v in (0.0, np.nan))
        else:
            # include cells of air: liquid that has begun to leave still fills a part of them
            free = pressure <= 0.0
            left = [m & touches(free, a) for a, m in enumerate(mine)]
            fluid = [f | at for f, at in zip(fluid, left)]
            given = [np.where(at, u, g) for at, u, g in zip(left, unpressed, given)]
        around = layout.lift_faces(mine), sides, layout.lift(free)
        edges = tuple(e * ~layout.drop(_at_walls(*around, axis)) for axis, e in zip(layout.edge_axes, edges))
    return Walls(fluid, given, distance, edges, clinging)


def _face_distances(solids: Solids) -> list[np.ndarray]:
    """Distance to solids in the middles of the faces, in cells."""
    return list(solids.layout.drop_faces([at_faces(solids.nodes, a) for a in range(3)]))


def _closed(mask: np.ndarray, a: int) -> np.ndarray:
    """A mask of faces of axis a, True at the sides of the domain too."""
    for end in (0, -1):
        mask[(slice(None),) * a + (end,)] = True
    return mask


def _of_kind(solids: Solids, solid: list[np.ndarray], kind: str) -> tuple[list[np.ndarray], list[tuple[bool, bool]]]:
    """The solid faces of walls of this kind, and for each of three axes whether its sides are of this kind."""
    sides = [False, False] * solids.layout.first + [side.viscous == kind for side in solids.sides]
    ends = list(zip(sides[::2], sides[1::2]))
    if len(set(solids.viscous)) == 1:
        return solid, ends
    alike = np.array(solids.viscous) == kind
    return [s & alike[nearest] for s, nearest in zip(solid, solids.nearest_to_faces())], ends


def touches(cells: np.ndarray, a: int) -> np.ndarray:
    """Faces of axis a next to a cell of the mask."""
    return _pair_any(_widened(cells, a), a)


def _at_walls(solid: list[np.ndarray], sides: list[tuple[bool, bool]], wet: np.ndarray, n: int) -> np.ndarray:
    """Edges along axis n with a solid face, or on one of the sides, and next to a cell of `wet`; all on three axes."""
    a, b = (axis for axis in range(3) if axis != n)
    around_a = _pair_any(_widened(solid[a], b, sides[b]), b)
    around_b = _pair_any(_widened(solid[b], a, sides[a]), a)
    near = _pair_any(_pair_any(_widened(_widened(wet, a), b), a), b)
    return (around_a | around_b) & near


def _widened(mask: np.ndarray, axis: int, ends: tuple[bool, bool] = (False, False)) -> np.ndarray:
    """A mask with one more entry at both ends of an axis."""
    pad = [(int(k == axis),) * 2 for k in range(mask.ndim)]
    return np.pad(mask, pad, constant_values=[ends if k == axis else (False, False) for k in range(mask.ndim)])


def _pair_any(mask: np.ndarray, axis: int) -> np.ndarray:
    """True where at least one of two neighbours along an axis is True."""
    n = mask.shape[axis]
    return np.take(mask, range(n - 1), axis) | np.take(mask, range(1, n), axis)
