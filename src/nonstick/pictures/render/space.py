"""Pictures of 3D frames: the liquid's surface, ray-marched, in front of the solids' far walls; and the camera."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.show import PAINTS
from ...grid.shapes import Shape
from ._blocks import BLOCK, _classify
from ._light import _casts, shade_of
from ._march import Look, View, _between, _contrast, _march, _rough
from ._rays import RayScene
from .scenery import FINE, Scenery, Triangles, mark, place_bodies

#: millimetres across a frame of 35 mm film, by which the focal length of a lens is given
FILM = 36.0
#: room around what is shown, as a factor
MARGIN = 1.08


@dataclass(frozen=True)
class Viewpoint:
    """A camera that looks along -z, turned by `azimuth` and `elevation` degrees.

    `lens` is a focal length in millimetres on 35 mm film. The picture always shows the same things: a short lens comes
    closer and has a strong perspective. `zoom` enlarges about the middle of the picture. The camera turns around
    `target`, in cells, and has it in the middle; by default around the middle of what it shows.
    """

    azimuth: float = 30.0
    elevation: float = 18.0
    zoom: float = 1.0
    lens: float = 80.0
    target: Sequence[float] | None = None

    def view(self, shape: Sequence[int], room: np.ndarray | None, width: int, height: int) -> View:
        """Eye, directions and window (left, top, pixel on the plane at distance 1) that show all of the room.

        `room` holds points (n, 3) in cells; None is the whole domain of the given shape.
        """
        points = np.array([np.zeros(3), shape], float) if room is None else np.asarray(room, float)
        low, high = points.min(axis=0), points.max(axis=0)
        if room is None:
            points = np.array([[(low, high)[i >> a & 1][a] for a in range(3)] for i in range(8)])
        turn, tilt = np.radians(self.azimuth), np.radians(self.elevation)
        forward = np.array([-np.sin(turn) * np.cos(tilt), -np.sin(tilt), -np.cos(turn) * np.cos(tilt)])
        right = np.array([np.cos(turn), 0.0, -np.sin(turn)])
        up = np.cross(right, forward)
        far = self.lens / FILM * float(np.linalg.norm(high - low)) * forward
        middle = 0.5 * (low + high)
        points = points - (middle - far)
        x, y = points @ right / (points @ forward), points @ up / (points @ forward)
        pixel = MARGIN * max(np.ptp(x) / width, np.ptp(y) / height) / self.zoom
        across, above = 0.5 * (x.min() + x.max()), 0.5 * (y.min() + y.max())
        if self.target is not None:
            middle, across, above = np.asarray(self.target, float), 0.0, 0.0
        window = np.array([across - 0.5 * width * pixel, above + 0.5 * height * pixel, pixel])
        return View(middle - far, forward, right, up, window)


def box_lines(scenery: Scenery, width: int, height: int, view: View) -> np.ndarray:
    """1 in pixels near an edge of the domain that bounds the room; an edge inside a container is not seen."""
    shape = scenery.shape
    t = np.linspace(0.0, 1.0, 2 * (width + height))[:, None]
    out = np.zeros((height + 6, width + 6), np.int8)
    corners = [np.array([i & 1, i >> 1 & 1, i >> 2 & 1]) for i in range(8)]
    for one in corners:
        for other in corners:
            if (other - one).sum() != 1 or (other < one).any():
                continue
            at = (one + t * (other - one)) * np.asarray(shape, float)
            node = np.rint(scenery.fine * at).astype(int)
            at = at[scenery.wall[tuple(node.T)] > -1.0] - view.eye
            at = at[at @ view.forward > 1e-3]  # not behind the camera
            depth = at @ view.forward
            col = (at @ view.right / depth - view.window[0]) / view.window[2]
            row = (view.window[1] - at @ view.up / depth) / view.window[2]
            inside = (col > -2) & (col < width + 2) & (row > -2) & (row < height + 2)
            col, row = np.floor(col[inside]).astype(int), np.floor(row[inside]).astype(int)
            for i in range(-1, 2):
                for j in range(-1, 2):
                    out[row + 3 + i, col + 3 + j] = 1
    return np.ascontiguousarray(out[3:-3, 3:-3])


#: where the second difference of pixels is less, pixels between them are interpolated: an error below 4/255
ROUGH = 0.12
#: neighbouring pixels that differ by more get two more rays, or four
SOME, MUCH = 0.1, 0.25
#: places of rays in a pixel: the middle, then pairs around it
_RAYS = np.array([[0.5, 0.5], [0.3, 0.1], [0.7, 0.9], [0.9, 0.3], [0.1, 0.7]])
WATER = np.array([0.05, 0.33, 0.56])
#: the colour of thick liquid, where colours show viscosity
THICK = (0.80, 0.30, 0.05)
#: the colour of fast liquid
FAST = (0.88, 0.96, 1.0)
_STONE = np.array([0.95, 0.95, 0.94])
SKY = np.array([0.97, 0.975, 0.98])
#: direction to the sun, to the right, up and towards the viewer
SUN = np.array([0.30, 0.80, 0.50])
#: pictures are stored with this gamma, so that shaded walls do not look dirty
GAMMA = 0.9
#: bytes of stored pictures for 4096 shades
_STORED = (255 * np.linspace(0.0, 1.0, 4096) ** GAMMA + 0.5).astype(np.uint8)


@dataclass(frozen=True)
class Style:
    """Colours and light of a picture.

    `tint` is the liquid's colour, and `clear` the depth to which one sees into it, as a share of the longest side.
    `light` is the direction to the sun in the coordinates of the scene; by default it is behind the viewer's right
    shoulder. `background` is a colour.
    """

    tint: Sequence[float] | np.ndarray = (0.05, 0.33, 0.56)
    clear: float = 0.2
    light: Sequence[float] | None = None
    background: Sequence[float] | np.ndarray = (0.97, 0.975, 0.98)

    def look(self, view: View, longest: int) -> Look:
        """As the rays see it."""
        if self.light is None:
            sun = SUN @ np.array([view.right, [0.0, 1.0, 0.0], -view.forward])
        else:
            sun = np.array(self.light, float)
        sun = sun / np.linalg.norm(sun)
        # opaque liquid shows its shape by shading alone
        ambient = 0.45 + 0.27 * min(self.clear / 0.1, 1.0)
        every = float(max(1, round(longest / 10)))
        tint, background = np.array(self.tint, float), np.array(self.background, float)
        return Look(sun, tint, _STONE, background, self.clear * longest, ambient, every)


class Studio:
    """Draws one frame after another from the same place: what does not change is computed once."""

    def __init__(self, width: int, height: int, style: Style | None = None, room: np.ndarray | None = None):
        self.width, self.height, self.style, self.room = width, height, style or Style(), room
        self._at: tuple[Viewpoint, Scenery] | None = None
        self._asked: tuple[Scenery, np.ndarray, bool] | None = None
        self._view: View
        self._lines: np.ndarray
        self._entry: np.ndarray

    def draw(
        self,
        phi: np.ndarray,
        scenery: Scenery,
        dx: float,
        viewpoint: Viewpoint | None = None,
        dye: np.ndarray | None = None,
        bodies: Sequence[Shape] = (),
        colours: Sequence[int] | None = None,
    ) -> np.ndarray:
        """An RGB image (uint8).

        Parameters
        ----------
        phi : array
            Level set of the liquid over cells, in metres, smooth.
        scenery : Scenery
            The solids.
        dx : float
            Size of a cell in metres.
        viewpoint : Viewpoint, optional
            The camera.
        dye : array (..., 3), optional
            Colours of the liquid over cells; by default all of it has the tint.
        bodies : sequence of Shape
            Shapes at their positions in this frame, in metres; each has its own colour.
        colours : sequence of int, optional
            Numbers of the colours of bodies; `PAINTED` is that of the dye.
        """
        shape = scenery.shape
        self._look_from(viewpoint or Viewpoint(), scenery)
        look = self.style.look(self._view, max(shape))
        if colours is None:
            colours = [index % len(PAINTS) for index in range(len(bodies))]
        body, owner, parts = place_bodies(bodies, shape, dx, colours)
        triangles = Triangles.join([scenery.triangles, *parts])
        lists = triangles.by_cell(shape)
        liquid = np.asarray(phi, np.float32) / np.float32(dx)
        cell = np.empty(shape, np.uint8)
        block = np.empty(tuple(-(-n // BLOCK) for n in shape), np.int16)
        stone = mark(scenery, body, lists)
        _classify(cell, block, liquid, stone)
        shade = shade_of(liquid, stone, look.sun)
        casts = body.size > 1 or len(triangles.whose) > 0 or self._walls_cast(scenery, look.sun)
        if dye is None:
            dye = np.array(self.style.tint, np.float32).reshape(1, 1, 1, 3)
        rock = np.full((1, 1, 1), 1e3, np.float32) if scenery.rock is None else scenery.rock
        solids = scenery.wall, float(scenery.fine), rock
        parts = lists, triangles.both, triangles.whose, PAINTS
        dye = np.ascontiguousarray(dye, np.float32)
        things = body, float(FINE), owner
        return self._trace(RayScene(liquid, dye, *solids, *things, cell, block, shade, casts, *parts), look)

    def _look_from(self, viewpoint: Viewpoint, scenery: Scenery) -> None:
        """Move the camera, if it or the scenery has moved."""
        if self._at is None or self._at[0] != viewpoint or self._at[1] is not scenery:
            self._at = viewpoint, scenery
            self._view = viewpoint.view(scenery.shape, self.room, self.width, self.height)
            self._lines = box_lines(scenery, self.width, self.height, self._view)
            self._entry = np.full(
                (self.height, self.width, len(_RAYS)), np.nan
            )  # not rounded: it may end outside the box

    def _walls_cast(self, scenery: Scenery, sun: np.ndarray) -> bool:
        """Do walls cast shadows? Asked again if they or the sun have moved."""
        if self._asked is None or self._asked[0] is not scenery or not np.array_equal(self._asked[1], sun):
            cell = np.empty(scenery.shape, np.uint8)
            block = np.empty(tuple(-(-n // BLOCK) for n in scenery.shape), np.int16)
            _classify(cell, block, np.ones(scenery.shape, np.float32), scenery.code)
            none, lists, triangles = np.full((1, 1, 1), 1e3, np.float32), np.zeros(0, np.int32), Triangles.none().both
            casts = _casts(scenery.wall, float(scenery.fine), none, cell, block, lists, triangles, sun)
            self._asked = scenery, sun, bool(casts)
        return self._asked[2]

    def _trace(self, scene: RayScene, look: Look) -> np.ndarray:
        """Rays for every second pixel of every second row, then where these differ, then more at edges."""
        image = np.empty((self.height, self.width, 3))
        todo = np.zeros((self.height, self.width), np.int8)
        rest = scene, look, self._view
        todo[::2, ::2] = 1
        _march(image, todo, self._entry, self._lines, _RAYS, *rest)
        bent = np.empty(((self.height + 1) // 2, (self.width + 1) // 2))
        _rough(image, bent)
        _between(image, todo, self._lines, bent, ROUGH)
        _march(image, todo, self._entry, self._lines, _RAYS, *rest)
        # edges of objects, highlights, lines
        _contrast(image, todo, SOME, MUCH)
        _march(image, todo, self._entry, self._lines, _RAYS, *rest)
        return _STORED[(4095 * np.clip(image, 0.0, 1.0) + 0.5).astype(np.int16)]
