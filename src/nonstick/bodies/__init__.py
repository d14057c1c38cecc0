"""Rigid bodies: shape, mass, pose and velocity, contact, prescribed motion. This package does not use the liquid.

The names below load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import on_first_use

if TYPE_CHECKING:
    from .body import RigidBody
    from .contact import Wall, box_walls
    from .expression import Expression
    from .motion import Prescribed
    from .world import World

_WHERE = {
    "Expression": ".expression",
    "Prescribed": ".motion",
    "RigidBody": ".body",
    "Wall": ".contact",
    "World": ".world",
    "box_walls": ".contact",
}
__all__ = ["Expression", "Prescribed", "RigidBody", "Wall", "World", "box_walls"]

__getattr__ = on_first_use(__name__, _WHERE)
