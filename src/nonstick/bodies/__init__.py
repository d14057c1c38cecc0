"""Rigid bodies: shape, mass, pose and velocity, contact, prescribed motion. This package does not use the liquid.

The names below load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .body import RigidBody
    from .expression import Expression
    from .motion import Prescribed
    from .walls import Wall, box_walls
    from .world import World

_WHERE = {
    "Expression": ".expression",
    "Prescribed": ".motion",
    "RigidBody": ".body",
    "Wall": ".walls",
    "World": ".world",
    "box_walls": ".walls",
}
__all__ = ["Expression", "Prescribed", "RigidBody", "Wall", "World", "box_walls"]


def __getattr__(name: str):
    if name in _WHERE:
        value = globals()[name] = getattr(import_module(_WHERE[name], __name__), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
