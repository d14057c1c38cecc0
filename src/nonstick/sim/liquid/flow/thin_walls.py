"""Viscous liquid at thin walls: what each side feels of the wall between its faces and those behind it.

No stress acts from one side to the other: the edges that a thin wall crosses have none. Each side has its own drag,
that of a no-slip wall at its true distance (`discretise.viscosity_walls`): on the way from a face f to its neighbour
behind the wall, the wall lies at the share θ, and the liquid at f loses ν dt/(θ dx²) (u_f - u_wall) in a step. This is
diagonal, as the mass of a face is. So the face gets this much mass more that moves with the wall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....discretise.fields import edge_volumes, window_of_liquid
from ....discretise.viscosity_walls import NEAREST
from ....grid.faces import FaceField, at_faces, lower, upper
from ..solids.layers import Layers
from ..solids.on_grid import Solids
from ..solids.sides import COLOUR


@dataclass
class ThinWalls:
    """The stress at thin walls."""

    #: liquid fractions at edges, in the user's dimension; 0 where a thin wall crosses them
    edges: tuple[np.ndarray, ...]
    #: drag of the walls on faces, over viscosity times dt / (rho dx²)
    drag: FaceField

    @classmethod
    def of(cls, solids: Solids, phis: Sequence[np.ndarray]) -> ThinWalls:
        """From φ in each layer."""
        layers, grid = solids.layers, solids.grid
        assert layers is not None
        own = [edge_volumes(grid.drop(phi), window_of_liquid(grid.drop(phi))) for phi in phis]
        volumes = [[e.reshape((1,) * (3 - e.ndim) + e.shape) for e in each] for each in own]
        away = [FaceField((at_faces(layer.nodes, a) for a in grid.axes), grid.axes) for layer in layers.list]
        drag = solids.open.zeros()
        edges = []
        clings = _clings(solids)
        for n, e in enumerate(grid.edge_axes):
            a, b = (axis for axis in range(3) if axis != e)
            out = _own(layers, [v[n] for v in volumes], a, b)
            for one, other in ((a, b), (b, a)):
                for c in range(1, len(layers.list)):
                    mine = (layers.of_faces[one] == c) & ~layers.closed[one] & (away[c][one] > 0.0)
                    _add(out, drag[one], mine, away[c][one], volumes[c][n], clings[one], other)
            edges.append(grid.drop(out) if grid.dimension == 3 else out[0])
        return cls(tuple(edges), drag)

    def held(
        self, velocity: FaceField, mass: Sequence[np.ndarray], solids: Solids, mu: np.ndarray | float, time: float
    ) -> tuple[FaceField, tuple[np.ndarray, ...]]:
        """Velocity and mass of faces with what the drag adds to them in a step; `time` is its length over the density.

        The velocity is on three axes, the masses in the user's dimension.
        """
        scale = time / solids.grid.dx**2
        drag = self.drag.map(np.copy)
        for axis, d in drag.each():
            d *= scale * (mu if np.ndim(mu) == 0 else _at_faces(np.asarray(mu), axis))
        own = FaceField.of([np.asarray(m, float) for m in mass])
        whole = own + drag
        moved = (own * velocity + drag * solids.velocity) / np.maximum(whole, 1e-300)
        return (drag > 0.0).where(moved, velocity), whole.user


def _own(layers: Layers, volumes: list[np.ndarray], a: int, b: int) -> np.ndarray:
    """Liquid fractions of edges between faces of the axes a and b, from the layer of the faces around each edge."""
    which = np.zeros(volumes[0].shape, COLOUR)
    for axis, other in ((a, b), (b, a)):
        faces = layers.of_faces[axis]
        wide = np.pad(faces, [(int(k == other),) * 2 for k in range(3)], mode="edge")
        np.maximum(which, np.maximum(lower(wide, other), upper(wide, other)), out=which)
    out = volumes[0].copy()
    for c, volume in enumerate(volumes[1:], 1):
        out[which == c] = volume[which == c]
    return out


def _add(
    edges: np.ndarray,
    drag: np.ndarray,
    mine: np.ndarray,
    away: np.ndarray,
    volume: np.ndarray,
    clings: np.ndarray,
    other: int,
) -> None:
    """Add the drag on faces of an axis and a colour from walls before their neighbours along another axis.

    `edges` becomes 0 where such a wall crosses, `mine` are the open faces of the colour, `away` the distance it sees.
    """
    inner = (slice(None),) * other + (slice(1, -1),)
    for near, far in ((lower, upper), (upper, lower)):
        f, g = near(away, other), far(away, other)
        crossed = near(mine, other) & (g < 0.0)
        theta = np.maximum(np.divide(f, f - g, out=np.ones_like(f), where=crossed), NEAREST)
        near(drag, other)[...] += np.where(crossed & near(clings, other), volume[inner] / theta, 0.0)
        edges[inner][crossed] = 0.0


def _at_faces(cells: np.ndarray, axis: int) -> np.ndarray:
    """Means of the cells beside the faces of an axis."""
    wide = np.pad(cells, [(int(k == axis),) * 2 for k in range(3)], mode="edge")
    return 0.5 * (lower(wide, axis) + upper(wide, axis))


def _clings(solids: Solids) -> FaceField:
    """Faces whose nearest solid does not let viscous liquid slip."""
    if len(set(solids.viscous)) == 1:
        return solids.open.map(lambda a: np.full(a.shape, solids.viscous[0] != "slip"))
    holds = np.array(solids.viscous) != "slip"
    return solids.nearest_to_faces().map(lambda nearest: holds[nearest])
