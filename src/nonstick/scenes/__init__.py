"""Scenes: the tables of scene files, the built-in ones, and the `Scene` class.

The names below load on first use, so that commands that need only a file do not wait for numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import on_first_use

if TYPE_CHECKING:
    from .geometry import build
    from .library import builtin, builtin_text
    from .scene import KINDS, Scene, json_schema, parse_override

_WHERE = {
    "KINDS": ".scene",
    "Scene": ".scene",
    "build": ".geometry",
    "builtin": ".library",
    "builtin_text": ".library",
    "json_schema": ".scene",
    "parse_override": ".scene",
}
__all__ = ["KINDS", "Scene", "build", "builtin", "builtin_text", "json_schema", "parse_override"]

__getattr__ = on_first_use(__name__, _WHERE)
