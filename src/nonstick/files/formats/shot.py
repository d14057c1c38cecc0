"""A run as an exporter sees it: its frames, its walls and its bodies, each where a frame has it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from ...bodies import rotation
from ...bodies.motion import Prescribed
from ...core.guarded import read_bytes
from ...core.show import PAINTS, SOLID
from ...errors import NonstickError
from ...grid.mac import Grid
from ...grid.shapes import Box, Complement, Shape
from ...grid.shapes.combined import Posed
from ...scenes.geometry import build
from ..atomic import safe_name
from ..rundir import RunDirectory, damaged
from .frame import Frame
from .mesh import TriangleMesh, of_body, of_shape

#: distance where there is no wall, in cells
FAR = 1e3
#: samples along the longest side of a wall for its mesh, at most
FINEST = 128


@dataclass(frozen=True, eq=False)
class RunSolid:
    """A wall or a rigid body of a run: its shape at time 0, its surface, and where a frame has them.

    Parameters
    ----------
    name : str
        What files call it.
    shape : Shape
        What it is at time 0; of a container, its inside.
    surface : callable
        Makes its mesh, given about `origin`: the centre of mass of a body, zero for a wall.
    body : int, optional
        Its number among the bodies; None for a wall.
    """

    name: str
    shape: Shape
    surface: Callable[[], TriangleMesh]
    origin: np.ndarray
    container: bool = False
    motion: Prescribed | None = None
    body: int | None = None

    @cached_property
    def mesh(self) -> TriangleMesh:
        """Its surface at time 0 about `origin`."""
        return self.surface()

    @property
    def moves(self) -> bool:
        """Whether it can be elsewhere in another frame."""
        return self.body is not None or self.motion is not None

    @property
    def colour(self) -> np.ndarray:
        return SOLID if self.body is None else PAINTS[self.body % len(PAINTS)]

    @property
    def filled(self) -> Shape:
        """Where no liquid can be: around a container."""
        return Complement(self.shape) if self.container else self.shape

    def at(self, frame: Frame) -> Posed:
        """Its shape where a frame has it."""
        d = len(self.origin)
        if self.body is not None and (centre := frame.get("body_centre")) is not None:
            turn = np.atleast_1d(frame.arrays["body_orientation"][self.body])
            return Posed(self.shape, rotation.matrix(turn), self.origin, centre[self.body])
        if self.motion is None:
            return Posed(self.shape, np.eye(d), np.zeros(d), np.zeros(d))
        offset, angle, _, _ = self.motion.at(frame.time)
        turn = self.motion.spin_vector(angle)
        R = rotation.matrix(turn if d == 2 else rotation.from_vector(turn))
        return Posed(self.shape, R, self.motion.about, self.motion.about + offset)

    def place(self, frame: Frame) -> np.ndarray:
        """Where a frame has its mesh: a 4 × 4 matrix that acts on columns; 2D becomes 3D."""
        at, d, out = self.at(frame), len(self.origin), np.eye(4)
        out[:d, :d] = at.R
        out[:d, 3] = at.R @ (self.origin - at.origin) + at.centre
        return out


class Shot:
    """A run directory, open for export.

    Parameters
    ----------
    path : str or Path
        The run directory.

    Examples
    --------
    >>> shot = Shot("runs/sphere")                    # doctest: +SKIP
    >>> shot.frame(shot.frames[-1]).time              # doctest: +SKIP
    1.6666666666666667
    """

    def __init__(self, path: str | Path):
        self.run = RunDirectory.open(path)
        self.scene = self.run.scene()
        if self.scene.kind != "liquid":
            raise NonstickError(f"{path} is a run of {self.scene.kind}; only runs of liquid can be exported")
        self.grid = Grid(self.scene.shape, self.scene.dx)
        self._still: dict[int, np.ndarray] = {}
        self._nodes: np.ndarray | None = None

    # -- frames -----------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What the files are called; the name of a scene may be any text."""
        return safe_name(self.scene.name)

    @property
    def dimension(self) -> int:
        return self.grid.dimension

    @property
    def fps(self) -> float:
        return float(self.scene.model.time.fps)

    @property
    def frames(self) -> list[int]:
        """Numbers of the frames there are."""
        return self.run.frames()

    def frame(self, number: int, arrays: Mapping[str, np.ndarray] | None = None) -> Frame:
        """One frame; `arrays` if it is at hand and need not be read."""
        if arrays is not None:
            return Frame(number, arrays, self.grid)
        file = self.run.frame_file(number)
        frame = Frame(number, self.run.read_frame(number), self.grid, file)
        centres = frame.get("body_centre")
        if centres is not None and len(centres) < len(self.bodies):
            raise damaged(file, f"body_centre holds {len(centres)} of {len(self.bodies)} bodies")
        return frame

    @cached_property
    def volumes(self) -> dict[int, float]:
        """Volume of the liquid in m³ (2D: m²) by the ledger, for each frame that has a row."""
        return {int(r["frame"]): float(r["volume"]) for r in self.run.rows() if r.get("volume")}

    def volume(self, frame: Frame) -> float | None:
        """Volume of the liquid of a frame by the ledger; frames of older versions have it in stats.csv only."""
        own = frame.get("volume")
        return self.volumes.get(frame.number) if own is None else float(own)

    @cached_property
    def top_speed(self) -> float:
        """The speed at the end of the scale of colours, in m/s.

        It follows from the scene alone, so that a frame has the same colours whenever it is exported: the speed after
        a fall through the domain, or the largest given velocity.
        """
        model = self.scene.model
        fall = math.sqrt(2.0 * math.hypot(*self.scene.gravity) * max(model.domain.size))
        given = [math.hypot(*v) for s in (*model.liquid, *model.inflow) if (v := s.velocity) is not None]
        return max([fall, *given]) or 1.0

    # -- walls ------------------------------------------------------------------------------------------

    @cached_property
    def walls(self) -> list[RunSolid]:
        """The solids of the scene, in its order."""
        middle, d = [0.5 * s for s in self.scene.model.domain.size], self.dimension
        out = []
        for k, s in enumerate(self.scene.model.solid):
            shape = build(s.shape, self.scene.folder)
            motion = None if s.motion is None else Prescribed(s.motion, middle, d)
            surface = partial(self._wall_mesh, shape, s.container)
            out.append(RunSolid(f"solid_{k}", shape, surface, np.zeros(d), s.container, motion))
        return out

    def _wall_mesh(self, shape: Shape, container: bool) -> TriangleMesh:
        """The surface of a wall at time 0, seen from where liquid can be."""
        d, size = self.dimension, np.array(self.grid.size)
        low, high = shape.bounds(d)
        low, high = np.maximum(low, -size), np.minimum(high, 2 * size)
        if not np.isfinite([low, high]).all() or container:
            low, high = np.maximum(low, 0 * size), np.minimum(high, size)
        # a container is the complement; its mesh closes at the box
        mesh = of_shape(shape, low, high, max(0.5 * self.grid.dx, float(max(high - low)) / FINEST))
        return mesh.with_(faces=mesh.faces[:, ::-1].copy()) if container and d == 3 else mesh

    @cached_property
    def bodies(self) -> list[RunSolid]:
        """The rigid bodies, in the order of the scene."""
        table = self.run.path / "bodies.json"
        if not self.scene.model.bodies or not table.is_file():
            return []
        try:
            entries = enumerate(json.loads(read_bytes(table)))
            shapes = (build(b.shape, self.scene.folder) for b in self.scene.model.bodies)
            return [self._body(k, entry, shape) for shape, (k, entry) in zip(shapes, entries)]
        except NonstickError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise NonstickError(f"{table} is damaged: {error!r}") from None

    def _body(self, k: int, entry: dict, shape: Shape) -> RunSolid:
        """A body from its entry of bodies.json."""
        centre = np.array(entry["centre"], float).reshape(self.dimension)
        return RunSolid(str(entry["name"]), shape, partial(of_body, shape, centre), centre, body=k)

    @property
    def solids(self) -> list[RunSolid]:
        """Walls and bodies."""
        return self.walls + self.bodies

    @property
    def moves(self) -> bool:
        """Whether a wall or a body can be elsewhere in another frame."""
        return any(solid.moves for solid in self.solids)

    def solid(
        self,
        frame: Frame,
        refine: int = 1,
        pad: int = 0,
        low: Sequence[int] | None = None,
        high: Sequence[int] | None = None,
    ) -> np.ndarray:
        """Distance to walls, bodies and the sides of the domain, negative in them.

        Over cells that are `refine` times as fine as the grid, with `pad` more of them on every side; those of the
        cells from `low` up to `high`, or of all.
        """
        h = self.grid.dx / refine
        axes = [h * (np.arange(-pad, n * refine + pad) + 0.5) for n in self.grid.shape]
        out = self._still_walls(np.meshgrid(*axes, indexing="ij", sparse=True), refine, pad)
        ends = zip(low or (0,) * self.dimension, high or self.grid.shape)
        box = tuple(slice(a * refine, b * refine + 2 * pad) for a, b in ends)
        axes = [a[s] for a, s in zip(axes, box)]
        out = out[box].copy()
        moved = frame.get("phi_solid")
        if moved is not None:
            for axis, a in enumerate(axes):
                moved = between_samples(moved, a / self.grid.dx, axis)
            np.minimum(out, self._sharpened(moved, axes, frame), out=out)
        self._put_bodies(out, axes, frame)
        return out

    def _sharpened(self, moved: np.ndarray, axes: list[np.ndarray], frame: Frame) -> np.ndarray:
        """The frame's distance to walls, near those that move replaced by the exact one, which has sharp edges.

        Meshes are left as they are: their distance takes long to compute.
        """
        moving = [w for w in self.walls if w.motion is not None]
        if not moving or any(w.shape.triangles() is not None for w in moving):  # a frame may not fit its scene
            return moved
        near = np.abs(moved) < 2 * self.grid.dx
        x = [a[k] for a, k in zip(axes, np.nonzero(near))]
        exact = [w.at(frame)(*x) * (-1 if w.container else 1) for w in moving]
        moved[near] = np.minimum.reduce(exact)
        return moved

    def inner_walls(self, frame: Frame) -> np.ndarray:
        """Distance to walls and bodies, in cells, at the nodes of the grid; the sides of the domain are left out."""
        moved = frame.get("phi_solid")
        if moved is None:
            if self._nodes is None:
                self._nodes = np.full(self.grid.node_shape, FAR * self.grid.dx, np.float32)
                for wall in self.walls:
                    np.minimum(self._nodes, wall.filled.sample(self.grid.nodes(), np.float32), out=self._nodes)
                self._nodes /= np.float32(self.grid.dx)
            if not self.bodies:
                return self._nodes
            moved = self._nodes * np.float32(self.grid.dx)
        out = np.array(moved, np.float32)
        axes = [self.grid.dx * np.arange(n) for n in self.grid.node_shape]
        self._put_bodies(out, axes, frame)
        out /= np.float32(self.grid.dx)
        return out

    def _put_bodies(self, out: np.ndarray, axes: list[np.ndarray], frame: Frame) -> None:
        """The distance to bodies put into that to walls, near the bodies."""
        for body in self.bodies:
            at = body.at(frame)
            reach = float(np.linalg.norm(body.mesh.vertices, axis=1).max(initial=0.0)) + 3 * self.grid.dx
            where = tuple(slice(*np.searchsorted(a, (c - reach, c + reach))) for a, c in zip(axes, at.centre))
            near = np.meshgrid(*(a[s] for a, s in zip(axes, where)), indexing="ij", sparse=True)
            if all(n.size for n in near):
                out[where] = np.minimum(out[where], np.asarray(at(*near), np.float32))

    def _still_walls(self, points, refine: int, pad: int) -> np.ndarray:
        key = 1000 * refine + pad
        if key not in self._still:
            size = np.array(self.scene.model.domain.size, float)
            # the sides of the domain are walls too
            out = -Box((0.0,) * self.dimension, tuple(size)).sample(points, np.float32)
            for wall in self.walls:
                if wall.motion is None:
                    np.minimum(out, wall.filled.sample(points, np.float32), out=out)
            self._still = {key: out}
        return self._still[key]


def between_samples(values: np.ndarray, at: np.ndarray, axis: int) -> np.ndarray:
    """Values at fractional indices along one axis, linear between samples."""
    at = np.clip(at, 0, values.shape[axis] - 1)
    low = np.minimum(at.astype(int), values.shape[axis] - 2)
    t = (at - low).astype(np.float32).reshape([-1 if a == axis else 1 for a in range(values.ndim)])
    return np.take(values, low, axis) * (1 - t) + np.take(values, low + 1, axis) * t
