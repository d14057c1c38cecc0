"""The common parts of all scene files: types of numbers and formulas, the domain, the keys of every kind of scene."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo
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
