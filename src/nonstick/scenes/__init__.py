"""Scenes: the tables of scene files, the built-in ones, and the `Scene` class.

The names below load on first use, so that commands that need only a file do not wait for numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

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


def __getattr__(name: str):
    if name in _WHERE:
        module = import_module(_WHERE[name], __name__)
        value = globals()[name] = getattr(module, name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
