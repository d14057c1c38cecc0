"""What a scene must have before it can run: methods that fit, enough memory, velocities that steps can follow."""

from __future__ import annotations

import numpy as np

from ... import registry
from ...errors import NonstickError
from ...scenes.scene import Scene
from ...scenes.schema import SceneModel
from ..run import findings
from ..run.findings import Needs

#: cells that liquid may cross in a step: at 10 frames a second `circle` has a volume error of 0.01 % with time.cfl = 2,
#: of 1.2 % with 3, of 20 % with 5 and of 38 % with 10
LONG_STEP = 3.0


def check_methods(scene: Scene) -> None:
    """Raise an error for methods that do not exist or solve another system. A run would fail only later."""
    solver = scene.model.solver
    check_scalar(solver.method, scene.where)
    _check_arrays(scene)
    if _kind(solver.viscosity, scene.where, "solver.viscosity") != "viscosity":
        raise NonstickError(
            f"{scene.where}: solver.viscosity is {solver.viscosity!r}, which does not solve for viscosity; take "
            "'visc-auto' or another visc-… method"
        )


def _check_arrays(scene: Scene) -> None:
    """Raise an error for an array library, a device or a method of arrays that is not there."""
    solver = scene.model.solver
    if solver.array is None:
        if solver.device is not None:
            raise NonstickError(f"{scene.where}: solver.device belongs to an array library: set solver.array too")
        return
    from ...arrays.library import find_device
    from ...compositions import on_arrays

    try:
        find_device(solver.array, solver.device)
        on_arrays(registry.name_of(solver.method), solver.array, solver.device, solver.dtype)
    except NonstickError as error:
        raise NonstickError(f"{scene.where}: solver.array: {error}") from None


def _kind(name: str, where: str, key: str) -> str:
    """The kind of a method; the error names the key of the scene."""
    try:
        known = registry.name_of(name)
    except NonstickError as error:
        raise NonstickError(f"{where}: {key}: {error}") from None
    return registry.entries()[known].kind


def check_scalar(method: str, where: str) -> None:
    """Raise an error for a method that does not solve for pressure or temperature."""
    if _kind(method, where, "solver.method") == "viscosity":
        raise NonstickError(
            f"{where}: solver.method is {method!r}, which solves only for viscosity; take 'auto' or "
            "another method, and name viscosity methods in solver.viscosity"
        )


def check_edges(scene: Scene, mode) -> None:
    """Raise an error for a method that cannot treat walls = edge; `auto` uses another one. `mode`: of `Solids`."""
    method = registry.name_of(scene.model.solver.method)
    if isinstance(mode, str) and mode == "edge" and method != "auto" and "edges" not in registry.get(method).treats:
        raise NonstickError(
            f"{scene.where}: walls.pressure is 'edge', which solver.method {method!r} cannot treat; take 'auto', "
            "'pgs', 'psor' or 'fmg'"
        )


def check_bodies(scene: Scene) -> None:
    """Raise an error for methods that cannot treat bodies, and for bodies with walls = edge."""
    if not scene.model.bodies or not scene.model.liquid:
        return
    modes = [b.pressure for b in scene.model.bodies] + [s.pressure for s in scene.model.solid]
    if "edge" in {scene.model.walls.pressure, *modes}:
        raise NonstickError(f"{scene.where}: walls.pressure = 'edge' cannot be combined with bodies; take 'cut'")
    method = scene.model.solver.method
    if registry.name_of(method) != "auto" and "bodies" not in registry.get(method).treats:
        raise NonstickError(
            f"{scene.where}: solver.method {method!r} cannot treat rigid bodies; take 'auto' or "
            "another method that does not need a stencil"
        )


def check_band(scene: Scene, layers: object) -> None:
    """Raise an error for liquid without particles beside thin walls; `layers` are those of `Solids`."""
    if scene.model.particles.band and layers is not None:
        raise NonstickError(
            f"{scene.where}: particles.band cannot be combined with walls thinner than two cells; set it to 0, or "
            "raise domain.resolution"
        )


def require_liquid(scene: Scene) -> None:
    """Refuse a scene without liquid, unless some flows in or bodies alone are wanted."""
    model = scene.model
    if not model.inflow and not (model.bodies and not model.liquid):
        raise NonstickError(
            f"{scene.where}: liquid holds no cell of the domain outside solids; check liquid.*.shape, or add an inflow"
        )


# Peaks measured: the sphere at 32³ to 128³, a circle, a pool with bodies; honey and a viscous sphere; bodies in honey.
BYTES_PER_CELL = 190
BYTES_PER_PARTICLE = 130
#: interpreter and compiled code
BYTES_BASE = 230 * 2**20
#: additional bytes if viscosity acts
BYTES_PER_VISCOUS_CELL = 210
#: bytes per face of viscous liquid, for every degree of freedom of a body
BYTES_PER_TIE = 8


def needs(scene: Scene[SceneModel], particles: int = 0) -> Needs:
    """Memory and disk of a scene with this many particles; None: only its grid is counted."""
    output, frames = scene.model.output, scene.model.time.frames
    cells = float(np.prod(scene.shape, dtype=float))
    frame = 4 * cells * output.surface + (8 * scene.dimension + 4) * particles * output.particles
    checkpoint = particles * (40 + 36 * (scene.model.particles.transfer == "apic")) + 9 * cells
    kept = min(frames, 3 + frames // output.checkpoint_every)
    memory = BYTES_BASE + BYTES_PER_CELL * cells + BYTES_PER_PARTICLE * particles
    if viscous(scene):
        d, bodies = scene.dimension, sum(b.motion is None for b in scene.model.bodies)
        faces = d * particles / scene.model.particles.per_axis**d
        memory += BYTES_PER_VISCOUS_CELL * cells + BYTES_PER_TIE * faces * (3 if d == 2 else 6) * bodies
    return Needs(memory, frame * (frames + 1) + checkpoint * kept)


def viscous(scene: Scene) -> bool:
    """True if a liquid of the scene is viscous."""
    own = [x.viscosity for x in scene.model.liquid] + [x.viscosity for x in scene.model.inflow]
    return scene.model.physics.viscosity > 0.0 or any(own)


def too_large(scene: Scene) -> str:
    """A sentence if even the grid of a scene does not fit into memory, with a resolution that fits; else ""."""
    need, have = needs(scene).memory, findings.free_memory()
    if need <= have:
        return ""
    # half of the grid is water, with 8 or 4 particles per cell
    each = BYTES_PER_CELL + 0.5 * BYTES_PER_PARTICLE * scene.model.particles.per_axis**scene.dimension
    cells = float(np.prod(scene.shape, dtype=float))
    fits = max(have - BYTES_BASE, 0.0) / each
    n = int(scene.model.domain.resolution * (fits / cells) ** (1 / scene.dimension))
    advice = f"domain.resolution={n} would fit" if n >= 4 else "free some memory"
    shape, size = "×".join(map(str, scene.shape)), findings.size
    return f"{shape} cells need at least {size(need)} of memory, but only {size(have)} are free; {advice}"


def require(scene: Scene) -> None:
    """Raise an error for a scene whose grid does not fit into memory."""
    sentence = too_large(scene)
    if sentence:
        raise NonstickError(f"{scene.where}: {sentence}")


#: how often a step may take liquid across the domain
WAY = 4


def given_speed(scene: Scene) -> float:
    """The largest component of the velocities that a scene gives as numbers (m/s)."""
    model = scene.model
    specs = (*model.liquid, *model.inflow, *model.bodies)
    parts = [abs(v) for s in specs for v in s.velocity or () if not isinstance(v, str)]
    return max(parts, default=0.0)


def require_pace(scene: Scene, speed: float) -> None:
    """Refuse a speed that crosses the domain several times even in the shortest substep."""
    time, reach = scene.model.time, max(scene.model.domain.size)
    way = speed / time.fps / max(time.max_substeps, 1)
    if way > WAY * reach:
        raise NonstickError(
            f"{scene.where}: velocities of {speed:.3g} m/s cross the domain {way / reach:.3g} times in a substep even "
            f"with time.max_substeps = {time.max_substeps}; lower the velocities of liquid, inflows, bodies or motions"
        )
