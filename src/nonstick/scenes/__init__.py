"""Scenes: the tables of scene files, the built-in ones, and the `Scene` class.

The names in `_WHERE` load on first use, so that commands that need only a file do not wait for numpy.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TYPE_CHECKING

from .._lazy import on_first_use
from ..errors import NonstickError, did_you_mean

if TYPE_CHECKING:
    from .geometry import build
    from .scene import KINDS, Scene, json_schema, parse_override

_WHERE = {
    "KINDS": ".scene",
    "Scene": ".scene",
    "build": ".geometry",
    "json_schema": ".scene",
    "parse_override": ".scene",
}
__all__ = ["KINDS", "Scene", "build", "builtin", "builtin_text", "json_schema", "parse_override"]

__getattr__ = on_first_use(__name__, _WHERE)


def _folder() -> resources.abc.Traversable:
    """Where the built-in scenes lie."""
    return resources.files(__package__) / "builtin"


def builtin(kind: str = "liquid") -> dict[str, str]:
    """Names of the built-in scenes of a kind with a line of description.

    Examples
    --------
    >>> from nonstick.scenes import builtin
    >>> "circle" in builtin(), "heat" in builtin("heat")
    (True, True)
    """
    out = {}
    for file in sorted(_folder().iterdir(), key=lambda f: f.name):
        if file.name.endswith(".toml"):
            data = tomllib.loads(file.read_text(encoding="utf-8"))
            if data.get("kind", "liquid") == kind:
                out[file.name[:-5]] = data.get("description", "")
    return out


def builtin_text(name: str) -> str:
    """The file of a built-in scene."""
    file = _folder() / f"{name}.toml"
    if not file.is_file():
        names = [f.name[:-5] for f in _folder().iterdir() if f.name.endswith(".toml")]
        raise NonstickError(
            f"there is no scene {name!r}{did_you_mean(name, names, most=2)}; `nonstick scenes` lists the built-in "
            "scenes; the name of a scene file must end in .toml"
        )
    return file.read_text(encoding="utf-8")
