"""What is drawn of one frame: the surface as a small glTF file, particles, and the positions of moving objects.

So that a browser can hold many frames, triangles are merged where the surface is flat by quadric error metrics
(Garland, Heckbert: *Surface Simplification Using Quadric Error Metrics*, 1997; the package fast-simplification does
it), and particles are chosen by their numbers, so that the same ones are shown in every frame.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...files.formats import Frame, Shot, TriangleMesh, liquid_mesh
from ...files.formats.frame import in_space
from ...files.formats.glb import pack, quaternion
from ...files.formats.shot import RunSolid
from ...files.formats.surface import samples_of_pictures, usable
from .colours import Colours, Scale

#: meshes of frames that are kept to be painted again in other colours
KEPT = 64


@dataclass(frozen=True)
class Limits:
    """The most triangles and particles of a frame."""

    triangles: int = 60_000
    particles: int = 40_000


@dataclass(frozen=True)
class MeshPlace:
    """Where the mesh of a solid that moves is: rotation w x y z, and offset."""

    wxyz: tuple[float, ...]
    position: tuple[float, ...]

    @classmethod
    def of(cls, four: np.ndarray) -> MeshPlace:
        """From a 4 × 4 matrix."""
        x, y, z, w = quaternion(four[:3, :3])
        return cls((w, x, y, z), tuple(float(v) for v in four[:3, 3]))


@dataclass(frozen=True)
class Picture:
    """One frame, ready for the page."""

    number: int
    time: float
    surface: bytes
    points: np.ndarray
    paint: np.ndarray
    #: of the solids that move, by their number
    places: dict[int, MeshPlace]
    scale: Scale | None
    #: triangles and particles before and after thinning
    triangles: tuple[int, int] = (0, 0)
    particles: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        """Bytes that the browser gets."""
        return len(self.surface) + self.points.size * 2 + self.paint.size


class Artist:
    """Draws the frames of a run within limits.

    Parameters
    ----------
    shot : Shot
        The run.
    limits : Limits, optional
        The most triangles and particles of a frame.
    colour : str
        What colours show: "liquid", "speed", "pressure", "viscosity" or "age".
    """

    def __init__(self, shot: Shot, limits: Limits | None = None, colour: str = "liquid"):
        self.shot, self.limits = shot, limits or Limits()
        self.colours = Colours(shot, colour)
        self._meshes: OrderedDict[int, tuple[TriangleMesh, int]] = OrderedDict()

    def paint(self, colour: str) -> None:
        """From now on colours show something else."""
        self.colours = Colours(self.shot, colour)

    def limit(self, limits: Limits) -> None:
        """From now on frames have fewer triangles and particles."""
        self.limits = limits
        for number, (mesh, full) in self._meshes.items():
            self._meshes[number] = thin_mesh(mesh, limits.triangles), full

    def forget(self, number: int) -> None:
        """A frame was made again."""
        self._meshes.pop(number, None)

    @property
    def centre(self) -> np.ndarray:
        """The middle of the domain."""
        return in_space(0.5 * np.array(self.shot.grid.size, float))

    def picture(self, number: int) -> Picture:
        """Read and draw a frame."""
        shot = self.shot
        frame = shot.frame(number)
        mesh, full = self._surface(frame)
        colour = self.colours.of_vertices(frame, mesh.vertices)
        chosen = thin_particles(frame.ids, self.limits.particles)
        points = np.zeros((0, 3), np.float32)
        if frame.count:
            points = (in_space(frame.arrays["position"][chosen]) - self.centre).astype(np.float32)
        return Picture(
            number,
            frame.time,
            pack("surface", mesh.with_(colour=colour), 0.35) if len(mesh.faces) else b"",
            points,
            self.colours.of_particles(frame, chosen) if frame.count else np.zeros((0, 3), np.uint8),
            {k: MeshPlace.of(solid.place(frame)) for k, solid in enumerate(shot.solids) if solid.moves},
            self.colours.scale(frame),
            (full, len(mesh.faces)),
            (frame.count, len(points)),
        )

    def _surface(self, frame: Frame) -> tuple[TriangleMesh, int]:
        """The thinned surface, and how many triangles it had."""
        if frame.number not in self._meshes:
            if frame.get("phi") is None and usable(self.shot, frame, "particles") == "grid":
                return TriangleMesh.empty(), 0  # output.surface = false
            mesh = liquid_mesh(self.shot, frame, "particles", samples_of_pictures(frame.grid))
            self._meshes[frame.number] = thin_mesh(mesh, self.limits.triangles), len(mesh.faces)
            while len(self._meshes) > KEPT:
                self._meshes.popitem(last=False)
        return self._meshes[frame.number]

    def solids(self) -> Iterator[tuple[int, RunSolid, TriangleMesh]]:
        """Walls and bodies that have a surface: the number, the solid, and its mesh."""
        for k, solid in enumerate(self.shot.solids):
            if len(solid.mesh.faces):
                yield k, solid, thin_mesh(solid.mesh, self.limits.triangles // (2 if solid.body is None else 4))


#: multiplier of a hash by multiplication (Knuth, The Art of Computer Programming, 6.4)
_KNUTH = 2654435761


def thin_mesh(mesh: TriangleMesh, most: int) -> TriangleMesh:
    """The surface with at most about `most` triangles; colours and velocities are left out if any are merged.

    >>> mesh = TriangleMesh(np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], np.int32))
    >>> thin_mesh(mesh, 100) is mesh
    True
    """
    if len(mesh.faces) <= most:
        return mesh
    import fast_simplification

    points, faces = fast_simplification.simplify(
        mesh.vertices.astype(np.float32), mesh.faces.astype(np.int32), target_count=max(most, 4), agg=5
    )
    return TriangleMesh(np.asarray(points, np.float32), np.asarray(faces, np.int32))


def thin_particles(ids: np.ndarray, most: int) -> np.ndarray:
    """Which particles to show, at most about `most`: those whose scrambled number is small.

    >>> int(thin_particles(np.arange(1000), 100).sum())
    100
    """
    if len(ids) <= most:
        return np.ones(len(ids), bool)
    scrambled = ids.astype(np.uint64) * np.uint64(_KNUTH) % np.uint64(2**32)
    return scrambled < np.uint64(2**32 * most // len(ids))
