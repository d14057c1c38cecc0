"""The scene file of kind `heat`: a body, bands that hold a temperature, and bounds on it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from .geometry import Shape
from .tables import Domain, Name, Number, Positive, SceneTable, SceneTables


class Band(SceneTable):
    """Cells of the body between two values of x hold a temperature."""

    low: Number
    high: Number
    temperature: Number


class HeatTime(SceneTable):
    frames: int = Field(120, ge=1, le=1_000_000, description="At most this many frames; equilibrium ends a run.")
    dt: Positive = Field(0.008, description="Time between two frames.")


class HeatSolver(SceneTable):
    method: Name = Field("ipm-pd", description="Any name of `nonstick methods`.")
    rtol: Positive = Field(1e-9, lt=1.0, description="KKT residual of every step.")


class HeatOutput(SceneTable):
    movie: bool = Field(True, description="Make preview.mp4 and preview.png.")
    compare: bool = Field(True, description="Run without bounds too and show both side by side.")


class HeatModel(SceneTables):
    """A whole scene file of kind heat."""

    kind: Literal["heat"]
    name: Name = Field("heat", min_length=1)
    description: str = ""
    domain: Domain = Domain(size=(2.0, 1.0, 0.8), resolution=96)
    body: Shape | None = Field(None, description="Any shape or mesh; default: a dragon.")
    start: Number = Field(50.0, description="Temperature at the start.")
    band: tuple[Band, ...] = ()
    lower: Number | None = Field(None, description="Lower bound; no bound if omitted.")
    upper: Number | None = Field(None, description="Upper bound; no bound if omitted.")
    diffusivity: Positive = 1.0
    time: HeatTime = HeatTime()
    solver: HeatSolver = HeatSolver()
    output: HeatOutput = HeatOutput()

    @field_validator("domain")
    @classmethod
    def _in_space(cls, domain: Domain) -> Domain:
        if len(domain.size) != 3:
            raise ValueError("a heat scene has three dimensions, so domain.size needs three numbers")
        return domain

    @property
    def cells(self) -> tuple[int, ...]:
        """The number of cells along each axis. The grid has no walls, so no cell is cut."""
        return tuple(max(1, round(side / self.domain.dx)) for side in self.domain.size)
