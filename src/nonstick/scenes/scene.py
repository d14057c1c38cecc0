"""`Scene`: a checked scene, from a TOML file, a built-in name or a dict, with overrides by dotted keys."""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..errors import NonstickError
from .schema import SceneModel
from .toml import dump

#: vectors with as many coordinates as the domain has axes
_SPATIAL = {
    "size", "centre", "low", "high", "point", "normal", "start", "end", "about", "move", "velocity", "amplitude",
    "gravity", "acceleration", "position",
}  # fmt: skip
#: tables that may change before a run is resumed: they do not touch the motion
_HARMLESS = ("name", "description", "output", "camera")


class Scene:
    """A scene that has passed every check of the schema.

    >>> scene = Scene.load("circle", {"domain.resolution": 32})
    >>> scene.model.domain.resolution
    32
    """

    def __init__(self, data: Mapping[str, Any], where: str = "the scene", folder: Path | None = None):
        try:
            self.model = SceneModel.model_validate(dict(data))
        except ValidationError as error:
            raise NonstickError(f"{where}: {_sentence(error)}") from None
        self.where = where
        #: relative paths of meshes start here
        self.folder = folder or Path()
        _check_vectors(self.model.model_dump(exclude_none=True), self.dimension, where)

    # -- reading --------------------------------------------------------------------------------------

    @classmethod
    def load(cls, source: str | Path, overrides: Mapping[str, Any] | None = None) -> Scene:
        """From a TOML file or the name of a built-in scene; `overrides` maps dotted keys to values."""
        path = Path(source)
        if path.suffix == ".toml" or path.exists():
            if not path.is_file():
                raise NonstickError(f"there is no scene file {str(path)!r}; `nonstick scenes` lists the built-in ones")
            text, where, folder = path.read_text(encoding="utf-8", errors="replace"), str(path), path.resolve().parent
        else:
            text, where, folder = builtin_text(str(source)), str(source), None
        data = parse(text, where)
        for key, value in (overrides or {}).items():
            put(data, key, value, where)
        return cls(data, where, folder)

    @classmethod
    def from_text(cls, text: str, where: str = "the scene") -> Scene:
        return cls(parse(text, where), where)

    def replace(self, overrides: Mapping[str, Any]) -> Scene:
        """The same scene with some keys changed, e.g. `{"walls.pressure": "none"}`."""
        data = self.to_dict()
        for key, value in overrides.items():
            put(data, key, value, self.where)
        return Scene(data, self.where, self.folder)

    # -- writing --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        return json.loads(self.model.model_dump_json(exclude_none=True))

    def to_toml(self) -> str:
        return dump(self.to_dict())

    def fingerprint(self) -> str:
        """A hash of everything that influences the motion; frames, output and camera may differ.

        Keys at their default are left out, so that a later version with more keys knows its old runs.
        """
        full = json.loads(self.model.model_dump_json(exclude_none=True, exclude_defaults=True))
        data = {k: v for k, v in full.items() if k not in _HARMLESS}
        data["time"] = {k: v for k, v in data.get("time", {}).items() if k != "frames"}
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

    # -- geometry -------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def dimension(self) -> int:
        return self.model.dimension

    @property
    def dx(self) -> float:
        """Cell size in metres."""
        return max(self.model.domain.size) / self.model.domain.resolution

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis; sides that are no multiple of dx get a cell cut by the wall."""
        return tuple(max(1, int(-(-s // self.dx)) if s % self.dx > 1e-6 * self.dx else round(s / self.dx))
                     for s in self.model.domain.size)  # fmt: skip

    @property
    def gravity(self) -> tuple[float, ...]:
        return self.model.physics.gravity or ((0.0, -9.81, 0.0)[: self.dimension])

    def __repr__(self) -> str:
        return f"Scene({self.name!r}, {'×'.join(map(str, self.shape))} cells)"


def parse(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NonstickError(f"{where} is not valid TOML: {error}") from None


def put(data: dict[str, Any], key: str, value: Any, where: str = "the scene") -> None:
    """Set `a.b.c` in nested tables; `liquid.0.velocity` reaches into arrays of tables."""
    *path, last = key.split(".")
    table: Any = data
    for part in path:
        table = _element(table, part, key, where) if isinstance(table, list) else table.setdefault(part, {})
        if not isinstance(table, (dict, list)):
            raise NonstickError(f"{where}: cannot set {key!r}, {part!r} is a value and not a table")
    if isinstance(table, list):
        _element(table, last, key, where)
        table[int(last)] = value
    else:
        table[last] = value


def _element(table: list, part: str, key: str, where: str):
    if not part.isdigit() or int(part) >= len(table):
        raise NonstickError(f"{where}: cannot set {key!r}, there are {len(table)} entries and {part!r} is none of them")
    return table[int(part)]


def parse_override(text: str) -> tuple[str, Any]:
    """`key=value` as on the command line; the value is TOML, a bare word is a string."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise NonstickError(f"--set takes key=value, not {text!r}")
    try:
        return key.strip(), tomllib.loads(f"v = {value}")["v"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()


# -- built-in scenes ----------------------------------------------------------------------------------


def builtin(kind: str = "liquid") -> dict[str, str]:
    """Names of the built-in scenes of a kind ("liquid", "heat") with a line of description."""
    out = {}
    for file in sorted(resources.files(__package__).iterdir(), key=lambda f: f.name):
        if file.name.endswith(".toml"):
            data = tomllib.loads(file.read_text(encoding="utf-8"))
            if data.get("kind", "liquid") == kind:
                out[file.name[:-5]] = data.get("description", "")
    return out


def builtin_text(name: str) -> str:
    file = resources.files(__package__) / f"{name}.toml"
    if not file.is_file():
        names = [f.name[:-5] for f in resources.files(__package__).iterdir() if f.name.endswith(".toml")]
        close = difflib.get_close_matches(name, names, n=2, cutoff=0.5)
        hint = f", did you mean {' or '.join(map(repr, close))}" if close else ""
        raise NonstickError(
            f"there is no scene {name!r}{hint}; `nonstick scenes` lists the built-in ones, a file ends in .toml"
        )
    return file.read_text(encoding="utf-8")


# -- messages -----------------------------------------------------------------------------------------


def _sentence(error: ValidationError) -> str:
    """The first mistake, as one sentence that names the key."""
    # A misspelt key is reported as unknown and the right one as missing: the former helps more. Where a number or a
    # table may stand and a table does, what is wrong with the table helps more than that it is no number.
    first = min(
        error.errors(),
        key=lambda e: (e["type"] != "extra_forbidden", e["type"] == "float_type" and isinstance(e["input"], dict)),
    )
    # A discriminated union puts its tag into the path; it is no key of the file.
    parts: list[str] = []
    for part in first["loc"]:
        if isinstance(part, int):
            parts.append(str(part))
            continue
        tag = bool(parts) and part in _TAGS and (parts[-1] in ("shape", "of") or parts[-1].isdigit())
        if not tag and part not in ("Keyed", "Ramp", "float", "constrained-float") and not part.startswith("function-"):
            parts.append(part)
    key = ".".join(parts) or "the file"
    kind, given = first["type"], first.get("input")
    if kind == "extra_forbidden":
        known = _known_keys(parts[:-1])
        close = difflib.get_close_matches(parts[-1], known, n=1)
        hint = f", did you mean {close[0]!r}" if close else f"; known here: {', '.join(known)}" if known else ""
        return f"unknown key {key!r}{hint}"
    if kind == "missing":
        return f"{key!r} is missing"
    if kind == "union_tag_not_found":
        return f"{key!r} needs a type, one of {', '.join(sorted(_TAGS))}"
    if kind == "union_tag_invalid":
        return f"{key}.type is {given.get('type')!r}, but must be one of {', '.join(sorted(_TAGS))}"
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    message = message[:1].lower() + message[1:]
    shown = repr(given)
    shown = f" (it is {shown})" if len(shown) < 60 else ""
    return f"{key}: {message}{shown}"


_TAGS = {
    "ball", "box", "halfspace", "capsule", "torus", "mesh", "union", "intersection", "difference", "shell",
}  # fmt: skip


def _known_keys(path: list[str]) -> list[str]:
    """Keys allowed in the table at `path`, as far as the schema can be followed."""
    model: Any = SceneModel
    for part in path:
        if part.isdigit():
            continue
        field = getattr(model, "model_fields", {}).get(part)
        if field is None:
            return []
        model = next((t for t in _models(field.annotation)), None)
        if model is None:
            return []
    return sorted(getattr(model, "model_fields", {}))


def _models(annotation: Any) -> Iterator[Any]:
    if hasattr(annotation, "model_fields"):
        yield annotation
    elif len(arguments := getattr(annotation, "__args__", ())) <= 3:
        for argument in arguments:
            yield from _models(argument)


def _check_vectors(data: Any, dimension: int, where: str, path: str = "") -> None:
    if isinstance(data, dict):
        for key, value in data.items():
            here = f"{path}.{key}" if path else key
            if key in _SPATIAL and isinstance(value, (list, tuple)) and len(value) != dimension:
                raise NonstickError(
                    f"{where}: {here} has {len(value)} coordinates, but domain.size makes the scene {dimension}D"
                )
            if key == "offsets":  # one vector per keyframe
                for index, vector in enumerate(value):
                    _check_vectors({"move": vector}, dimension, where, f"{here}.{index}")
            _check_vectors(value, dimension, where, here)
    elif isinstance(data, (list, tuple)):
        for index, value in enumerate(data):
            _check_vectors(value, dimension, where, f"{path}.{index}")
