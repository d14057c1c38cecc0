"""The findings of `nonstick check` about a scene of any kind."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..grid.mac import Grid
from ..grid.shapes import Shape


@dataclass
class Findings:
    """The lines that `nonstick check` prints."""

    facts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: reasons why a run would not work
    errors: list[str] = field(default_factory=list)


def reaches_beyond(shape: Shape, grid: Grid) -> bool:
    """True if a shape extends beyond the domain; tested on a ring of cells around the domain."""
    for axis in range(grid.dimension):
        for outside in (-0.5 * grid.dx, grid.size[axis] + 0.5 * grid.dx):
            points = list(grid.cells())
            points[axis] = np.array(outside)
            if (np.asarray(shape(*points)) < 0).any():
                return True
    return False
