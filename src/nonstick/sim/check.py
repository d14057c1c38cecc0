"""A look at a scene before it is run: sizes, estimates, and what may go wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import label

from ..bodies.body import RigidBody
from ..grid.mac import Grid
from ..grid.shapes import Shape
from ..scenes.geometry import build
from ..scenes.scene import Scene
from .bodies import Bodies, make
from .methods import check_bodies, check_edges, check_methods
from .particles import seed
from .solids import Solids
from .viscosity import Viscosity

# Peaks measured: the sphere at 32³ to 128³, a circle, a pool with bodies; honey and a viscous sphere; bodies in honey.
BYTES_PER_CELL = 190
BYTES_PER_PARTICLE = 130
#: interpreter and compiled code
BYTES_BASE = 230 * 2**20
#: more where viscosity acts
BYTES_PER_VISCOUS_CELL = 210
#: of a face of viscous liquid, for every degree of freedom of a body
BYTES_PER_TIE = 8


@dataclass
class Findings:
    """What `nonstick check` prints."""

    facts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def check(scene: Scene) -> Findings:
    """Everything is computed on the scene's own grid, at the time 0."""
    found = Findings()
    check_methods(scene)
    check_bodies(scene)
    bodies = make(scene)
    solids = Solids(scene, bodies)
    Bodies(scene, bodies, solids).check_start()
    check_edges(scene, solids.mode)
    cells = int(np.prod(scene.shape))
    setting = scene.model.particles
    rng = np.random.default_rng(setting.seed)
    count = 0
    for index, liquid in enumerate(scene.model.liquid):
        shape = build(liquid.shape, scene.folder)
        inside = shape.sample(solids.grid.cells()) < 0
        x = seed(shape, solids, setting.per_axis, setting.jitter, rng)
        count += x.shape[1]
        _check_liquid(found, index, shape, solids, inside, x.shape[1] / setting.per_axis**scene.dimension)
    _check_walls(found, scene, solids)
    _check_bodies(found, scene, bodies)
    thick = Viscosity(solids, scene.model).acts
    memory = _memory(scene, cells, count, thick, sum(b.dynamic for b in bodies))
    frame = (4 * cells if scene.model.output.surface else 0) + (
        8 * scene.dimension * count if scene.model.output.particles else 0
    )
    checkpoint = count * (36 + 36 * (setting.transfer == "apic")) + 9 * cells
    frames = scene.model.time.frames
    kept = min(frames, 3 + frames // scene.model.output.checkpoint_every)
    found.facts += [
        f"{scene.name}: {'×'.join(map(str, scene.shape))} cells of {scene.dx:.4g} m, {count} particles",
        f"{frames} frames at {scene.model.time.fps:g} a second: {frames / scene.model.time.fps:.3g} s",
        f"memory about {memory / 2**20:.0f} MB, disk about {(frame * (frames + 1) + checkpoint * kept) / 2**20:.0f} MB"
        + (", and more as liquid flows in" if scene.model.inflow else ""),
    ]
    return found


def _memory(scene: Scene, cells: int, particles: int, thick: bool, bodies: int) -> float:
    """Largest resident memory of a run, in bytes, as far as the liquid of the beginning tells."""
    d = scene.dimension
    total = BYTES_BASE + BYTES_PER_CELL * cells + BYTES_PER_PARTICLE * particles
    if thick:
        faces = d * particles / scene.model.particles.per_axis**d
        total += BYTES_PER_VISCOUS_CELL * cells + BYTES_PER_TIE * faces * (3 if d == 2 else 6) * bodies
    return total


def _check_liquid(found: Findings, index: int, shape, solids: Solids, inside: np.ndarray, volume: float) -> None:
    key = f"liquid.{index}.shape"
    if volume == 0.0:
        found.warnings.append(f"{key} holds no liquid: it lies outside the domain or inside solids")
        return
    if not solids.walls and reaches_beyond(shape, solids.grid):
        found.warnings.append(f"{key} reaches beyond the domain; what lies outside is left away")
    blocked = float(inside.sum() - (inside * solids.space.reshape(inside.shape)).sum())
    if inside.any() and blocked > 0.5 * inside.sum():
        found.warnings.append(f"{key} lies for the most part inside solids; only {volume:.0f} cells are left")


def _check_bodies(found: Findings, scene: Scene, bodies: list[RigidBody]) -> None:
    rho = scene.model.physics.density
    for index, body in enumerate(bodies):
        kind = f"{body.mass:.4g} kg" + (" per metre" if body.d == 2 else "")
        if body.dynamic:
            kind += f", density {body.density / rho:.3g} of the liquid's"
        else:
            kind = "prescribed"
        found.facts.append(f"bodies.{index} ({body.name}): {kind}")
        if 2 * body.least < 3 * scene.dx:
            found.warnings.append(
                f"bodies.{index} ({body.name}) is only {2 * body.least / scene.dx:.1f} cells thick: liquid will hardly "
                "feel it; raise domain.resolution"
            )


def reaches_beyond(shape: Shape, grid: Grid) -> bool:
    """Does a shape leave the domain? Looks at a ring of cells around it."""
    for axis in range(grid.dimension):
        for outside in (-0.5 * grid.dx, grid.size[axis] + 0.5 * grid.dx):
            points = list(grid.cells())
            points[axis] = np.array(outside)
            if (np.asarray(shape(*points)) < 0).any():
                return True
    return False


def _check_walls(found: Findings, scene: Scene, solids: Solids) -> None:
    for index, (spec, wall) in enumerate(zip(scene.model.solid, solids.walls)):
        phi = wall.shape.sample(solids.grid.nodes())
        phi = -phi if spec.container else phi
        key = f"solid.{index}.shape"
        if not (phi < 0).any():
            found.warnings.append(f"{key} touches no node of the grid: it lies outside, or is thinner than a cell")
        elif float(-phi.min()) < 0.75 * scene.dx:
            found.warnings.append(
                f"{key} is thinner than {1.5:g} cells ({scene.dx:.3g} m each): liquid may pass; raise domain.resolution"
            )
        if phi.max() <= 0:
            found.warnings.append(f"{key} fills the whole domain")
    free = solids.space.reshape(scene.shape) > 0.05
    _, parts = label(free)
    if parts > 1 and parts < 50:
        found.facts.append(f"the room outside solids falls into {parts} parts that do not touch")
