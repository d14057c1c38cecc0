"""What all formats share: options, a frame with its mesh, and the interface of a format.

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

from ...core.guarded import remove
from ...core.palette import WATER, ramp
from ...errors import NonstickError
from ...scenes.scene import Scene
from ..atomic import replacing
from .frame import Frame
from .mesh import TriangleMesh
from .shot import Shot
from .surface import KINDS, Kind, liquid_mesh, usable


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
