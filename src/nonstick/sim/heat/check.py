"""The check of a heat scene before its run: the body on its grid, the bands, disk, and possible problems."""

from __future__ import annotations

import numpy as np

from ...grid.parts import connected_parts
from ...scenes.heat import HeatModel
from ...scenes.scene import Scene
from ..findings import Findings, reaches_beyond
from ..liquid.methods import check_scalar
from ..resources import Needs, disk_shortage, memory_shortage, size
from .simulation import Heat

#: peak of runs of the dragon at 32 to 192 cells
BYTES_PER_CELL = 120
BYTES_BASE = 215 * 2**20


def needs(scene: Scene[HeatModel]) -> Needs:
    """Memory and disk that a run takes."""
    cells = float(np.prod(scene.shape, dtype=float))
    return Needs(BYTES_BASE + BYTES_PER_CELL * cells, (8 * (scene.model.time.frames + 1) + 2) * cells)


def check(scene: Scene[HeatModel]) -> Findings:
    """All findings, computed on the grid of the scene at time 0."""
    found, model = Findings(), scene.model
    check_scalar(model.solver.method, scene.where)
    heat = Heat.of(scene)
    grid = heat.grid
    temperature, inside, fixed = heat.begin()
    unknowns = heat.problem(temperature, inside, fixed).problem.n
    frames = model.time.frames
    need = needs(scene)
    found.facts += [
        f"{model.name}: {'×'.join(map(str, grid.shape))} cells of {grid.dx:.4g} m, {inside.sum()} in the body, "
        f"{fixed.sum()} of them held by bands",
        f"at most {frames} frames, {unknowns} unknowns each, one implicit step of {heat.dt:g} s per frame",
        f"memory about {size(need.memory)}, disk about {size(need.disk)}",
    ]
    found.errors += memory_shortage(need)
    found.warnings += disk_shortage(need, ".")
    body = heat.shape
    _, parts = connected_parts(body.sample(grid.cells()) < 0)
    if parts > 1:
        found.warnings.append(f"the body consists of {parts} separate parts on this grid; only the largest is heated")
    if reaches_beyond(body, grid):
        found.warnings.append("the body reaches the edge of the domain; the part outside is discarded")
    x = np.broadcast_to(grid.cells()[0], grid.shape)
    for index, (low, high, _) in enumerate(heat.bands):
        if not ((x > low) & (x < high) & inside).any():
            found.warnings.append(f"band.{index} contains no cell of the body: low is {low:g}, high is {high:g}")
    if not fixed.any():
        found.warnings.append(
            "no band holds a temperature, so nothing will change; add a [[band]] that contains cells of the body"
        )
    if not heat.lower <= heat.start <= heat.upper:
        found.warnings.append("start is not between lower and upper; the first frame jumps to the nearer bound")
    return found
