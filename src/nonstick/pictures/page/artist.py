"""What is drawn of one frame: the surface as a small glTF file, particles, and the positions of moving objects.

So that a browser can hold many frames, triangles are merged where the surface is flat by quadric error metrics
(Garland, Heckbert: *Surface Simplification Using Quadric Error Metrics*, 1997; the package fast-simplification does
it), and particles are chosen by their numbers, so that the same ones are shown in every frame.

Colours can show speed, pressure, viscosity and age of the liquid, where a frame holds them; and their legend.

Scales follow from the scene alone, so that a colour means the same in every frame.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from ...core.show import RAMP, WATER, ramp
from ...errors import NonstickError
from ...files.arrays import ArrayFile
from ...files.formats import Frame, Shot, TriangleMesh, liquid_mesh
from ...files.formats.frame import at_points, in_space, on_cells
from ...files.formats.glb import pack, quaternion
from ...files.formats.shot import RunSolid
from ...files.formats.surface import samples_of_pictures, usable

#: choices of the page; `liquid` is the liquid's own colour
COLOURS = ("liquid", "speed", "pressure", "viscosity", "age")
#: values that differ by more than this factor are shown by their logarithms
WIDE = 30.0


@dataclass(frozen=True)
class Scale:
    """The values at both ends of the colours.

    >>> Scale("speed", "m/s", 0.0, 4.0).part(np.array([1.0]))
    array([0.25])
    >>> Scale("viscosity", "Pa s", 1.0, 100.0).part(np.array([10.0]))
    array([0.5])
    """

    name: str
    unit: str
    low: float
    high: float

    def part(self, values: np.ndarray) -> np.ndarray:
        """Where values lie between the ends, 0 … 1."""
        low, high = self.low, self.high
        if low > 0.0 and high > WIDE * low:
            return np.log(np.maximum(values, low) / low) / np.log(high / low)
        return (values - low) / max(high - low, 1e-12)


def scales(shot: Shot, frame: Frame) -> dict[str, Scale]:
    """The scales of what a frame holds."""
    model = shot.scene.model
    out = {}
    if frame.count and frame.get("velocity") is not None:
        out["speed"] = Scale("speed", "m/s", 0.0, shot.top_speed)
    if frame.get("pressure") is not None:
        # the pressure that stops the fastest liquid, which is that of the weight of a full domain
        out["pressure"] = Scale("pressure", "Pa", 0.0, 0.5 * model.physics.density * shot.top_speed**2)
    if frame.get("viscosity") is not None:
        given = _viscosities(model)
        out["viscosity"] = Scale("viscosity", "Pa s", min(given), max(given))
    if frame.get("id") is not None and frame.get("born") is not None:
        out["age"] = Scale("age", "s", 0.0, model.time.frames / model.time.fps)
    return out


def _viscosities(model) -> list[float]:
    out = [] if any(s.viscosity is None for s in (*model.liquid, *model.inflow)) is False else [model.physics.viscosity]
    for given in (s.viscosity for s in (*model.liquid, *model.inflow)):
        if given is not None:
            out += given.values if hasattr(given, "values") else [given]
    return out


class Births:
    """When particles were made: the time of the first frame that counts more of them than a particle's number."""

    def __init__(self, shot: Shot):
        self.shot = shot
        self._known: dict[int, tuple[float, int]] = {}

    def times(self, frame: Frame) -> np.ndarray:
        """For every particle of a frame, in seconds; the first frames count as zero."""
        before = [n for n in self.shot.frames if n <= frame.number]
        for number in before:
            if number not in self._known:
                self._known[number] = self._read(number)
        time, born = np.array([self._known[n] for n in before]).T
        # frames that were made again may count fewer; a count never falls
        place = np.searchsorted(np.maximum.accumulate(born), frame.ids, side="right")
        return np.concatenate([[0.0], time[1:], time[-1:]])[np.minimum(place, len(time))]

    def _read(self, number: int) -> tuple[float, int]:
        with ArrayFile(self.shot.run.frames_path / f"{number:06d}.npz") as file:
            return float(file["time"]), int(file["born"]) if "born" in file else 0


class Colours:
    """Colours of vertices and particles by one of the choices."""

    def __init__(self, shot: Shot, choice: str = "liquid"):
        if choice not in COLOURS:
            raise NonstickError(f"--colour is one of {', '.join(COLOURS)}, not {choice!r}")
        self.shot, self.choice = shot, choice
        self._births = Births(shot)

    @property
    def plain(self) -> np.ndarray:
        """The liquid's own colour."""
        return np.asarray(self.shot.scene.model.camera.tint or WATER, float)

    def scale(self, frame: Frame) -> Scale | None:
        """The scale of the colours; None if the liquid has its own colour, also where a frame lacks the choice."""
        return scales(self.shot, frame).get(self.choice)

    def of_particles(self, frame: Frame, chosen: np.ndarray) -> np.ndarray:
        """Red, green and blue (uint8) of the chosen particles."""
        scale = self.scale(frame)
        if scale is None:
            return np.broadcast_to(_bytes(self.plain), (int(chosen.sum()), 3))
        if self.choice == "pressure":
            place = frame.arrays["position"][chosen]
            return _bytes(ramp(scale.part(_on_points(frame, frame.arrays["pressure"], place))))
        return _bytes(ramp(scale.part(self._values(frame)[chosen])))

    def of_vertices(self, frame: Frame, vertices: np.ndarray) -> np.ndarray:
        """Red, green and blue (uint8) of vertices (n, 3) of the surface."""
        scale = self.scale(frame)
        if scale is None:
            return np.broadcast_to(_bytes(self.plain), (len(vertices), 3))
        place = vertices[:, : frame.dimension]
        if self.choice == "speed":
            values = np.linalg.norm(at_points(frame.cell_velocity, place, frame.dx), axis=1)
        elif self.choice == "pressure":
            values = _on_points(frame, frame.arrays["pressure"], place)
        else:
            cells = on_cells(frame.arrays["position"], self._values(frame)[:, None], frame.grid.shape, frame.dx)
            values = at_points(cells, place, frame.dx)[:, 0]
        return _bytes(ramp(scale.part(values)))

    def _values(self, frame: Frame) -> np.ndarray:
        """The choice for every particle."""
        if self.choice == "speed":
            return np.linalg.norm(frame.arrays["velocity"], axis=1)
        if self.choice == "viscosity":
            return frame.arrays["viscosity"]
        return frame.time - self._births.times(frame)


def _on_points(frame: Frame, cells: np.ndarray, points: np.ndarray) -> np.ndarray:
    return at_points(np.asarray(cells, np.float32)[None], np.ascontiguousarray(points, np.float32), frame.dx)[:, 0]


def _bytes(colour: np.ndarray | Sequence[float]) -> np.ndarray:
    return (255 * np.clip(colour, 0, 1) + 0.5).astype(np.uint8)


def legend(scale: Scale | None) -> str:
    """A bar of colours with the values at its ends; nothing if the liquid has its own colour.

    >>> "4 m/s" in legend(Scale("speed", "m/s", 0.0, 4.0))
    True
    """
    if scale is None:
        return ""
    colours = ", ".join("rgb({:.0f}, {:.0f}, {:.0f})".format(*(255 * c)) for c in RAMP)
    kind = ", logarithmic" if scale.low > 0.0 and scale.high > WIDE * scale.low else ""
    return (
        f'<div style="font: 0.8em sans-serif; padding: 0.2em 0.6em; min-width: 14em">{escape(scale.name)}{kind}'
        f'<div style="height: 0.7em; border-radius: 2px; background: linear-gradient(to right, {colours})"></div>'
        f'<span style="float: left">{scale.low:.3g}</span>'
        f'<span style="float: right">{scale.high:.3g} {escape(scale.unit)}</span><br></div>'
    )


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
