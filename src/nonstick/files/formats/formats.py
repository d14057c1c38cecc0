"""The formats by name: what each writes for a frame, and once all frames are there.

What all formats share: options, a frame with its mesh, and the interface of a format.

A format has `file(folder, name, number)`, the last file it writes for a frame, whose presence means that the frame is
done, and `write`; `finish` writes what belongs to all frames together. All files appear whole or not at all.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ...core import optional
from ...core.guarded import remove
from ...core.show import WATER, ramp
from ...errors import NonstickError
from ...grid.box import IndexBox
from ...grid.faces import lower, upper
from ...scenes.scene import Scene
from ..atomic import replacing, write_text
from . import glb, obj, ply, usd, vdb, vtk
from .frame import LAYERS, Frame, in_space, on_faces
from .mesh import TriangleMesh
from .shot import Shot
from .surface import KINDS, Kind, level_set, liquid_mesh, usable


@dataclass(frozen=True)
class Options:
    """What can be chosen for an export.

    Parameters
    ----------
    surface : str, optional
        "grid", "particles" or "splashsurf"; default: grid for vdb, particles for meshes.
    refine : int, optional
        Samples of the surface a cell along each axis; default: 2 from particles, 1 from the grid.
    density : bool
        Write a fog volume `density` into vdb files.
    staggered : bool
        Put the velocity of vdb files on faces and tag it so, instead of on cell centres.
    particles : bool
        Write particles into usd and vtk files.
    points : bool
        Write particles with their ids into ply files of their own, beside those of the mesh.
    """

    surface: Kind | None = None
    refine: int | None = None
    density: bool = False
    staggered: bool = False
    particles: bool = True
    points: bool = False

    def __post_init__(self) -> None:
        if self.surface is not None and self.surface not in KINDS:
            raise NonstickError(f"surface is one of {', '.join(KINDS)}, not {self.surface!r}")
        if self.refine is not None and not 1 <= self.refine <= 8:
            raise NonstickError(f"refine is a number from 1 to 8, not {self.refine}")


class Still:
    """One frame for all formats: it is read, and its mesh is made, once, when a format asks for them."""

    def __init__(self, shot: Shot, number: int, options: Options, arrays: Mapping[str, np.ndarray] | None = None):
        self.shot, self.number, self.options, self._arrays = shot, number, options, arrays

    @cached_property
    def frame(self) -> Frame:
        return self.shot.frame(self.number, self._arrays)

    def take(self, stored: Callable[[], TriangleMesh | None]) -> None:
        """Use a mesh that an earlier export has stored, unless the mesh is made already."""
        if "mesh" not in self.__dict__ and (mesh := stored()) is not None:
            self.mesh = mesh.with_(colour=_colour(self.shot, mesh))

    def kind(self, default: Kind) -> tuple[Kind, int]:
        kind = usable(self.shot, self.frame, self.options.surface or default)
        return kind, self.options.refine or (1 if kind == "grid" and self.frame.dimension == 3 else 2)

    @cached_property
    def mesh(self) -> TriangleMesh:
        """The liquid."""
        mesh = liquid_mesh(self.shot, self.frame, *self.kind("particles"))
        return mesh.with_(colour=_colour(self.shot, mesh))


def _colour(shot: Shot, mesh: TriangleMesh) -> np.ndarray:
    """Colours of vertices as the preview has them: by speed if the camera says so, else that of the liquid."""
    camera = shot.scene.model.camera
    colour = np.broadcast_to(camera.tint or WATER, (len(mesh.vertices), 3))
    if camera.colour == "speed" and mesh.velocity is not None:
        colour = ramp(np.linalg.norm(mesh.velocity, axis=1) / max(shot.top_speed, 1e-9))
    return (255 * np.clip(colour, 0, 1) + 0.5).astype(np.uint8)


class Format(ABC):
    """How frames become files of one kind."""

    suffix = ""
    #: frames are independent files in the end; otherwise `finish` puts all frames into one
    by_frame = True
    #: files hold 2D runs too
    planar = False
    #: the surface, if none is asked for
    surface: Kind = "particles"

    def check(self, scene: Scene, where: str, options: Options) -> None:
        """Refuse a scene whose frames this format cannot write, or a format whose package is not installed."""
        if scene.dimension == 2 and not self.planar:
            raise NonstickError(f"{where} is 2D, and {self.suffix} files hold 3D only; use vtk, ply or usd for 2D runs")
        output = scene.model.output
        kind = options.surface or self.surface
        level = kind == "grid" or scene.dimension == 2 or scene.model.surface.track == "grid" or options.density
        if not output.surface and (level or not output.particles):
            raise NonstickError(
                f"{where} writes no surface into its frames, and {self.suffix} files need it; set output.surface = true"
            )

    def file(self, folder: Path, name: str, number: int) -> Path:
        """The last file that is written for a frame."""
        return folder / f"{name}_{number:06d}{self.suffix}"

    @abstractmethod
    def write(self, folder: Path, still: Still) -> None:
        """Write the files of one frame."""

    def series(self, folder: Path, shot: Shot) -> list[Path]:
        """Write the files that list the frames there are; returns them."""
        return []

    def finish(
        self,
        folder: Path,
        shot: Shot,
        numbers: Sequence[int],
        still: Callable[[int], Still],
        options: Options,
        overwrite: bool,
    ) -> list[Path]:
        """Write the files about all frames; returns them."""
        return self.series(folder, shot)

    def drop_after(self, folder: Path, shot: Shot, frame: int) -> None:
        """Delete the files of frames after `frame`, and what a killed process left."""
        for file in folder.iterdir():
            number = re.search(r"_(\d{6,7})\.[a-z]+$", file.name)
            if file.is_file() and (file.match(".*.partial*") or (number and int(number[1]) > frame)):
                remove(file)


class OneFile(Format):
    """Formats with one file for every frame."""

    def write(self, folder: Path, still: Still) -> None:
        with replacing(self.file(folder, still.shot.name, still.number)) as partial:
            self.save(partial, still)

    @abstractmethod
    def save(self, path: Path, still: Still) -> None:
        """Write the file of one frame."""


#: cells around those near the surface for which ParaView gets fields: as far as velocity is continued into the air
AROUND = LAYERS


class VDB(OneFile):
    suffix = ".vdb"
    surface: Kind = "grid"

    def save(self, path: Path, still: Still) -> None:
        frame, shot = still.frame, still.shot
        kind, refine = still.kind(self.surface)
        grids = [_surface_grid(shot, frame, kind, refine)]
        if frame.get("velocity") is not None:
            grids.append(_velocity_grid(frame, still.options.staggered))
        if still.options.density:
            share = np.clip(0.5 - frame.level / np.float32(frame.dx), 0.0, 1.0).astype(np.float32)
            grids.append(
                vdb.VDBGrid(
                    "density", share, share > 0, voxel=frame.dx, origin=(0.5 * frame.dx,) * 3, kind="fog volume"
                )
            )
        vdb.write(path, grids, {"time": repr(frame.time), "frame": str(frame.number)})


def _surface_grid(shot: Shot, frame: Frame, kind: Kind, refine: int) -> vdb.VDBGrid:
    """The level set: that of the frame as it is, or one found again from the particles.

    The voxels of the frame keep their values. Beyond the sides of the domain one more layer closes the surface.
    """
    if kind == "splashsurf":
        raise NonstickError("splashsurf makes meshes; a vdb file takes --surface grid or particles")
    if kind == "grid" and refine == 1:
        phi = np.pad(np.asarray(frame.level, np.float32), 1, mode="edge")
        rim = np.ones(phi.shape, bool)
        rim[1:-1, 1:-1, 1:-1] = False
        phi[rim] = np.abs(phi[rim])  # zero at the side itself
        first: tuple[int, ...] = (-1,) * 3
    else:
        phi, first = level_set(shot, frame, kind, refine)
    h = frame.dx / refine
    # φ is known up to some distance from the surface on either side; further away it is constant
    low, high = float(phi.min()), float(phi.max())
    width = float(np.float32(min(max(high, 1e-6 * h), 3 * h)))
    active = (phi < width) & (phi > max(low, -width)) | _beside(phi < 0)
    return vdb.VDBGrid("surface", phi, active, width, phi < 0, h, (0.5 * h,) * 3, first, "level set")


def _beside(inside: np.ndarray) -> np.ndarray:
    """Voxels with a neighbour on the other side of the surface."""
    out = np.zeros(inside.shape, bool)
    for axis in range(inside.ndim):
        change = lower(inside, axis) != upper(inside, axis)
        for side in (lower, upper):
            np.logical_or(side(out, axis), change, out=side(out, axis))
    return out


def _velocity_grid(frame: Frame, staggered: bool) -> vdb.VDBGrid:
    cells = frame.cell_velocity
    values = np.stack(on_faces(cells)) if staggered else cells
    # a staggered grid of OpenVDB has component a of voxel (i, j, k) at its lower face along axis a, as here
    return vdb.VDBGrid(
        "velocity",
        np.moveaxis(values, 0, -1),
        (values != 0).any(axis=0),
        voxel=frame.dx,
        origin=(0.5 * frame.dx,) * 3,
        kind="staggered" if staggered else "",
    )


class PLY(OneFile):
    suffix, planar = ".ply", True

    def write(self, folder: Path, still: Still) -> None:
        shot, frame = still.shot, still.frame
        if still.options.points:
            with replacing(folder / f"{shot.name}_points_{frame.number:06d}.ply") as partial:
                ply.write_points(partial, frame, self._comments(still))
        super().write(folder, still)

    def save(self, path: Path, still: Still) -> None:
        ply.write(path, still.mesh, self._comments(still))

    def _comments(self, still: Still) -> tuple[str, ...]:
        return f"nonstick {still.shot.name}", f"time {still.frame.time!r} s", "metres, y up"


class OBJ(OneFile):
    suffix = ".obj"

    def save(self, path: Path, still: Still) -> None:
        obj.write(path, still.mesh)


class GLB(OneFile):
    suffix = ".glb"

    def save(self, path: Path, still: Still) -> None:
        shot, frame = still.shot, still.frame
        colour = _paint(shot.scene.model.camera.tint or WATER, 0.7)
        parts = [glb.GLBNode("liquid", still.mesh.with_(colour=None), colour, roughness=0.05)]
        glb.write(path, parts + _solid_parts(shot, [frame]))

    def finish(self, folder, shot, numbers, still, options, overwrite) -> list[Path]:
        """Solids and bodies in motion, without the liquid."""
        path = folder / f"{shot.name}_bodies.glb"
        if not shot.moves:
            return []
        frames = [shot.frame(n) for n in numbers]
        with replacing(path) as partial:
            glb.write(partial, _solid_parts(shot, frames), [f.time for f in frames])
        return [path]

    def drop_after(self, folder: Path, shot: Shot, frame: int) -> None:
        super().drop_after(folder, shot, frame)
        remove(folder / f"{shot.name}_bodies.glb")  # `finish` writes it again


def _paint(colour: Sequence[float] | np.ndarray, opacity: float) -> tuple[float, float, float, float]:
    red, green, blue = (float(c) for c in colour)
    return red, green, blue, opacity


def _solid_parts(shot: Shot, frames: Sequence[Frame]) -> list[glb.GLBNode]:
    """Walls and bodies, those that move with their place in every frame."""
    return [
        glb.GLBNode(
            solid.name,
            solid.mesh,
            _paint(solid.colour, 0.25 if solid.container else 1.0),
            [solid.place(frame) for frame in (frames if solid.moves else frames[:1])],
        )
        for solid in shot.solids
    ]


class VTK(Format):
    suffix, planar = ".vtp", True

    def file(self, folder: Path, name: str, number: int) -> Path:
        return folder / f"surface_{number:06d}.vtp"  # written last

    def write(self, folder: Path, still: Still) -> None:
        frame, shot = still.frame, still.shot
        with replacing(folder / f"fields_{frame.number:06d}.vti") as partial:
            vtk.write_image(partial, frame.dx, *_fields(shot, frame))
        if still.options.particles and frame.count:
            data = {n: a for n in ("velocity", "viscosity") if (a := frame.get(n)) is not None}
            if "velocity" in data:
                data["velocity"] = in_space(data["velocity"])
            with replacing(folder / f"particles_{frame.number:06d}.vtp") as partial:
                vtk.write_poly(partial, in_space(frame.arrays["position"]), None, data | {"id": frame.ids}, frame.time)
        path = folder / (f"solids_{frame.number:06d}.vtp" if shot.moves else "solids.vtp")
        if shot.solids and (shot.moves or not path.is_file()):
            points, triangles, part = _solids(shot, frame)
            time = frame.time if shot.moves else 0.0  # the same file, whichever frame is exported first
            with replacing(path) as partial:
                vtk.write_poly(partial, points, triangles, {}, time, {"part": part})
        mesh = still.mesh
        data = {} if mesh.velocity is None else {"velocity": mesh.velocity}
        with replacing(self.file(folder, shot.name, frame.number)) as partial:
            vtk.write_poly(partial, mesh.vertices, mesh.faces, data, frame.time)

    def series(self, folder: Path, shot: Shot) -> list[Path]:
        out = []
        for part in ("surface", "particles", "fields", "solids"):
            still = part == "solids" and (folder / "solids.vtp").is_file()  # one file for all frames
            files = sorted(folder.glob(f"{'surface' if still else part}_[0-9]*.vt[ip]"))  # of earlier exports too
            there = [(int(f.stem.rpartition("_")[2]) / shot.fps, "solids.vtp" if still else f.name) for f in files]
            path = folder / f"{part}.pvd"
            if there:
                write_text(path, vtk.series(there))
                out.append(path)
            else:
                remove(path)
        return out

    def drop_after(self, folder: Path, shot: Shot, frame: int) -> None:
        super().drop_after(folder, shot, frame)
        self.series(folder, shot)


def _fields(shot: Shot, frame: Frame) -> tuple[dict, dict, tuple[int, ...], float, tuple[int, ...]]:
    """Arrays over cells and over nodes in the box around the liquid, its shape, the time, and its first cell.

    Frames in 2D are small, and taken whole.
    """
    level = frame.get("phi") if frame.dimension == 3 else None
    # further than about a cell from the surface φ is constant
    near = np.zeros(frame.grid.shape, bool) if level is None else level < level.max()
    found = (IndexBox.around(near) or IndexBox.whole(near.shape)).grown(AROUND, near.shape)
    box = found.slices
    cells: dict[str, np.ndarray] = {n: frame.arrays[n][box] for n in ("phi", "pressure") if n in frame.arrays}
    if frame.get("velocity") is not None:
        cells["velocity"] = in_space(np.moveaxis(frame.cell_velocity[(slice(None), *box)], 0, -1))
    nodes = {}
    if shot.solids:
        walls = found.part(shot.inner_walls(frame), near.shape)
        nodes["phi_solid"] = walls * np.float32(frame.dx)
    return cells, nodes, found.shape, frame.time, found.low


def _solids(shot: Shot, frame: Frame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, triangles and part numbers of all walls and bodies where a frame has them."""
    pairs = [(solid.mesh, solid.place(frame)) for solid in shot.solids]
    points = [m.vertices @ four[:3, :3].T + four[:3, 3] for m, four in pairs]
    first = np.cumsum([0] + [len(p) for p in points])
    faces = [m.faces + n for (m, _), n in zip(pairs, first)]
    part = np.repeat(np.arange(len(pairs), dtype=np.int32), [len(f) for f in faces])
    return np.concatenate(points).astype(np.float32), np.concatenate(faces).astype(np.int32), part


class USD(Format):
    """One file for all frames. While a run goes on there is one for each frame; `finish` makes one of them."""

    suffix, planar, by_frame = ".usdc", True, False

    def check(self, scene: Scene, where: str, options: Options) -> None:
        usd.require()
        super().check(scene, where, options)

    def write(self, folder: Path, still: Still) -> None:
        shot, number = still.shot, still.number
        with replacing(self.file(folder, shot.name, number)) as partial:
            usd.write(partial, shot, [number], lambda _: (still.frame, still.mesh), still.options.particles)

    def finish(self, folder, shot, numbers, still, options, overwrite) -> list[Path]:
        path = folder / f"{shot.name}{self.suffix}"
        parts = {number: self.file(folder, shot.name, number) for number in numbers}
        if overwrite or not (path.is_file() and usd.frames(path) == list(numbers)):

            def pair(number: int) -> tuple[Frame, TriangleMesh]:
                one = still(number)
                if not overwrite:
                    part = parts[number]
                    one.take(lambda: usd.mesh_of(part if part.is_file() else path, number))
                return one.frame, one.mesh

            with replacing(path) as partial:
                usd.write(partial, shot, numbers, pair, options.particles)
        for part in parts.values():
            remove(part)
        return [path]

    def drop_after(self, folder: Path, shot: Shot, frame: int) -> None:
        super().drop_after(folder, shot, frame)
        path = folder / f"{shot.name}{self.suffix}"
        if path.is_file() and (optional.missing("usd", "pxr") or max(usd.frames(path), default=0) > frame):
            remove(path)


FORMATS: Mapping[str, Format] = {"vdb": VDB(), "usd": USD(), "vtk": VTK(), "ply": PLY(), "obj": OBJ(), "glb": GLB()}


def checked(scene: Scene, names: Sequence[str], where: str, options: Options | None = None) -> dict[str, Format]:
    """The formats of these names, if they can hold the frames of a scene."""
    for name in names:
        if name not in FORMATS:
            raise NonstickError(f"there is no format {name!r}; use one of {', '.join(FORMATS)}")
        FORMATS[name].check(scene, where, options or Options())
    return {name: FORMATS[name] for name in names}
