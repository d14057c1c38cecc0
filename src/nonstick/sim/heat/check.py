"""A look at a heat scene before it is run: the body on its grid, the bands, disk, and what may go wrong."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import label

from ...scenes.heat import HeatScene
from ..liquid.check import Findings, reaches_beyond
from ..liquid.methods import check_scalar
from .run import heat_of
from .simulation import dragon

#: peak of runs of the dragon at 32 to 192 cells
BYTES_PER_CELL = 120
BYTES_BASE = 215 * 2**20


def check(scene: HeatScene) -> Findings:
    """Everything is computed on the scene's own grid, at the time 0."""
    found, model = Findings(), scene.model
    check_scalar(model.solver.method, scene.where)
    heat = heat_of(scene)
    grid = heat.grid
    temperature, inside, fixed = heat.begin()
    unknowns = heat.problem(temperature, inside, fixed).problem.n
    frames = model.time.frames
    memory = BYTES_BASE + BYTES_PER_CELL * inside.size
    found.facts += [
        f"{model.name}: {'×'.join(map(str, grid.shape))} cells of {grid.dx:.4g} m, {inside.sum()} in the body, "
        f"{fixed.sum()} of them held by bands",
        f"at most {frames} frames, {unknowns} unknowns each, one implicit step of {heat.dt:g} s a frame",
        f"memory about {memory / 2**20:.0f} MB, disk about {(8 * (frames + 1) + 2) * inside.size / 2**20:.0f} MB",
    ]
    body = dragon() if heat.body is None else heat.body
    parts = int(label(body.sample(grid.cells()) < 0)[1])
    if parts > 1:
        found.warnings.append(f"the body falls into {parts} parts on this grid, only the largest is heated")
    if reaches_beyond(body, grid):
        found.warnings.append("the body reaches the edge of the domain; what lies outside is left away")
    x = np.broadcast_to(grid.cells()[0], grid.shape)
    for index, (low, high, _) in enumerate(heat.bands):
        if not ((x > low) & (x < high) & inside).any():
            found.warnings.append(f"band.{index} holds no cell of the body: low {low:g}, high {high:g}")
    if not fixed.any():
        found.warnings.append("no band holds a temperature, so nothing happens")
    if not heat.lower <= heat.start <= heat.upper:
        found.warnings.append("start lies outside lower and upper; the first frame jumps to the nearer bound")
    return found
