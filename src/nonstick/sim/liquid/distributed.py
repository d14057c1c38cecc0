"""A liquid scene on many ranks: what is possible, how the domain is cut, and when it is cut again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...errors import NonstickError
from ...files.rundir import RunDirectory
from ...grid.box import IndexBox
from ...parallel.boxes import Boxes
from ...parallel.comm import Comm
from ...parallel.partition import Partition
from ...scenes.scene import Scene
from .particles.seeding import region
from .partition import ParticlePartition, ghost_layers
from .setup.requirements import viscous
from .simulation import Simulation

#: the domain is cut again if a rank has this many times the mean number of particles
UNEVEN = 1.3
#: cuts lie at multiples of one of these, the first for which every rank gets a box
ALIGN = (8, 4, 2)


def obstacle(scene: Scene) -> str:
    """A sentence if a scene cannot run on many ranks, else ""."""
    model = scene.model
    thick = viscous(scene)
    reasons = {
        "rigid bodies in viscous liquid": thick and bool(model.bodies),
        "surface.track = 'grid'": model.surface.track != "particles",
        "probes": bool(model.probe),
        "output.export (use `nonstick export` after the run)": bool(model.output.export),
        "walls.pressure = 'edge'": "edge" in {model.walls.pressure, *(s.pressure for s in model.solid)},
        f"solver.method = {model.solver.method!r} (take 'auto')": model.solver.method != "auto",
    }
    found = [reason for reason, there in reasons.items() if there]
    if not found:
        return ""
    return f"{', '.join(found)}: not possible on many ranks yet; run the scene on one"


def simulate(scene: Scene, comm: Comm) -> SharedSimulation:
    """The simulation of a scene on many ranks, at frame 0."""
    sentence = obstacle(scene)
    if sentence:
        raise NonstickError(f"{scene.where}: {sentence}")
    return SharedSimulation(scene, part_of(scene, comm, first_boxes(scene, comm)))


def part_of(scene: Scene, comm: Comm, boxes: Boxes) -> ParticlePartition:
    """This rank's part of the domain."""
    return ParticlePartition(comm, boxes, scene.dx, ghost_layers(scene.model.time.cfl))


def first_boxes(scene: Scene, comm: Comm) -> Boxes:
    """Boxes with about the same number of cells of the initial liquid."""
    even = Boxes.regular(scene.shape, comm.size)
    own = even[comm.rank]
    grid = Partition(comm, even, scene.dx).grid
    wet = np.zeros(own.shape, bool)
    for index, spec in enumerate(scene.model.liquid):
        wet |= region(scene, spec.shape, f"liquid.{index}.shape").sample(grid.cells()) < 0
    return cut(scene, comm, own, wet)


def cut(scene: Scene, comm: Comm, own: IndexBox, load: np.ndarray) -> Boxes:
    """Boxes with about equal loads; every rank knows the load of the cells in `own`."""
    for align in ALIGN[:-1]:
        try:
            return Boxes.by_liquid(comm, scene.shape, own, load, align)
        except NonstickError:  # on all ranks
            continue
    return Boxes.by_liquid(comm, scene.shape, own, load, ALIGN[-1])


class SharedSimulation(Simulation):
    """A simulation of which this process has a part."""

    def __init__(self, scene: Scene, part: ParticlePartition):
        super().__init__(scene, part)
        self.part = part

    def next_frame(self):
        rows = super().next_frame()
        self.rebalance()
        return rows

    def rebalance(self) -> bool:
        """Cut the domain again if one rank has too many particles; True if it was cut."""
        part = self.part
        tracker = self.liquid.tracker
        mine = part.own_particles(tracker.cloud).n  # type: ignore[attr-defined]
        counts = np.array(part.comm.gathered(int(mine)))
        if counts.max() <= UNEVEN * counts.mean():
            return False
        held = part.own(np.diff(tracker.cloud.start).reshape(part.grid.shape))  # type: ignore[attr-defined]
        boxes = cut(self.scene, part.comm, part.own_box, held)
        if boxes.boxes == part.boxes.boxes:
            return False
        state = part.moved(self.state(), boxes)
        new = SharedSimulation(self.scene, part_of(self.scene, part.comm, boxes))
        new.restore(state)
        self.liquid, self.part, self.probes = new.liquid, new.part, new.probes
        most, later = counts.max() / counts.mean(), _share(new, part.comm)
        self.tell(
            "balance",
            f"frame {self.frame}: one rank had {most:.2f} times the mean number of particles, so the domain was cut "
            f"again; now it has {later:.2f} times",
        )
        return True


def _share(simulation: SharedSimulation, comm: Comm) -> float:
    own = simulation.part.own_particles(simulation.liquid.tracker.cloud).n  # type: ignore[attr-defined]
    counts = np.array(comm.gathered(int(own)))
    return float(counts.max() / counts.mean())


def restore(scene: Scene, comm: Comm, simulation: SharedSimulation, directory: RunDirectory, frame: int) -> None:
    """Set a simulation to a checkpoint, whatever the number of ranks that wrote it."""
    even = Boxes.regular(scene.shape, comm.size)
    found = directory.read_checkpoint(frame, even[comm.rank])
    load = _loads(found, even[comm.rank])
    boxes = cut(scene, comm, even[comm.rank], load)
    state = directory.read_checkpoint(frame, boxes[comm.rank])
    new = SharedSimulation(scene, part_of(scene, comm, boxes))
    new.restore(state)
    simulation.liquid, simulation.part, simulation.probes = new.liquid, new.part, new.probes
    simulation.frame = new.frame
    simulation.session += 1


def _loads(state: Mapping[str, np.ndarray], box: IndexBox) -> np.ndarray:
    """Particles in each cell of a box."""
    x = state["x"][-len(box.low) :]
    cells = tuple(
        np.clip(np.floor(c).astype(np.int64), low, high - 1) - low for c, low, high in zip(x, box.low, box.high)
    )
    count = np.bincount(np.ravel_multi_index(cells, box.shape), minlength=box.size)
    return count.reshape(box.shape)
