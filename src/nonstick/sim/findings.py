"""What `nonstick check` finds out about a scene of any kind."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..grid.mac import Grid
from ..grid.shapes import Shape


@dataclass
class Findings:
    """What `nonstick check` prints."""

    facts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def reaches_beyond(shape: Shape, grid: Grid) -> bool:
    """Does a shape leave the domain? Looks at a ring of cells around it."""
    for axis in range(grid.dimension):
        for outside in (-0.5 * grid.dx, grid.size[axis] + 0.5 * grid.dx):
            points = list(grid.cells())
            points[axis] = np.array(outside)
            if (np.asarray(shape(*points)) < 0).any():
                return True
    return False
