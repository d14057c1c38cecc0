"""Pictures of liquid runs: all frames for the movie, six of them for the picture; their cameras and colours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.columns import FRAME, check_array
from ...core.show import AIR
from ...errors import NonstickError
from ...files.formats.shot import Shot, between_samples
from ...files.formats.surface import continued, samples_of_pictures, usable
from ...files.rundir import RunDirectory, damaged
from ...grid.mac import Grid
from ...grid.shapes import Shape
from ...pictures.render.movie import beside, colour_bar, label
from ...pictures.render.plane import Paint, on_cells, values
from ...pictures.render.plane import draw as draw_plane
from ...pictures.render.scenery import FINE, Scenery
from ...pictures.render.space import FAST, SKY, THICK, WATER, Studio, Style, Viewpoint
from ...scenes.scene import Scene
from ...scenes.schema import Ramp
from ...scenes.tables import Camera, CameraKeys, rgb
from ..run.preview import Film, Frames
from .solids.bodies import make
from .solids.solid import joined, solids_of

#: frames in the picture
STILLS = 6
#: arrays of a frame that a picture in space with one colour of liquid needs
PLAIN = ("phi", "phi_solid", "position", "time", "volume", "body_centre", "body_orientation")
UNITS = {"speed": "m/s", "pressure": "Pa"}


class Painter:
    """Paints the frames of one run."""

    def __init__(self, path: str | Path, camera: Camera | None = None):
        self.run = RunDirectory.open(path)
        self.scene = self.run.scene()
        self.camera = camera or self.scene.model.camera
        self.frames = self.run.frames()
        if not self.frames:
            raise NonstickError(f"{path} has no frames yet; run it first")
        self._walls = solids_of(self.scene)  # without bodies, which frames place by their transforms
        grid = Grid(self.scene.shape, self.scene.dx)
        self._solids = joined((solid.distance(grid, 0.0) for solid in self._walls), grid)
        self._bodies = make(self.scene)
        self.tints = Tints(self.scene.replace({"camera.tint": self.camera.tint}) if self.camera.tint else self.scene)
        self._background = None if self.camera.background is None else rgb(self.camera.background)
        self.scale = self._scale()
        if self.scene.dimension == 3:
            self._shot = Shot(path)
            tracked = self.camera.surface == "grid" or self.scene.model.surface.track == "grid"
            #: pictures are drawn in cells so many times as fine as the grid's, and of this size
            self._times = 1 if tracked else samples_of_pictures(grid)
            self.dx = self.scene.dx / self._times
            driven = any(solid.motion is not None for solid in self._walls)
            self._scenery = None if driven else self._set_up(FINE // self._times, 0.0)
            back = SKY if self._background is None else self._background
            style = Style(self.tints.main, self.camera.clear, self.camera.light, back)
            self._studio = Studio(self.camera.width, self.camera.height, style, self._find_room())

    def _set_up(self, fine: int, time: float) -> Scenery:
        """The solids at their positions at a time."""
        solids = [(solid.placed(time), solid.container) for solid in self._walls]
        shape = tuple(self._times * n for n in self.scene.shape)
        return Scenery.of_shapes(solids, shape, self.dx, fine)

    def _read(self, frame: int) -> dict[str, np.ndarray]:
        """The arrays of a frame, after a look at them: a file may be damaged."""
        plain = self.scene.dimension == 3 and self.camera.colour == "liquid" and not self.tints.several
        data = self.run.read_frame(frame, PLAIN if plain else None)
        count, bodies = len(np.atleast_1d(data.get("position", ()))), len(self._bodies)
        needed = ["phi_solid"] if any(s.motion is not None for s in self.scene.model.solid) else []
        needed += ["body_centre", "body_orientation"] if bodies else []
        try:
            for name, column in FRAME.items():
                if column.where != "scalar" and (name in data or name in needed):
                    check_array(name, data, column.shape(self.scene.shape, count, bodies), column.dtype)
        except NonstickError as error:
            raise damaged(self.run.frame_file(frame), str(error)) from None
        return data

    def _find_room(self) -> np.ndarray:
        """Points, in cells, around the space that liquid can fill during the run: the camera shows all of them."""
        frames = self.frames[:: max(1, len(self.frames) // 8)]
        moving = any(s.motion is not None for s in self.scene.model.solid)
        solids = [self._read(k)["phi_solid"] for k in frames] if moving else [self._solids]
        free = np.any([phi > 0.0 for phi in solids], axis=0)
        first, last = free.copy(), free.copy()
        first[1:] &= ~free[:-1]
        last[:-1] &= ~free[1:]
        rim = np.argwhere(first | last)
        return self._times * (rim if len(rim) else np.array([np.zeros(3), self.scene.shape]))

    @property
    def title(self) -> str:
        words = {"none": "sticky walls", "cut": "separating walls", "solid": "separating walls (solid cells)",
                 "edge": "separating walls (edges)", "all": "splashy"}  # fmt: skip
        model = self.scene.model
        return f"{model.walls.viscous} walls" if model.physics.viscosity > 0.0 else words[model.walls.pressure]

    def _scale(self) -> float | None:
        """One colour scale for the whole movie, from a few frames."""
        if self.camera.colour == "liquid":
            return None
        if self.camera.colour == "pressure" and self.scene.dimension == 3:
            raise NonstickError("camera.colour: 3D frames hold no pressure; use liquid, speed or viscosity")
        top = 0.0
        for frame in self.frames[:: max(1, len(self.frames) // 8)]:
            data = self._read(frame)
            if self.camera.colour == "speed" and len(data.get("velocity", ())):
                top = max(top, float(np.quantile(np.linalg.norm(data["velocity"], axis=1), 0.98)))
            elif self.camera.colour == "pressure" and "pressure" in data:
                top = max(top, float(np.quantile(data["pressure"], 0.995)))
        return top or None

    def _placed(self, data: dict[str, np.ndarray]) -> list[Shape]:
        """The bodies at their positions in a frame."""
        if "body_centre" not in data:
            return []
        for body, centre, orientation in zip(self._bodies, data["body_centre"], data["body_orientation"]):
            body.centre, body.orientation = centre, orientation
        return [body.placed() for body in self._bodies]

    def paint(self, frame: int, view: Viewpoint | None = None) -> np.ndarray:
        """The image of a frame, as the camera of the scene sees it, or from another viewpoint."""
        data = self._read(frame)
        bodies, camera, scene = self._placed(data), self.camera, self.scene
        if scene.dimension == 2:
            tint = None if tuple(self.tints.main) == FLAT_WATER else self.tints.main
            air = AIR if self._background is None else self._background
            paint = Paint(camera.colour, self.scale, tint, self.tints.over_cells(data), air)
            solids, size = data.get("phi_solid", self._solids), (camera.width, camera.height)
            image = draw_plane(data, solids, scene.dx, size, paint, bodies)
            return self._with_bar(image)
        seen = self._shot.frame(frame, data)
        kind = usable(self._shot, seen, camera.surface)
        if kind == "grid" and "phi" not in data:
            raise NonstickError("the frames have no surface to render: run the scene again with output.surface = true")
        ends = np.array([self.tints.main, FAST])
        if camera.colour == "viscosity":
            ends = np.array([camera.tint or WATER, THICK])
        if camera.colour == "liquid":
            dye = self.tints.over_cells(data)
        else:
            share = np.clip(values(data, camera.colour, scene.shape, scene.dx, self.scale), 0.0, 1.0)[..., None]
            dye = ends[0] + share * (ends[1] - ends[0])
        scenery = self._scenery
        if scenery is None:
            scenery = self._set_up(1, frame / scene.model.time.fps)
        # The sides of the domain are not part of the solids; the ray marcher treats them as walls.
        view = view or viewpoint(camera, self.dx, 0.0, 0.0)
        for axis in range(0 if dye is None else 3):
            at = (np.arange(self._times * scene.shape[axis]) + 0.5) / self._times - 0.5
            dye = between_samples(np.asarray(dye, np.float32), at, axis)
        phi = continued(self._shot, seen, kind, self._times)
        image = self._studio.draw(phi, scenery, self.dx, view, dye, bodies)
        return self._with_bar(image, ends[0] + np.linspace(0.0, 1.0, 64)[:, None] * (ends[1] - ends[0]))

    def _with_bar(self, image: np.ndarray, colours: np.ndarray | None = None) -> np.ndarray:
        colour = self.camera.colour
        if colour not in UNITS or self.scale is None:
            return image
        return colour_bar(image, f"{colour} ({UNITS[colour]})", "0", f"{self.scale:.3g}", colours)


class LiquidFilm(Film):
    """The frames of one run, or of two side by side."""

    def __init__(
        self, path: str | Path, compare: str | Path | None = None, camera: Camera | None = None, frames: Frames = None
    ):
        self.painters = [Painter(p, camera) for p in (path, compare) if p is not None]
        there = sorted(set.intersection(*(set(p.frames) for p in self.painters)))
        if not there:
            raise NonstickError(f"{path} and {compare} have no frame in common")
        #: the frame of each image; a turn around one frame shows it many times
        self.frames = self.chosen(there, frames)
        self.count = len(self.frames)
        self._shares = [k / self.count for k in range(self.count)]
        self.alone = compare is None
        self.across = 3 if self.alone else 2
        self.stills: Sequence[int] = sorted({round(k * (self.count - 1) / (STILLS - 1)) for k in range(STILLS)})
        self.fps = self.painters[0].camera.fps or min(30.0, self.painters[0].scene.model.time.fps)

    def only_stills(self) -> None:
        self._shares = [self._shares[k] for k in self.stills]
        self.frames = [self.frames[k] for k in self.stills]
        self.count, self.stills = len(self.frames), range(len(self.frames))

    def images(self) -> Iterator[np.ndarray]:
        camera, scene = self.painters[0].camera, self.painters[0].scene
        for frame, share in zip(self.frames, self._shares):
            time = frame / scene.model.time.fps
            parts = [
                p.paint(frame, viewpoint(camera, p.dx, time, share) if scene.dimension == 3 else None)
                for p in self.painters
            ]
            if not camera.labels:
                yield beside(parts)
                continue
            parts = [label(i, p.scene.name if self.alone else p.title) for i, p in zip(parts, self.painters)]
            yield label(beside(parts), f"{time:.2f} s", "bottom")


def viewpoint(camera: Camera, dx: float, time: float, share: float) -> Viewpoint:
    """Where the camera is at a time in seconds, which is a share (0..1) of the movie; `dx` turns metres into cells.

    >>> viewpoint(Camera(turntable=360.0), 0.1, 0.0, 0.25).azimuth
    120.0
    """
    at: dict[str, Any] = {name: getattr(camera, name) for name in ("azimuth", "elevation", "zoom", "lens", "target")}
    if camera.keys is not None:
        at |= _between(camera.keys, time)
    if at["target"] is not None:
        at["target"] = tuple(float(x) / dx for x in at["target"])
    at["azimuth"] += share * camera.turntable
    return Viewpoint(**at)


def _between(keys: CameraKeys, time: float) -> dict[str, Any]:
    """The values of key frames at a time."""
    from scipy.interpolate import PchipInterpolator

    out: dict[str, Any] = {}
    now = min(max(time, keys.times[0]), keys.times[-1])
    for name in ("azimuth", "elevation", "zoom", "lens", "target"):
        values = getattr(keys, name)
        if values is None:
            continue
        table = np.array(values, float)
        if keys.smooth:
            found = PchipInterpolator(keys.times, table)(now)
        else:
            found = np.array([np.interp(now, keys.times, column) for column in np.atleast_2d(table.T)])
            found = found if table.ndim > 1 else found[0]
        out[name] = tuple(found.tolist()) if table.ndim > 1 else float(found)
    return out


#: (least viscosity in Pa s, colour) of liquids without a colour of their own
BY_VISCOSITY = (
    (0.0, (0.05, 0.33, 0.56)),
    (0.03, (0.72, 0.58, 0.13)),
    (1.0, (0.93, 0.58, 0.08)),
    (1e4, (0.17, 0.12, 0.10)),
)
#: the same in 2D, where liquid is drawn flat; None is the blue of the palette
FLAT_WATER = (0.16, 0.47, 0.78)


class Tints:
    """One colour for each liquid and inflow of a scene, and from these the colours over cells."""

    def __init__(self, scene: Scene):
        self.scene = scene
        model = scene.model
        every = model.camera.tint
        self.colours = np.array([every or self._of(source) for source in model.sources] or [every or self._of(None)])
        #: colour of the first liquid
        self.main = self.colours[0]
        self.several = bool((self.colours != self.main).any())

    def _of(self, source) -> tuple[float, ...]:
        """The colour of a liquid or inflow."""
        if source is not None and source.colour is not None:
            return rgb(source.colour)
        mu = self.scene.model.physics.viscosity if source is None or source.viscosity is None else source.viscosity
        value = max(mu.values) if isinstance(mu, Ramp) else mu
        found = [colour for least, colour in BY_VISCOSITY if value >= least][-1]
        return FLAT_WATER if self.scene.dimension == 2 and found == BY_VISCOSITY[0][1] else found

    def over_cells(self, frame: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Colours (..., 3) over cells where liquids of several colours mix; None if there is one colour."""
        sources, ids = frame.get("sources"), frame.get("id")
        if not self.several or sources is None or ids is None or not len(sources) or not len(ids):
            return None
        at = np.searchsorted(sources[:, 0], ids, side="right") - 1
        number = np.clip(sources[np.maximum(at, 0), 1], 0, len(self.colours) - 1)
        return on_cells(self.colours[number], frame["position"], self.scene.shape, self.scene.dx)
