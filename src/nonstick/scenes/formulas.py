"""Types of scene files for formulas: of the time, and of the place."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo

from ..bodies.expression import Expression
from ..errors import NonstickError
from .tables import Number, in_space


def _arithmetic(text: str) -> str:
    try:
        Expression(text)
    except NonstickError as error:
        raise ValueError(str(error)) from None
    return text


#: a formula of the time t in seconds
Formula = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_arithmetic)]


#: one formula or number for every axis
Formulas = Annotated[tuple[Formula | Number, ...], Field(min_length=2, max_length=3), AfterValidator(in_space)]


def _in_field(text: str) -> str:
    try:
        Expression(text, ("x", "y", "z"))
    except NonstickError as error:
        raise ValueError(str(error)) from None
    return text


def _in_plane(values: tuple, info: ValidationInfo) -> tuple:
    """Refuse z in the formulas of a 2D scene."""
    if (info.context or {}).get("dimension") == 2:
        for text in values:
            if isinstance(text, str):
                try:
                    Expression(text, ("x", "y"))
                except NonstickError as error:
                    raise ValueError(str(error)) from None
    return values


#: a formula of the place x, y, z in metres
FieldFormula = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_in_field)]
#: a velocity that may vary in space: one formula or number for every axis
VelocityField = Annotated[
    tuple[FieldFormula | Number, ...],
    Field(min_length=2, max_length=3),
    AfterValidator(in_space),
    AfterValidator(_in_plane),
]
