"""The interface of probes: a probe has columns, and reads one number for each from a step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from ....grid.shapes import Shape
from ....scenes.geometry import build
from ....scenes.probes import Probe as Table
from ....scenes.scene import Scene
from .observed import Observed

AXES = "xyz"


class Probe(ABC):
    """One entry of `[[probe]]`.

    A subclass has the name of its `type` and the columns it fills. `read` is called once for each step, after the
    pressure is known and before the liquid moves; `late` once the surface at the end of the step is known.
    """

    kind: ClassVar[str]

    def __init__(self, name: str, table: Table, scene: Scene, key: str):
        self.name, self.table = name, table
        self.d = scene.dimension
        self.scene = scene
        self.region: Shape | None = None
        if table.shape is not None:
            self.region = build(table.shape, scene.folder, f"{scene.where}: {key}.shape")

    @property
    @abstractmethod
    def parts(self) -> dict[str, str]:
        """Names of its numbers, and their units."""

    @property
    def columns(self) -> dict[str, str]:
        """Columns of probes.csv with their units."""
        return {f"{self.name}.{part}": unit for part, unit in self.parts.items()}

    def read(self, seen: Observed) -> list[float] | None:
        """Its numbers in a step; None if they need the surface at the end of the step."""
        return None

    def late(self, seen: Observed) -> list[float]:
        """Its numbers, from the surface at the end of a step."""
        raise NotImplementedError

    def unit(self, in_space: str, in_plane: str) -> str:
        """A unit in 3D, or in 2D, where lengths are per metre of depth."""
        return in_space if self.d == 3 else in_plane

    @property
    def point(self) -> np.ndarray:
        """The point `at` (1, d)."""
        return np.array([self.table.at], float)
