"""A liquid scene on many ranks: what is possible, and how the domain is cut at first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...errors import NonstickError
from ...files.rundir import RunDirectory
from ...grid.box import IndexBox
from ...parallel.comm import Comm
from ...parallel.halo import Boxes
from ...parallel.partition import Partition
from ...scenes.scene import Scene
from .particles.seeding import region
from .partition import cut, part_of
from .requirements import viscous
from .simulation import Simulation


def obstacle(scene: Scene) -> str:
    """A sentence if a scene cannot run on many ranks, else ""."""
    model = scene.model
    thick = viscous(scene)
    reasons = {
        "rigid bodies in viscous liquid": thick and bool(model.bodies),
        "surface.track = 'grid'": model.surface.track != "particles",
        "probes": bool(model.probe),
        "particles.band": bool(model.particles.band),
        "output.export (use `nonstick export` after the run)": bool(model.output.export),
        "walls.pressure = 'edge'": "edge" in {model.walls.pressure, *(s.pressure for s in model.solid)},
        f"solver.method = {model.solver.method!r} (take 'auto')": model.solver.method != "auto",
    }
    found = [reason for reason, there in reasons.items() if there]
    if not found:
        return ""
    return f"{', '.join(found)}: not possible on many ranks yet; run the scene on one"


def simulate(scene: Scene, comm: Comm) -> Simulation:
    """The simulation of a scene on many ranks, at frame 0."""
    sentence = obstacle(scene)
    if sentence:
        raise NonstickError(f"{scene.where}: {sentence}")
    return Simulation(scene, part_of(scene, comm, first_boxes(scene, comm)))


def first_boxes(scene: Scene, comm: Comm) -> Boxes:
    """Boxes with about the same number of cells of the initial liquid."""
    even = Boxes.regular(scene.shape, comm.size)
    own = even[comm.rank]
    grid = Partition(comm, even, scene.dx).grid
    wet = np.zeros(own.shape, bool)
    for index, spec in enumerate(scene.model.liquid):
        wet |= region(scene, spec.shape, f"liquid.{index}.shape").sample(grid.cells()) < 0
    return cut(scene, comm, own, wet)


def boxes_of_checkpoint(directory: RunDirectory, scene: Scene, frame: int) -> Boxes:
    """Boxes with about equal numbers of the particles of a checkpoint, whatever the number of ranks that wrote it."""
    comm = directory.comm
    even = Boxes.regular(scene.shape, comm.size)[comm.rank]
    return cut(scene, comm, even, _loads(directory.read_checkpoint(frame, even), even))


def _loads(state: Mapping[str, np.ndarray], box: IndexBox) -> np.ndarray:
    """Particles in each cell of a box."""
    x = state["x"][-len(box.low) :]
    cells = tuple(
        np.clip(np.floor(c).astype(np.int64), low, high - 1) - low for c, low, high in zip(x, box.low, box.high)
    )
    count = np.bincount(np.ravel_multi_index(cells, box.shape), minlength=box.size)
    return count.reshape(box.shape)
