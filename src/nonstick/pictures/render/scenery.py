"""The solids and bodies in a picture: distances on nodes, and triangles where a shape is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...grid.box import IndexBox
from ...grid.mac import Grid
from ...grid.shapes import Shape
from ._blocks import TRIANGLES, _cells_of, _near_body, _wall_code

#: bodies and solids at rest are sampled this many times as finely as the grid, so that their edges stay sharp
FINE = 2
#: bodies are looked for on every eighth node
COARSE = 8
#: a vertex whose normal is turned by more than this from that of a triangle (degrees) is a sharp edge of it
CREASE = 35.0


@dataclass(frozen=True)
class Triangles:
    """Triangles (n, 3, 3) in cells, the normals at their corners, and whose they are (-1: of a wall)."""

    corners: np.ndarray
    slopes: np.ndarray
    whose: np.ndarray

    @classmethod
    def none(cls) -> Triangles:
        return cls(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)), np.zeros(0, np.int16))

    @classmethod
    def of(cls, facets: tuple[np.ndarray, np.ndarray], dx: float, whose: int) -> Triangles:
        """The triangles of a closed surface, given by vertices in metres and faces."""
        vertices, faces = np.asarray(facets[0], float) / dx, np.asarray(facets[1])
        corners = vertices[faces]
        if np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) < 0.0:
            faces, corners = faces[:, ::-1], np.ascontiguousarray(corners[:, ::-1])  # seen from outside
        flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        mean = np.zeros_like(vertices)
        for corner in range(3):
            np.add.at(mean, faces[:, corner], flat)
        flat /= np.maximum(np.linalg.norm(flat, axis=1), 1e-30)[:, None]
        mean /= np.maximum(np.linalg.norm(mean, axis=1), 1e-30)[:, None]
        slopes = mean[faces]
        sharp = np.einsum("ijk,ik->ij", slopes, flat) < np.cos(np.radians(CREASE))
        slopes = np.where(sharp[..., None], flat[:, None], slopes)
        return cls(corners, slopes, np.full(len(faces), whose, np.int16))

    @classmethod
    def join(cls, parts: Sequence[Triangles]) -> Triangles:
        parts = [cls.none(), *parts]
        return cls(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("corners", "slopes", "whose")))

    @property
    def both(self) -> np.ndarray:
        """Corners and normals (n, 6, 3)."""
        return np.concatenate([self.corners, self.slopes], axis=1)

    def by_cell(self, shape: tuple[int, ...]) -> np.ndarray:
        """The numbers of the triangles of each cell; before them, where the list of each cell begins, and the end."""
        cells = int(np.prod(shape))
        first = np.zeros(cells + 1, np.int32)
        if not len(self.corners):
            return first + np.int32(cells + 1)
        count = _cells_of(first, first, self.corners, shape, False)
        lists = np.empty(cells + 1 + count, np.int32)
        lists[: cells + 1] = np.cumsum(first) + cells + 1
        _cells_of(lists[: cells + 1].copy(), lists, self.corners, shape, True)
        return lists


@dataclass(frozen=True)
class Scenery:
    """Solids that stand still, or in one frame.

    Parameters
    ----------
    wall : array
        Distance in cells at the nodes of the grid, or at nodes `fine` times as close (float32).
    triangles : Triangles
        Solids made of triangles, which are not part of `wall`.
    rock : array, optional
        Distance to the solids of triangles in cells at the nodes of the grid.
    """

    wall: np.ndarray
    fine: int = 1
    triangles: Triangles = field(default_factory=Triangles.none)
    rock: np.ndarray | None = None

    @cached_property
    def code(self) -> np.ndarray:
        """The codes of cells that walls cut or fill."""
        out = np.empty(self.shape, np.uint8)
        _wall_code(out, self.wall, self.fine)
        return out

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each axis."""
        return tuple((n - 1) // self.fine for n in self.wall.shape)

    @classmethod
    def of_nodes(cls, phi: np.ndarray, dx: float) -> Scenery:
        """From a distance in metres at the nodes of the grid."""
        return cls((np.ascontiguousarray(phi, dtype=np.float64) / dx).astype(np.float32))

    @classmethod
    def of_shapes(cls, solids: Sequence[tuple[Shape, bool]], shape: tuple[int, ...], dx: float, fine: int) -> Scenery:
        """From (shape, is it a container) in metres. Solids of triangles are drawn from these, but not containers."""
        wall = np.full(tuple(fine * n + 1 for n in shape), 1e3, np.float32)
        nodes = Grid(tuple(fine * n for n in shape), dx / fine).nodes()
        parts, rock = [], None
        for solid, container in solids:
            facets = None if container else solid.facets()
            if facets is not None:
                parts.append(Triangles.of(facets, dx, -1))
                here = solid.sample(Grid(shape, dx).nodes(), np.float32) / np.float32(dx)
                rock = here if rock is None else np.minimum(rock, here)
                continue
            here = solid.sample(nodes, np.float32)
            here /= np.float32(-dx if container else dx)
            np.minimum(wall, here, out=wall)
        return cls(wall, fine, Triangles.join(parts), rock)


def place_bodies(bodies: Sequence[Shape], shape: tuple[int, ...], dx: float, colours: Sequence[int]):
    """Bodies at their positions: (distance in cells and number on refined nodes, triangles of the others)."""
    round_, parts = [], []
    for one, colour in zip(bodies, colours):
        facets = one.facets()
        if facets is None:
            round_.append((one, colour))
        else:
            parts.append(Triangles.of(facets, dx, colour))
    if not round_:
        return np.full((1, 1, 1), 1e3, np.float32), np.zeros((1, 1, 1), np.int16), parts
    nodes = Grid(tuple(FINE * n for n in shape), dx / FINE).nodes()
    body = np.full(tuple(FINE * n + 1 for n in shape), 1e3, np.float32)
    owner = np.zeros(body.shape, np.int16)
    for one, colour in round_:
        # rays look at bodies only near them, so only distances within a few cells matter
        window = _around(one, nodes, COARSE * dx / FINE)
        if window is None:
            continue
        here = one.sample(tuple(np.take(x, range(w.start, w.stop), a) for a, (x, w) in enumerate(zip(nodes, window))))
        here /= dx
        closer = here < body[window]
        body[window][closer] = here[closer]
        owner[window][closer] = colour
    return body, owner, parts


def _around(one: Shape, nodes, spacing: float) -> tuple[slice, ...] | None:
    """The part of the nodes around a shape, from every eighth of them."""
    some = tuple(np.take(x, range(0, x.shape[a], COARSE), a) for a, x in enumerate(nodes))
    near = one.sample(some) < 2.5 * spacing
    box = IndexBox.around(near)
    if box is None:
        return None
    ends = zip(box.low, box.high, (x.size for x in nodes))
    return tuple(slice(max(0, COARSE * (low - 1)), min(n, COARSE * high + 1)) for low, high, n in ends)


def mark(scenery: Scenery, body: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """The codes of cells as far as they do not follow from the liquid."""
    stone = scenery.code.copy()
    if body.size > 1:
        _near_body(stone, body, FINE)
    if lists.size > stone.size + 1:
        stone.reshape(-1)[np.diff(lists[: stone.size + 1]) > 0] |= TRIANGLES
        stone[(stone & TRIANGLES != 0) & (stone & 32 != 0)] = 32  # nothing is seen inside a wall
    return stone
