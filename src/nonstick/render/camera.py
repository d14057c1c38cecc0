"""Where the camera stands and what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._march import View
from .scenery import Scenery

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
