"""What colours can show: speed, pressure, viscosity and age of the liquid, where a frame holds them; and their legend.

Scales follow from the scene alone, so that a colour means the same in every frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from ...core.palette import RAMP, WATER, ramp
from ...errors import NonstickError
from ...files.arrays import ArrayFile
from ...files.formats import Frame, Shot
from ...files.formats.frame import at_points, on_cells

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
