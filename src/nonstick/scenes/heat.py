"""Scenes of kind `heat`: a body, bands that hold a temperature, and bounds on it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from ..errors import NonstickError
from .scene import _sentence, builtin, builtin_text, parse, put
from .schema import Domain, Number, Positive, Shape, _Table
from .toml import dump


class Band(_Table):
    """Cells of the body between two values of x hold a temperature."""

    low: Number
    high: Number
    temperature: Number


class HeatTime(_Table):
    frames: int = Field(120, ge=1, le=1_000_000, description="At most this many frames; equilibrium ends a run.")
    dt: Positive = Field(0.008, description="Time between two frames.")


class HeatSolver(_Table):
    method: str = Field("ipm-pd", description="Any name of `nonstick methods`.")
    rtol: Positive = Field(1e-9, lt=1.0, description="KKT residual of every step.")


class HeatOutput(_Table):
    movie: bool = Field(True, description="Make preview.mp4 and preview.png.")
    compare: bool = Field(True, description="Run without bounds too and show both side by side.")


class HeatModel(_Table):
    """A whole scene file of kind heat."""

    kind: Literal["heat"]
    name: str = Field("heat", min_length=1, max_length=80)
    description: str = ""
    domain: Domain = Domain(size=(2.0, 1.0, 0.8), resolution=96)
    body: Shape | None = Field(None, description="Any shape or mesh; default: a dragon.")
    start: Number = Field(50.0, description="Temperature at the start.")
    band: tuple[Band, ...] = ()
    lower: Number | None = Field(None, description="Lower bound; none if left out.")
    upper: Number | None = Field(None, description="Upper bound; none if left out.")
    diffusivity: Positive = 1.0
    time: HeatTime = HeatTime()
    solver: HeatSolver = HeatSolver()
    output: HeatOutput = HeatOutput()


class HeatScene:
    """A scene of kind heat that has passed every check."""

    def __init__(self, data: Mapping[str, Any], where: str = "the scene", folder: Path | None = None):
        try:
            self.model = HeatModel.model_validate(dict(data))
        except ValidationError as error:
            raise NonstickError(f"{where}: {_sentence(error)}") from None
        if len(self.model.domain.size) != 3:
            raise NonstickError(f"{where}: a heat scene is three-dimensional, domain.size needs three numbers")
        self.where, self.folder = where, folder or Path()

    @classmethod
    def load(cls, source: str | Path, overrides: Mapping[str, Any] | None = None) -> HeatScene:
        """From a TOML file or the name of a built-in scene; `overrides` maps dotted keys to values."""
        data, where, folder = _read(source)
        for key, value in (overrides or {}).items():
            put(data, key, value, where)
        return cls(data, where, folder)

    def replace(self, overrides: Mapping[str, Any]) -> HeatScene:
        """The same scene with some keys changed, e.g. `{"time.frames": 40}`."""
        data = self.to_dict()
        for key, value in overrides.items():
            put(data, key, value, self.where)
        return HeatScene(data, self.where, self.folder)

    def to_dict(self) -> dict[str, Any]:
        return json.loads(self.model.model_dump_json(exclude_none=True))

    def to_toml(self) -> str:
        return dump(self.to_dict())

    def fingerprint(self) -> str:
        """A hash of everything that influences the temperatures; name, output and the number of frames may differ."""
        data = {k: v for k, v in self.to_dict().items() if k not in ("name", "description", "output")}
        data["time"] = {k: v for k, v in data["time"].items() if k != "frames"}
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def is_heat(source: str | Path) -> bool:
    """Does this name or file mean a scene of kind heat? What cannot be read is left to the liquid's messages."""
    path = Path(source)
    if not path.is_file():
        return str(source) in builtin("heat")
    try:
        return _read(path)[0].get("kind") == "heat"
    except NonstickError:
        return False


def _read(source: str | Path) -> tuple[dict[str, Any], str, Path | None]:
    path = Path(source)
    if path.is_file():
        return parse(path.read_text(encoding="utf-8", errors="replace"), str(path)), str(path), path.resolve().parent
    return parse(builtin_text(str(source)), str(source)), str(source), None
