"""A run as an exporter sees it: its frames, its walls and its bodies, each where a frame has it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ...bodies import rotation
from ...bodies.motion import Prescribed
from ...errors import NonstickError, brief
from ...grid.mac import Grid
from ...grid.shapes import Box, Complement, Shape
from ...grid.shapes.combined import Posed
from ...scenes.geometry import build
from ..atomic import safe_name
from ..rundir import RunDirectory
from .frame import Frame
from .mesh import TriangleMesh, of_shape, read_obj

#: distance where there is no wall, in cells
FAR = 1e3
#: samples along the longest side of a wall for its mesh, at most
FINEST = 128


@dataclass(frozen=True)
class Placement:
    """Where a thing is: `R (x - about) + about + offset` for its points x at time 0."""

    matrix: np.ndarray
    about: np.ndarray
    offset: np.ndarray

    @property
    def four(self) -> np.ndarray:
        """As a 4 × 4 matrix that acts on columns; 2D becomes 3D."""
        d = len(self.offset)
        out = np.eye(4)
        out[:d, :d] = self.matrix
        out[:d, 3] = self.offset + self.about - self.matrix @ self.about
        return out

    def pose(self, shape: Shape) -> Posed:
        """A shape of time 0 where it is."""
        return Posed(shape, self.matrix, self.about, self.about + self.offset)


@dataclass(frozen=True)
class WallShape:
    """A solid of the scene: its shape at time 0 and how it moves."""

    name: str
    shape: Shape
    container: bool
    motion: Prescribed | None

    def placement(self, time: float, d: int) -> Placement:
        if self.motion is None:
            return Placement(np.eye(d), np.zeros(d), np.zeros(d))
        offset, angle, _, _ = self.motion.at(time)
        turn = self.motion.spin_vector(angle)
        R = rotation.matrix(turn if d == 2 else rotation.from_vector(turn))
        return Placement(R, self.motion.about, offset)


@dataclass(frozen=True)
class RunBody:
    """A rigid body of the run: its shape at time 0, its surface about the centre of mass, and that centre."""

    name: str
    shape: Shape
    mesh: TriangleMesh
    origin: np.ndarray


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
        return Frame(number, self.run.read_frame(number), self.grid, self.run.frame_file(number))

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
    def walls(self) -> list[WallShape]:
        """The solids of the scene, in its order."""
        middle = [0.5 * s for s in self.scene.model.domain.size]
        return [
            WallShape(
                f"solid_{k}",
                build(s.shape, self.scene.folder),
                s.container,
                None if s.motion is None else Prescribed(s.motion, middle, self.dimension),
            )
            for k, s in enumerate(self.scene.model.solid)
        ]

    @property
    def moves(self) -> bool:
        """Whether a wall or a body can be elsewhere in another frame."""
        return bool(self.bodies) or any(w.motion is not None for w in self.walls)

    @cached_property
    def wall_meshes(self) -> list[TriangleMesh]:
        """Surfaces of the walls at time 0, seen from where liquid can be."""
        d, size = self.dimension, np.array(self.grid.size)
        out = []
        for wall in self.walls:
            low, high = wall.shape.bounds(d)
            low, high = np.maximum(low, -size), np.minimum(high, 2 * size)
            if not np.isfinite([low, high]).all() or wall.container:
                low, high = np.maximum(low, 0 * size), np.minimum(high, size)
            # a container is the complement; its mesh closes at the box
            mesh = of_shape(wall.shape, low, high, max(0.5 * self.grid.dx, float(max(high - low)) / FINEST))
            out.append(mesh.with_(faces=mesh.faces[:, ::-1].copy()) if wall.container and d == 3 else mesh)
        return out

    @cached_property
    def bodies(self) -> list[RunBody]:
        """The rigid bodies, in the order of the scene."""
        table = self.run.path / "bodies.json"
        if not self.scene.model.bodies or not table.is_file():
            return []
        try:
            entries = json.loads(table.read_text(encoding="utf-8"))
            return [self._body(e, build(b.shape, self.scene.folder)) for b, e in zip(self.scene.model.bodies, entries)]
        except NonstickError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise NonstickError(f"{table} is damaged: {error!r}") from None

    def _body(self, entry: dict, shape: Shape) -> RunBody:
        """A body from its entry of bodies.json; a run without scikit-image wrote no surface, so it is made here."""
        centre = np.array(entry["centre"], float).reshape(self.dimension)
        if entry["surface"] is not None:
            return RunBody(str(entry["name"]), shape, read_obj(self._inside(entry["surface"])), centre)
        low, high = shape.bounds(self.dimension)
        mesh = of_shape(shape, low, high, float(max(high - low)) / FINEST)
        about = np.pad(centre, (0, 3 - self.dimension)).astype(np.float32)
        return RunBody(str(entry["name"]), shape, mesh.with_(vertices=mesh.vertices - about), centre)

    def _inside(self, name: str) -> Path:
        """A file of the run that another file names."""
        path = self.run.path / name
        if not path.resolve().is_relative_to(self.run.path.resolve()):
            raise NonstickError(f"{self.run.path / 'bodies.json'} names the file {brief(name)} outside of the run")
        return path

    def body_placements(self, frame: Frame) -> list[Placement]:
        """Where the bodies are in a frame."""
        centre, turn = frame.get("body_centre"), frame.get("body_orientation")
        if centre is None or turn is None:
            return []
        return [
            Placement(rotation.matrix(np.atleast_1d(q)), b.origin, c - b.origin)
            for b, c, q in zip(self.bodies, centre, turn)
        ]

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
                moved = _between(moved, a / self.grid.dx, axis)
            np.minimum(out, self._sharpened(moved, axes, frame.time), out=out)
        self._put_bodies(out, axes, frame)
        return out

    def _sharpened(self, moved: np.ndarray, axes: list[np.ndarray], time: float) -> np.ndarray:
        """The frame's distance to walls, near those that move replaced by the exact one, which has sharp edges.

        Meshes are left as they are: their distance takes long to compute.
        """
        moving = [w for w in self.walls if w.motion is not None]
        if any(w.shape.triangles() is not None for w in moving):
            return moved
        near = np.abs(moved) < 2 * self.grid.dx
        x = [a[k] for a, k in zip(axes, np.nonzero(near))]
        exact = [w.placement(time, self.dimension).pose(w.shape)(*x) * (-1 if w.container else 1) for w in moving]
        moved[near] = np.minimum.reduce(exact)
        return moved

    def inner_walls(self, frame: Frame) -> np.ndarray:
        """Distance to walls and bodies, in cells, at the nodes of the grid; the sides of the domain are left out."""
        moved = frame.get("phi_solid")
        if moved is None:
            if self._nodes is None:
                self._nodes = np.full(self.grid.node_shape, FAR * self.grid.dx, np.float32)
                for wall in self.walls:
                    shape = Complement(wall.shape) if wall.container else wall.shape
                    np.minimum(self._nodes, shape.sample(self.grid.nodes(), np.float32), out=self._nodes)
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
        for body, place in zip(self.bodies, self.body_placements(frame)):
            reach = float(np.linalg.norm(body.mesh.vertices, axis=1).max(initial=0.0)) + 3 * self.grid.dx
            where = tuple(
                slice(*np.searchsorted(a, (c - reach, c + reach))) for a, c in zip(axes, place.about + place.offset)
            )
            near = np.meshgrid(*(a[s] for a, s in zip(axes, where)), indexing="ij", sparse=True)
            if all(n.size for n in near):
                out[where] = np.minimum(out[where], np.asarray(place.pose(body.shape)(*near), np.float32))

    def _still_walls(self, points, refine: int, pad: int) -> np.ndarray:
        key = 1000 * refine + pad
        if key not in self._still:
            size = np.array(self.scene.model.domain.size, float)
            # the sides of the domain are walls too
            out = -Box((0.0,) * self.dimension, tuple(size)).sample(points, np.float32)
            for wall in self.walls:
                if wall.motion is None:
                    shape = Complement(wall.shape) if wall.container else wall.shape
                    np.minimum(out, shape.sample(points, np.float32), out=out)
            self._still = {key: out}
        return self._still[key]


def _between(values: np.ndarray, at: np.ndarray, axis: int) -> np.ndarray:
    """Values at fractional indices along one axis, linear between samples."""
    at = np.clip(at, 0, values.shape[axis] - 1)
    low = np.minimum(at.astype(int), values.shape[axis] - 2)
    t = (at - low).astype(np.float32).reshape([-1 if a == axis else 1 for a in range(values.ndim)])
    return np.take(values, low, axis) * (1 - t) + np.take(values, low + 1, axis) * t
