"""`Solid`: one solid of a scene, where it is, and its distance on the grid; the sides of the domain likewise.

Pictures of a run need no more than this; it loads neither solvers nor SciPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....bodies.body import RigidBody
from ....bodies.motion import Prescribed
from ....grid.fractions import cover
from ....grid.mac import Grid
from ....grid.shapes import Box, Shape, sample_meshes
from ....scenes.geometry import build
from ....scenes.scene import Scene
from ....scenes.schema import Keyed, WallSettings
from ..settings import SOLIDS

#: two for each axis, the lower one first
NAMES = ("left", "right", "bottom", "top", "back", "front")


@dataclass(frozen=True)
class Side:
    """What liquid does at a side."""

    pressure: str
    viscous: str
    separation: float
    adhesion: float


def sides_of(walls: WallSettings, dimension: int) -> list[Side]:
    """The sides of a domain, in the order of `NAMES`: their own settings, or those of all walls.

    Examples
    --------
    >>> walls = WallSettings(viscous="slip", bottom={"viscous": "no-slip"})
    >>> [side.viscous for side in sides_of(walls, 2)]
    ['slip', 'slip', 'no-slip', 'slip']
    """
    out = []
    for name in NAMES[: 2 * dimension]:
        own, chosen = getattr(walls, name), {}
        for key in ("pressure", "viscous", "separation", "adhesion"):
            value = None if own is None else getattr(own, key)
            chosen[key] = getattr(walls, key) if value is None else value
        out.append(Side(**chosen))
    return out


def nearest_side(points: Sequence[np.ndarray], size: Sequence[float], shape: tuple[int, ...], named: bool):
    """Distance of points to the nearest side, and the side as a negative number: -1 is the first of `NAMES`.

    Without `named` all sides have the number -1.
    """
    best: Any = np.full(shape, np.inf)
    which = np.full(shape, -1, np.int16)
    for axis, (x, length) in enumerate(zip(points, size)):
        for end, here in enumerate((x, length - x)):
            if named:
                which[np.broadcast_to(here, shape) < best] = -1 - (2 * axis + end)
            np.minimum(best, here, out=best)
    return best, which


def by_number(solids: Sequence[Any], sides: Sequence[Any]) -> list[Any]:
    """Values of solids and sides in one list: index 0, 1, ... are solids, -1, -2, ... are sides."""
    return [*solids, *reversed(sides)]


#: nodal distance if there is no solid, in cells
FAR = 1e3
#: a body with more cells than this loses next to nothing of its volume
RESOLVED = 2**22


@dataclass
class Solid:
    """One solid: its shape at time 0 and the properties of its surface; or a rigid body, which has its own pose."""

    shape: Shape
    container: bool
    pressure: str
    separation: float | Keyed
    adhesion: float
    motion: Prescribed | None
    body: RigidBody | None = None
    viscous: str = "no-slip"
    #: size of the domain in metres; empty if it is not known
    domain: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self._kept: tuple[bytes, np.ndarray] | None = None
        self._sampled: Shape | None = None
        self._grown: float | None = None

    def placed(self, time: float) -> Shape:
        """The shape at its position at `time`; a body is where it is now."""
        return self._place(self.shape, time)

    def _place(self, shape: Shape, time: float) -> Shape:
        if self.body is not None:
            return self.body.placed(shape)
        return shape if self.motion is None else self.motion.placed(shape, time)

    def pose(self, time: float) -> bytes:
        """Where the solid is, as bytes to compare; empty if it never moves."""
        if self.body is not None:
            return np.append(self.body.centre, self.body.orientation).tobytes()
        if self.motion is None:
            return b""
        offset, angle, _, _ = self.motion.at(time)
        return np.append(offset, angle).tobytes()

    def speed(self, axis: int, points, time: float, since: float) -> np.ndarray | float:
        """One component of the velocity at points, that of a motion as the mean since a time; zero without a motion."""
        if self.body is not None:
            return self.body.velocity_at(*points)[axis]
        return 0.0 if self.motion is None else self.motion.velocity(axis, points, time, since)

    def turn(self, since: float, time: float) -> np.ndarray:
        """The prescribed turn in this time: angle times axis (3), in radians."""
        out = np.zeros(3)
        if self.motion is not None and self.body is None:
            turn = self.motion.turn(since, time)
            out[:] = turn * self.motion.axis if self.motion.d == 3 else (turn, 0.0, 0.0)
        return out

    def distance(self, grid: Grid, time: float) -> np.ndarray:
        """Distance at the nodes in metres, for a body in a window around it; measured only if the solid has moved.

        A solid that never moves is measured once and exactly; the meshes of one that moves are sampled.
        """
        pose = self.pose(time)
        if self._kept is None or self._kept[0] != pose:
            self._kept = pose, self.measure(grid, time)
        return self._kept[1]

    def measure(self, grid: Grid, time: float) -> np.ndarray:
        """The distance at the nodes of any grid, at this time."""
        nodes = grid.nodes()
        if self._sampled is None:
            still = self.motion is None and self.body is None
            self._sampled = self.shape if still else sample_meshes(self.shape, grid.dx)
        shape = self._place(self._sampled, time)
        if self.body is None:
            sign = -1.0 if self.container else 1.0
            out = sign * shape.sample(nodes)
            self._pass_sides(out, nodes, lambda points: sign * shape.sample(points), grid.dx)
            return out
        out = np.full(grid.node_shape, FAR * grid.dx)
        low, high = self.body.box()
        reach = 2 * SOLIDS.room * grid.dx
        window = tuple(slice(*np.searchsorted(x.ravel(), (a - reach, b + reach))) for x, a, b in zip(nodes, low, high))
        if all(w.stop > w.start for w in window):
            out[window] = shape.sample(tuple(x[(*(slice(None),) * a, window[a])] for a, x in enumerate(nodes)))
            out[window] -= self._growth(grid.dx)
        return out

    def _pass_sides(self, phi: np.ndarray, nodes, distance: Callable[..., np.ndarray], dx: float) -> None:
        """Let a solid that ends on a side of the domain, or just beyond it, go on there, in place.

        No liquid reaches its surface there. With the distance to that surface, a solid thinner than a cell would be
        thinner still: between a node on the side and one in the liquid, its other surface would lie at the side.
        """
        for axis, size in enumerate(self.domain):
            x = nodes[axis].ravel()
            for end, inward, side in ((0, 1, 0.0), (-1, -1, size)):
                if len(x) < 3 or abs(x[end] - side) > 1e-6 * dx:
                    continue
                here, one, two = (phi[(slice(None),) * axis + (end + far * inward,)] for far in range(3))
                if not (here <= 0.0).any():
                    continue
                points = list(nodes)
                points[axis] = np.full((1,) * phi.ndim, side + 1e-3 * inward * dx)
                before = distance(tuple(points))[(slice(None),) * axis + (0,)]
                hidden = (here <= 0.0) & (before < here)
                here[hidden] = np.minimum(here, 2.0 * one - two)[hidden]

    def _growth(self, dx: float) -> float:
        """The distance by which a body must grow to have its true volume on the grid, in metres.

        A distance that is linear between nodes cuts curved surfaces and corners short: a ball of eight cells loses 3 %
        of its volume, and as much of its weight and lift. The growth is found once, in the body's own axes, so that it
        does not depend on where a run was resumed.
        """
        if self._grown is None:
            assert self.body is not None and self._sampled is not None
            low, high = self._sampled.bounds(self.body.d)
            if np.prod((high - low) / dx + 6.0) > RESOLVED:
                self._grown = 0.0
                return self._grown
            lines = [np.arange(a - 2.3 * dx, b + 3.0 * dx, dx) for a, b in zip(low, high)]
            phi = self._sampled.sample(tuple(np.meshgrid(*lines, indexing="ij", sparse=True))) / dx
            volume = self.body.volume / dx**self.body.d
            growth, step = 0.0, 0.1
            for _ in range(3):  # Newton's method; the volume is smooth
                here, more = (float(cover(phi - g)[0].sum()) for g in (growth, growth + step))
                if more <= here:
                    break
                growth = min(max(growth + step * (volume - here) / (more - here), 0.0), SOLIDS.growth)
            self._grown = growth * dx
        return self._grown


def solids_of(scene: Scene) -> list[Solid]:
    """The solids of a scene without its bodies, then those between the domain and its grid."""
    model = scene.model
    middle = [0.5 * s for s in model.domain.size]
    own = [
        Solid(build(s.shape, scene.folder, f"{scene.where}: solid.{index}.shape"), s.container,
              s.pressure or model.walls.pressure, s.separation, s.adhesion,
              None if s.motion is None else Prescribed(s.motion, middle, scene.dimension),
              viscous=s.viscous or model.walls.viscous, domain=tuple(model.domain.size))
        for index, s in enumerate(model.solid)
    ]  # fmt: skip
    return own + _beyond(scene)


def _beyond(scene: Scene) -> list[Solid]:
    """Solids between the domain and the grid, whose last cells may reach beyond it."""
    size, dx, sides = scene.model.domain.size, scene.dx, sides_of(scene.model.walls, scene.dimension)
    differ = len({*sides}) > 1
    short = [a for a, (n, s) in enumerate(zip(scene.shape, size)) if n * dx > s * (1 + 1e-9)]
    # one solid for all sides; if sides differ, one for each
    parts = [short] if not differ else [[a] for a in short]
    out = []
    for axes in parts if short else []:
        high = [s if not differ or a in axes else 1e3 * max(size) for a, s in enumerate(size)]
        side = sides[2 * axes[0] + 1]
        inside = Box((-1e3 * dx,) * len(high), tuple(high))
        out.append(Solid(inside, True, side.pressure, side.separation, side.adhesion, None, viscous=side.viscous))
    return out


def joined(distances: Iterable[np.ndarray], grid: Grid) -> np.ndarray:
    """Distance to the nearest of several solids at the nodes, in metres."""
    out = np.full(grid.node_shape, FAR * grid.dx)
    for here in distances:
        np.minimum(out, here, out=out)
    return out
