"""How far a substep may take liquid and solids, and what the tables of a scene alone say about it."""

from __future__ import annotations

from ...errors import NonstickError
from ...scenes.scene import Scene

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
