"""The check of a liquid scene before its run: sizes, estimates, and possible problems."""

from __future__ import annotations

import math

import numpy as np

from ...bodies.body import RigidBody
from ...grid.fractions import connected_parts
from ...grid.mac import Grid
from ...scenes.geometry import build
from ...scenes.scene import Scene
from ..run.findings import Findings, disk_shortage, memory_shortage, reaches_beyond, size
from ..run.loop import wanted
from .particles.seeding import first_velocity, region, seed
from .requirements import (
    LONG_STEP,
    check_band,
    check_bodies,
    check_edges,
    check_methods,
    given_speed,
    needs,
    require_liquid,
    require_pace,
    too_large,
    viscous,
)
from .solids.bodies import Bodies, make
from .solids.on_grid import Solids
from .solids.solid import NAMES
from .sources.sources import Source

#: on grids with more cells, particles are counted but not made
COUNTED_ABOVE = 2_000_000


def check(scene: Scene) -> Findings:
    """All findings, computed on the grid of the scene at time 0."""
    found = Findings()
    sentence = too_large(scene)
    if sentence:  # nothing else can be checked either
        found.errors.append(sentence)
        return found
    check_methods(scene)
    check_bodies(scene)
    wanted(scene)
    bodies = make(scene)
    solids = Solids(scene, bodies)
    Bodies(scene, bodies, solids).check_start()
    check_edges(scene, solids.mode)
    check_band(scene, solids.layers)
    setting = scene.model.particles
    rng = np.random.default_rng(setting.seed)
    count = 0
    for index, liquid in enumerate(scene.model.liquid):
        shape = region(scene, liquid.shape, f"liquid.{index}.shape")
        inside = shape.sample(solids.grid.cells()) < 0
        each = setting.per_axis**scene.dimension
        if inside.size > COUNTED_ABOVE:
            here = int(each * (inside * solids.space.reshape(inside.shape)).sum())
        else:
            here = seed(shape, solids, setting.per_axis, setting.jitter, rng).shape[1]
        count += here
        _check_liquid(found, index, shape, solids, inside, here / each)
    if not count:
        require_liquid(scene)
    _check_walls(found, scene, solids)
    _check_bodies(found, scene, bodies)
    _check_regions(found, scene)
    if scene.model.probe:
        from .probes.recorder import check_probes  # loads the solvers

        check_probes(found, scene, solids)
    _check_pace(found, scene, solids)
    _check_order(found, scene, solids)
    frames = scene.model.time.frames
    need = needs(scene, count)
    found.errors += memory_shortage(need)
    found.warnings += disk_shortage(need, ".")
    found.facts += [
        f"{scene.name}: {'×'.join(map(str, scene.shape))} cells of {scene.dx:.4g} m, {count} particles",
        f"{frames} frames at {scene.model.time.fps:g} per second: {frames / scene.model.time.fps:.3g} s",
        f"memory about {size(need.memory)}, disk about {size(need.disk)}"
        + (", and more as liquid flows in" if scene.model.inflow else ""),
    ]
    return found


def _check_liquid(found: Findings, index: int, shape, solids: Solids, inside: np.ndarray, volume: float) -> None:
    key = f"liquid.{index}.shape"
    if volume == 0.0:
        found.warnings.append(f"{key} holds no liquid: it lies outside the domain or inside solids")
        return
    if not solids.list and reaches_beyond(shape, solids.grid):
        found.warnings.append(f"{key} extends beyond the domain; the part outside is discarded")
    blocked = float(inside.sum() - (inside * solids.space.reshape(inside.shape)).sum())
    if inside.any() and blocked > 0.5 * inside.sum():
        found.warnings.append(f"{key} lies mostly inside solids; only {volume:.0f} cells of liquid are left")


def _check_regions(found: Findings, scene: Scene) -> None:
    """Shapes that a run needs besides liquid and solids; a mesh that is missing is an error."""
    model = scene.model
    regions = [(f"inflow.{k}.shape", s.spec, s.shape) for k, s in enumerate(Source.all(scene))]
    for table, specs in (("outflow", model.outflow), ("force", model.force)):
        for index, spec in enumerate(specs):
            key = f"{table}.{index}.shape"
            if spec.shape is not None:
                regions.append((key, spec, build(spec.shape, scene.folder, f"{scene.where}: {key}")))
    points = Grid(scene.shape, scene.dx).cells()
    for key, spec, shape in regions:
        moves = getattr(spec, "motion", None) is not None
        if not moves and not (shape.sample(points) < 0).any():
            found.warnings.append(f"{key} holds no cell of the domain, so it does nothing")


def _check_pace(found: Findings, scene: Scene, solids: Solids) -> None:
    """How long the first steps may be: refuse what a run would refuse, and warn where the cap will bind."""
    model, time = scene.model, scene.model.time
    speed = max(
        float(solids.fastest()),
        given_speed(scene),
        *(_first_speed(scene, index, solids) for index in range(len(model.liquid))),
    )
    require_pace(scene, speed)
    frame, reach = 1.0 / time.fps, max(model.domain.size)
    pull = max(map(abs, scene.gravity), default=0.0) + sum(max(map(abs, f.acceleration)) for f in model.force)
    steps = max((speed + pull * frame) * frame / (time.cfl * scene.dx), time.min_substeps)
    if steps > time.max_substeps * 1.5:
        found.warnings.append(
            f"a frame needs about {steps:.3g} substeps and time.max_substeps allows {time.max_substeps}: liquid will "
            "move further in a step than time.cfl says; raise time.fps, time.max_substeps or time.cfl"
        )
    most = max(speed, math.sqrt(2.0 * pull * reach)) * frame / (scene.dx * time.min_substeps)
    if min(time.cfl, most) > LONG_STEP:
        found.warnings.append(
            f"time.cfl = {time.cfl:g} lets liquid cross {min(time.cfl, most):.2g} cells in a step, and above "
            f"{LONG_STEP:g} volume is lost: lower time.cfl, or raise time.fps"
        )
    if pull * frame * frame > 1e3 * reach:
        found.warnings.append(
            f"gravity and forces of {pull:.3g} m/s² take liquid far beyond the domain within a frame: the run will stop"
        )


def _check_order(found: Findings, scene: Scene, solids: Solids) -> None:
    """Say where `time.order = 2` changes nothing."""
    model = scene.model
    if model.time.order == 1:
        return
    split = model.solver.viscous == "split" or model.walls.pressure == "edge"
    reasons = {
        "no liquid of the scene is viscous": not viscous(scene),
        "pressure and viscosity are split (solver.viscous is split, or walls.pressure is edge)": split,
        "a step with bodies has one stage": bool(model.bodies),
        "a step beside walls thinner than two cells has one stage": solids.layers is not None,
    }
    why = next((reason for reason, holds in reasons.items() if holds), None)
    if why:
        found.warnings.append(f"time.order = 2 has no effect: {why}")


def _first_speed(scene: Scene, index: int, solids: Solids) -> float:
    """Largest component of the initial velocity of a liquid, over the centres of its cells."""
    spec, points = scene.model.liquid[index], solids.grid.cells()
    wet = build(spec.shape, scene.folder).sample(points) < 0
    inside = [np.broadcast_to(x, wet.shape)[wet] for x in points]
    if not inside[0].size:
        return 0.0
    parts = first_velocity(spec, scene.model.domain.size, inside, f"{scene.where}: liquid.{index}")
    return max(float(np.abs(v).max()) for v in parts)


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
                f"bodies.{index} ({body.name}) is only {2 * body.least / scene.dx:.1f} cells thick: it will hardly "
                "move the liquid; raise domain.resolution"
            )


def _check_kinds(found: Findings, scene: Scene) -> None:
    """Say which walls treat viscous liquid in their own way."""
    model = scene.model
    own = [(f"walls.{name}", name, getattr(model.walls, name)) for name in NAMES]
    own += [(f"solid.{index}", f"solid.{index}", solid) for index, solid in enumerate(model.solid)]
    own += [(f"bodies.{index}", f"bodies.{index}", body) for index, body in enumerate(model.bodies)]
    differ = [(key, name, wall.viscous) for key, name, wall in own if wall is not None and wall.viscous is not None]
    if differ and viscous(scene):
        words = [f"viscous liquid at walls: {model.walls.viscous}", *(f"{name} {kind}" for _, name, kind in differ)]
        found.facts.append("; ".join(words))
    elif differ:
        found.warnings.append(f"{differ[0][0]}.viscous has no effect: no liquid of the scene is viscous")


def _check_walls(found: Findings, scene: Scene, solids: Solids) -> None:
    _check_kinds(found, scene)
    for index, (spec, wall) in enumerate(zip(scene.model.solid, solids.list)):
        phi = wall.shape.sample(solids.grid.nodes())
        phi = -phi if spec.container else phi
        key = f"solid.{index}.shape"
        if float(phi.min()) > 0.5 * math.sqrt(scene.dimension) * scene.dx:  # half the diagonal of a cell
            found.warnings.append(f"{key} is nowhere in the domain")
        elif float(-phi.min()) < 0.75 * scene.dx and solids.layers is None:
            found.warnings.append(
                f"{key} is thinner than {1.5:g} cells ({scene.dx:.3g} m each): liquid may pass; raise domain.resolution"
            )
        if phi.max() <= 0:
            found.warnings.append(f"{key} fills the whole domain")
    if solids.layers is not None:
        found.facts.append("walls thinner than two cells: the liquid on each side of them is treated on its own")
    free = solids.space.reshape(scene.shape) > 0.05
    if free.all():
        return
    _, parts = connected_parts(free)
    if parts > 1 and parts < 50:
        found.facts.append(f"the space outside solids consists of {parts} separate parts")
