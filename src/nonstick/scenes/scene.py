"""`Scene`: a checked scene of any kind, from a TOML file, a built-in name or a dict, with overrides by dotted keys."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import tomli_w
from pydantic import ValidationError

from ..bodies.expression import Expression
from ..core.guarded import read_bytes
from ..core.show import Shown
from ..errors import NonstickError, brief
from . import builtin, builtin_text
from .geometry import with_shapes
from .messages import sentence
from .schema import HeatModel, SceneModel
from .tables import SceneTables

__all__ = ["KINDS", "Scene", "builtin", "builtin_text", "json_schema", "parse_override"]

#: the tables of each kind of scene
KINDS: dict[str, type[SceneTables]] = {"liquid": SceneModel, "heat": HeatModel}
#: tables that may change before a run is resumed, because they do not change results
HARMLESS = ("name", "description", "output", "camera", "probe")
#: bytes of a scene file, and tables or lists inside each other
LARGEST, DEEPEST = 16 * 2**20, 150

Tables = TypeVar("Tables", bound=SceneTables)


class Scene(Shown, Generic[Tables]):
    """A scene that has passed every check of its kind.

    Parameters
    ----------
    data : mapping
        The tables of a scene file. The key `kind` decides which tables are allowed: `liquid` (the default) or `heat`.
    where : str
        The name of the scene in messages.
    folder : Path, optional
        Where relative paths of meshes start.

    Attributes
    ----------
    model : SceneTables
        All tables with their defaults: `scenes.schema.SceneModel` for liquid, `HeatModel` beside it for heat.

    Examples
    --------
    >>> from nonstick import Scene
    >>> scene = Scene.load("circle", {"domain.resolution": 32})
    >>> scene.kind, scene.model.domain.resolution, scene.shape
    ('liquid', 32, (32, 32))
    >>> Scene({"kind": "heat", "domain": {"size": [2.0, 1.0, 1.0], "resolution": 16}}).shape
    (16, 8, 8)
    """

    model: Tables

    def __init__(self, data: Mapping[str, Any], where: str = "the scene", folder: Path | None = None):
        kind = data.get("kind", "liquid")
        if not isinstance(kind, str) or kind not in KINDS:
            raise NonstickError(f"{where}: kind is {brief(kind)}, but must be one of {', '.join(KINDS)}")
        _check_depth(data, where)
        try:
            model = KINDS[kind].model_validate(dict(data), context={"dimension": _dimension(data)})
        except ValidationError as error:
            raise NonstickError(f"{where}: {sentence(error, KINDS[kind])}") from None
        self.model = model  # type: ignore[assignment]
        self.where = where
        self.folder = folder or Path()

    # -- reading --------------------------------------------------------------------------------------

    @classmethod
    def load(cls, source: str | Path, overrides: Mapping[str, Any] | None = None) -> Scene[Any]:
        """Read a TOML file or a built-in scene.

        Parameters
        ----------
        source : str or Path
            The file, or the name of a built-in scene.
        overrides : mapping, optional
            Dotted keys to values, for example `{"domain.resolution": 64, "liquid.0.velocity": [1.0, 0.0]}`.

        Examples
        --------
        >>> from nonstick import Scene
        >>> Scene.load("sphere", {"time.frames": 3}).model.time.frames
        3
        """
        if not isinstance(source, str | Path):
            raise NonstickError(f"a scene is the path of a file or the name of a built-in scene, not {brief(source)}")
        path = Path(source)
        if path.suffix == ".toml" or path.is_file():
            if not path.is_file():
                raise NonstickError(
                    f"there is no scene file {str(path)!r}; `nonstick scenes` lists the built-in scenes"
                )
            text, where, folder = _text_of(path), str(path), path.resolve().parent
        else:
            text, where, folder = builtin_text(str(source)), str(source), None
        data = _parse(text, where)
        for key, value in (overrides or {}).items():
            _put(data, key, value, where)
        return cls(data, where, folder)

    @classmethod
    def from_text(cls, text: str, where: str = "the scene") -> Scene[Any]:
        """From the text of a TOML file."""
        return cls(_parse(text, where), where)

    def replace(self, overrides: Mapping[str, Any]) -> Scene[Tables]:
        """The same scene with some keys changed.

        Examples
        --------
        >>> from nonstick import Scene
        >>> Scene.load("circle").replace({"walls.pressure": "none"}).model.walls.pressure
        'none'
        """
        data = self.to_dict()
        for key, value in overrides.items():
            _put(data, key, value, self.where)
        return Scene(data, self.where, self.folder)

    def require(self, kind: str) -> None:
        """Raise an error if the scene is of another kind."""
        if self.kind != kind:
            raise NonstickError(
                f"{self.where} is a scene of kind {self.kind!r}, but a scene of kind {kind!r} is needed here; "
                "nonstick.sim.simulate(scene) accepts any kind"
            )

    # -- writing --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """All tables, defaults included, as plain values."""
        tables: dict[str, Any] = json.loads(self.model.model_dump_json(exclude_none=True))
        return tables

    def __reduce__(self) -> tuple[Any, ...]:
        """So that other processes can have it: the classes of its tables are made anew there."""
        return Scene, (self.to_dict(), self.where, self.folder)

    def to_toml(self) -> str:
        """The same as a TOML file."""
        return tomli_w.dumps(self.to_dict())

    def fingerprint(self) -> str:
        """A hash of all keys that change the result; frames, output and camera are not part of it.

        Keys with their default value are omitted, so that a later version with more keys recognises old runs.
        """
        full = json.loads(self.model.model_dump_json(exclude_none=True, exclude_defaults=True))
        data = {k: v for k, v in full.items() if k not in HARMLESS}
        data["time"] = {k: v for k, v in data.get("time", {}).items() if k != "frames"}
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

    def facts(self) -> dict[str, object]:
        """What `repr` and notebooks show."""
        model: Any = self.model
        time = model.time
        cells = " × ".join(map(str, self.shape))
        return {
            "name": self.name,
            "kind": self.kind,
            "cells": f"{cells} of {self.dx:.3g} m",
            "frames": f"{time.frames}, {time.frames / time.fps:.3g} s" if hasattr(time, "fps") else time.frames,
            "method": model.solver.method,
        }

    # -- geometry -------------------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        return str(self.model.kind)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def dimension(self) -> int:
        return self.model.dimension

    @property
    def dx(self) -> float:
        """Cell size in metres."""
        return self.model.domain.dx

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return self.model.cells

    @property
    def gravity(self) -> tuple[float, ...]:
        """Acceleration in m/s² at time 0 (liquid)."""
        return self.gravity_at(0.0)

    @property
    def gravity_varies(self) -> bool:
        """True if gravity is a formula of time (liquid)."""
        return any(isinstance(g, str) for g in self._gravity())

    def gravity_at(self, time: float) -> tuple[float, ...]:
        """Acceleration in m/s² at a time (liquid)."""
        return tuple(Expression(g)(time)[0] if isinstance(g, str) else g for g in self._gravity())

    def _gravity(self) -> tuple[str | float, ...]:
        self.require("liquid")
        return self.model.physics.gravity or ((0.0, -9.81, 0.0)[: self.dimension])  # type: ignore[attr-defined]


def json_schema(kind: str = "liquid") -> dict[str, Any]:
    """The JSON Schema of scene files of a kind (draft 2020-12), for editors and other programs."""
    text = json.dumps(with_shapes(KINDS[kind].model_json_schema()))
    schema = json.loads(
        re.sub(r'("|/)(\w+)(?:Table|Entry)"', r'\1\2"', text)
    )  # named as in the file, not as our classes
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"nonstick scene ({kind})",
        **{k: v for k, v in schema.items() if k != "title"},
    }


def parse_override(text: str) -> tuple[str, Any]:
    """`key=value` as on the command line; the value is TOML, a bare word is a string.

    Examples
    --------
    >>> from nonstick.scenes import parse_override
    >>> parse_override("domain.resolution=96"), parse_override("walls.pressure=none")
    (('domain.resolution', 96), ('walls.pressure', 'none'))
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise NonstickError(f"--set needs key=value, for example domain.resolution=96, but got {brief(text)}")
    try:
        return key.strip(), tomllib.loads(f"v = {value}")["v"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()
    except (ValueError, RecursionError):
        raise NonstickError(f"--set {key.strip()[:80]}: the value is {_UNREADABLE}") from None


def _text_of(path: Path) -> str:
    """The text of a scene file, with the mark at its beginning that some editors write, or without."""
    try:
        return read_bytes(path, LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NonstickError(f"{path} is not UTF-8 text (byte {error.start + 1}); save it in that encoding") from None


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NonstickError(f"{where} is not valid TOML: {str(error)[:200]}") from None
    except (ValueError, RecursionError):
        raise NonstickError(f"{where} contains {_UNREADABLE}") from None


#: what Python's reader of TOML gives up on
_UNREADABLE = "a number of thousands of digits, or lists and tables nested too deeply; no scene needs either"


def _check_depth(data: Mapping[str, Any], where: str) -> None:
    """Refuse tables nested so deeply that reading them could end in a stack overflow; without recursion itself."""
    layer: list[Any] = [data]
    for _ in range(DEEPEST):
        below = [v for x in layer for v in (x.values() if isinstance(x, Mapping) else x)]
        layer = [v for v in below if isinstance(v, (Mapping, list, tuple))]
        if not layer:
            return
    raise NonstickError(
        f"{where} has more than {DEEPEST} tables or lists inside each other; put shapes side by side in one union"
    )


def _put(data: dict[str, Any], key: str, value: Any, where: str = "the scene") -> None:
    """Set `a.b.c` in nested tables; `liquid.0.velocity` reaches into arrays of tables."""
    *path, last = key.split(".")
    table: Any = data
    for part in path:
        table = _element(table, part, key, where) if isinstance(table, list) else table.setdefault(part, {})
        if not isinstance(table, (dict, list)):
            raise NonstickError(f"{where}: cannot set {brief(key)}, because {brief(part)} is a value and not a table")
    if isinstance(table, list):
        _element(table, last, key, where)
        table[int(last)] = value
    else:
        table[last] = value


def _element(table: list[Any], part: str, key: str, where: str) -> Any:
    if not part.isdecimal() or int(part) >= len(table):
        raise NonstickError(
            f"{where}: cannot set {brief(key)}, {brief(part)} is not one of its {len(table)} entries (the first is 0)"
        )
    return table[int(part)]


def _dimension(data: Mapping[str, Any]) -> int | None:
    """The number of axes of the domain, if it can be read before the file is checked."""
    domain = data.get("domain")
    size = domain.get("size") if isinstance(domain, Mapping) else None
    return len(size) if isinstance(size, (list, tuple)) and len(size) in (2, 3) else None
