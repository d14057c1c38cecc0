"""Memory and disk that a run of a liquid scene needs, estimated before the run begins."""

from __future__ import annotations

import numpy as np

from ...errors import NonstickError
from ...scenes.scene import Scene
from ...scenes.schema import SceneModel
from .. import resources
from ..resources import Needs

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
    need, have = needs(scene).memory, resources.free_memory()
    if need <= have:
        return ""
    # half of the grid is water, with 8 or 4 particles per cell
    each = BYTES_PER_CELL + 0.5 * BYTES_PER_PARTICLE * scene.model.particles.per_axis**scene.dimension
    cells = float(np.prod(scene.shape, dtype=float))
    fits = max(have - BYTES_BASE, 0.0) / each
    n = int(scene.model.domain.resolution * (fits / cells) ** (1 / scene.dimension))
    advice = f"domain.resolution={n} would fit" if n >= 4 else "free some memory"
    shape, size = "×".join(map(str, scene.shape)), resources.size
    return f"{shape} cells need at least {size(need)} of memory, but only {size(have)} are free; {advice}"


def require(scene: Scene) -> None:
    """Raise an error for a scene whose grid does not fit into memory."""
    sentence = too_large(scene)
    if sentence:
        raise NonstickError(f"{scene.where}: {sentence}")
