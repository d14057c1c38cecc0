"""The common parts of all scene files: types of numbers and formulas, the domain, the keys of every kind of scene.

The look of pictures and movies: the table `camera`, and colours by name.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from ..bodies.expression import Expression
from ..errors import NonstickError


def in_space(value: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
    """Raise an error if a vector does not have one coordinate for each axis of the domain."""
    d = (info.context or {}).get("dimension")
    if d is not None and len(value) != d:
        raise PydanticCustomError(
            "dimension", "has {n} coordinates, but domain.size makes the scene {d}D", {"n": len(value), "d": d}
        )
    return value


def direction(value: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
    """Raise an error if a direction in a 3D scene does not have three numbers, or points nowhere."""
    if (info.context or {}).get("dimension") == 3:
        in_space(value, info)
    if not any(value):
        raise PydanticCustomError("nowhere", "points nowhere: one of its numbers must not be zero")
    return value


def printable(text: str) -> str:
    """Refuse a name with control characters: it becomes part of file names and is shown on terminals."""
    bad = next((c for c in text if not c.isprintable()), None)
    if bad is not None:
        raise PydanticCustomError(
            "unprintable", "contains the control character {bad}; use letters, digits and spaces", {"bad": ascii(bad)}
        )
    return text


#: Numbers of scene files lie between these in size. No scene in SI units needs others, and their squares and cubes, and
#: those of their quotients, are still finite.
LEAST, MOST = 1e-15, 1e15
Number = Annotated[float, Field(strict=True, ge=-MOST, le=MOST, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, ge=LEAST, le=MOST, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0, le=MOST, allow_inf_nan=False)]
Name = Annotated[str, Field(max_length=80), AfterValidator(printable)]
Share = Annotated[float, Field(ge=0, le=1)]
#: a direction in space, such as the axis of a rotation; 2D scenes ignore it
Direction = Annotated[tuple[Number, ...], Field(min_length=2, max_length=3), AfterValidator(direction)]
#: one number for each axis of the domain
Vector = Annotated[tuple[Number, ...], Field(min_length=2, max_length=3), AfterValidator(in_space)]


class SceneTable(BaseModel):
    """A table of a scene file; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class Domain(SceneTable):
    """The box the grid covers; its sides are solid walls."""

    size: Annotated[tuple[Positive, ...], Field(min_length=2, max_length=3)] = Field(
        description="Extent in metres; two numbers for 2D, three for 3D."
    )
    resolution: int = Field(64, ge=4, le=4096, description="Cells along the longest side.")

    @property
    def dx(self) -> float:
        """Cell size in metres."""
        return max(self.size) / self.resolution


class SceneTables(SceneTable):
    """A whole scene file; every kind of scene has its own model with these keys and more."""

    kind: Any
    name: str
    description: str = ""
    domain: Domain

    @property
    def dimension(self) -> int:
        return len(self.domain.size)

    @property
    def cells(self) -> tuple[int, ...]:
        """Cells along each axis; a side that is not a multiple of dx gets one more cell, which the wall cuts."""
        dx = self.domain.dx
        return tuple(max(1, int(-(-s // dx)) if s % dx > 1e-6 * dx else round(s / dx)) for s in self.domain.size)


def _parsed(text: str, variables: tuple[str, ...] = ("t",)) -> str:
    """Refuse a formula that is not arithmetic of these variables."""
    try:
        Expression(text, variables)
    except NonstickError as error:
        raise ValueError(str(error)) from None
    return text


def _in_dimension(values: tuple[Any, ...], info: ValidationInfo) -> tuple[Any, ...]:
    """Refuse z in the formulas of a 2D scene."""
    variables = ("x", "y", "z")[: (info.context or {}).get("dimension")]
    for text in values:
        if isinstance(text, str):
            _parsed(text, variables)
    return values


#: a formula of the time t in seconds
Formula = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(lambda text: _parsed(text))]
#: one formula or number for every axis
Formulas = Annotated[tuple[Formula | Number, ...], Field(min_length=2, max_length=3), AfterValidator(in_space)]
#: a formula of the place x, y, z in metres
FieldFormula = Annotated[
    str, Field(min_length=1, max_length=500), AfterValidator(lambda text: _parsed(text, ("x", "y", "z")))
]
#: a velocity that may vary in space: one formula or number for every axis
VelocityField = Annotated[
    tuple[FieldFormula | Number, ...],
    Field(min_length=2, max_length=3),
    AfterValidator(in_space),
    AfterValidator(_in_dimension),
]


#: colours by name
NAMES = {
    "water": "#2f7fc4", "honey": "#eb9a1c", "oil": "#c9ae3f", "milk": "#f4f1e8", "cream": "#f5ead0",
    "chocolate": "#6f3f20", "caramel": "#b5651d", "wine": "#6d1030", "blood": "#8a0f14", "lava": "#e2481c",
    "pitch": "#2b2320", "slime": "#6fbf3a", "white": "#ffffff", "grey": "#9a9da1", "black": "#101215", "red": "#c8322b",
    "orange": "#e8822a", "yellow": "#e8c72e", "green": "#3d9a50", "teal": "#1f8f8f", "blue": "#2b62c4",
    "purple": "#7a45a8", "pink": "#e27fa6", "brown": "#7a5230",
}  # fmt: skip
#: the smallest and the largest side of a picture
PIXELS = 64, 8192
#: pictures are stored with this gamma, see `render.space`
_GAMMA = 0.9


def rgb(text: str) -> tuple[float, float, float]:
    """Red, green and blue (0..1, linear) of a name or of #rrggbb.

    >>> rgb("#000000"), rgb("white")
    ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    """
    digits = NAMES.get(text.lower(), text)
    red, green, blue = (int(digits[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red ** (1 / _GAMMA), green ** (1 / _GAMMA), blue ** (1 / _GAMMA)


def known(text: str) -> str:
    """Refuse what is not a colour."""
    if text.lower() not in NAMES and not re.fullmatch("#[0-9a-fA-F]{6}", text):
        raise PydanticCustomError(
            "colour",
            "{text} is not a colour: give #rrggbb, or one of {names}",
            {"text": repr(text), "names": ", ".join(NAMES)},
        )
    return text


Colour = Annotated[str, Field(max_length=20), AfterValidator(known)]


def mixed(value: Any) -> Any:
    """Red, green and blue of a colour that is given as text; other values are left as they are."""
    return rgb(known(value)) if isinstance(value, str) else value


class CameraKeys(SceneTable):
    """Key frames of the camera: its values at given times, constant before the first and after the last."""

    times: tuple[Number, ...] = Field(min_length=2, description="Seconds of the run, increasing.")
    azimuth: tuple[Number, ...] | None = Field(None, description="Degrees at each time.")
    elevation: tuple[Number, ...] | None = Field(None, description="Degrees at each time.")
    zoom: tuple[Positive, ...] | None = Field(None, description="Zoom at each time.")
    lens: tuple[Positive, ...] | None = Field(None, description="Focal length in mm at each time.")
    target: tuple[Vector, ...] | None = Field(None, description="Target in metres at each time.")
    smooth: bool = Field(True, description="Smooth without overshoot; false: straight lines.")

    @model_validator(mode="after")
    def _matched(self) -> Self:
        given = {
            k: v for k in ("azimuth", "elevation", "zoom", "lens", "target") if (v := getattr(self, k)) is not None
        }
        if not given:
            raise ValueError("camera.keys need azimuth, elevation, zoom, lens or target")
        for name, values in given.items():
            if len(values) != len(self.times):
                raise ValueError(f"times and {name} need the same length")
        if any(a >= b for a, b in zip(self.times, self.times[1:])):
            raise ValueError("times must increase")
        return self


class Camera(SceneTable):
    """The look of the preview."""

    width: int = Field(640, ge=PIXELS[0], le=PIXELS[1], description="Pixels.")
    height: int = Field(640, ge=PIXELS[0], le=PIXELS[1])
    azimuth: Number = Field(30.0, description="Degrees the camera is turned around y (3D).")
    elevation: float = Field(18.0, ge=-89.0, le=89.0, description="Degrees the camera looks down (3D).")
    zoom: Positive = 1.0
    lens: float = Field(
        80.0, ge=20.0, le=1000.0, description="Focal length in mm on 35 mm film (3D): a short lens stands closer."
    )
    target: Vector | None = Field(
        None,
        description="Point in metres that the camera turns around and has in the middle (3D); default: the middle.",
    )
    turntable: Number = Field(0.0, description="Degrees the camera turns around during the movie (3D).")
    keys: CameraKeys | None = Field(None, description="Key frames of the camera (3D).")
    light: Direction | None = Field(
        None, description="Direction to the sun (3D); default: behind the viewer's right shoulder."
    )
    background: Colour | None = Field(None, description="Colour around the scene: a name, or #rrggbb.")
    labels: bool = Field(True, description="Write the name and the time into the picture.")
    surface: Literal["particles", "grid"] = Field(
        "particles",
        description="Surface of the liquid (3D): that of the particles, which pages and exported files show too, or "
        "the level set of the simulation, which is computed faster and loses what is thinner than a cell.",
    )
    colour: Literal["liquid", "speed", "pressure", "viscosity"] = Field(
        "liquid", description="What colours show; pressure in 2D only; viscosity where it varies."
    )
    tint: Annotated[tuple[Share, Share, Share] | None, BeforeValidator(mixed)] = Field(
        None,
        description="Colour of all liquid: a name, #rrggbb, or red, green, blue in 0..1; default: by `colour` of each.",
    )
    clear: Positive = Field(
        0.2, description="Depth to which one sees into the liquid (3D), as a share of the longest side."
    )
    fps: Positive | None = Field(None, description="Frames per second of the movie; default: at most 30.")
