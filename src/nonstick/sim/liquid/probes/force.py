"""Force and torque of the liquid on a wall or a body: by pressure, and by viscosity where walls hold the liquid."""

from __future__ import annotations

import numpy as np

from .observed import AXES, Observed, Probe
from .patches import Patches, Surroundings, solid_patches


class ForceProbe(Probe):
    """Force and torque; those on a body are the impulses it gets from the solves, divided by the step.

    On walls the pressure acts on every piece of wall, and viscosity by μ ∂u/∂n along it, from two points at one and two
    cells from the wall.
    """

    kind = "force"
    walls: Surroundings

    @property
    def parts(self) -> dict[str, str]:
        force = {f"f{a}": self.unit("N", "N/m") for a in AXES[: self.d]}
        turns = ("torque",) if self.d == 2 else ("tx", "ty", "tz")
        return {**force, **dict.fromkeys(turns, self.unit("N m", "N m/m"))}

    def read(self, seen: Observed) -> list[float]:
        names = self.scene.model.body_names
        if self.table.on in names:
            return self._on_body(seen, names.index(self.table.on))
        found, moving = self.walls.patches(str(self.table.on), self.region)
        push = seen.load.at(found.x, found.cell)[:, None] * found.area + shear(seen, found, moving)
        about = np.zeros(self.d) if self.table.about is None else np.array(self.table.about)
        return _sums(found.x - about, push)

    def _on_body(self, seen: Observed, index: int) -> list[float]:
        body = seen.liquid.bodies.list[index]
        total = np.zeros(self.d + (1 if self.d == 2 else 3))
        last = None
        for outcome in seen.outcomes:
            coupling = outcome.problem.coupling
            assert coupling is not None
            covered = coupling.covered[index]
            moved = outcome.solution.bodies[index]
            if covered.mass is None:
                part = outcome.solution.pressure[covered.window()]
                total += seen.dx**self.d * np.tensordot(part, covered.flux(), axes=part.ndim)
            else:
                total += np.concatenate([moved.impulse, moved.angular_impulse]) / seen.kick
                if last is not None:  # between two projections viscosity has changed its motion
                    total += covered.mass @ (covered.motion - last) / seen.kick
                last = np.append(moved.velocity, moved.spin)
        centre = outcome.problem.coupling.covered[index].body.centre  # type: ignore[union-attr]
        force, torque = total[: self.d], total[self.d :]
        if not body.dynamic and seen.liquid.viscosity.acts:
            solids = seen.liquid.solids
            found = solid_patches(solids.grid, solids.distances[len(solids.list) - len(seen.liquid.bodies) + index])
            moving = np.stack(np.broadcast_arrays(*body.velocity_at(*found.x.T)), axis=1)
            extra = np.array(_sums(found.x - centre, shear(seen, found, moving)))
            force, torque = force + extra[: self.d], torque + extra[self.d :]
        if self.table.about is not None:
            arm = centre - np.array(self.table.about)
            torque = torque + np.atleast_1d(_cross(arm, force))
        return [*force.tolist(), *torque.tolist()]


def _cross(r: np.ndarray, f: np.ndarray) -> np.ndarray:
    if r.shape[-1] == 3:
        return np.cross(r, f)
    return r[..., 0] * f[..., 1] - r[..., 1] * f[..., 0]


def _sums(arms: np.ndarray, push: np.ndarray) -> list[float]:
    """Force and torque of pushes (n, d)."""
    return [*push.sum(axis=0).tolist(), *np.atleast_1d(_cross(arms, push).sum(axis=0)).tolist()]


def shear(seen: Observed, found: Patches, moving: np.ndarray) -> np.ndarray:
    """Force (n, d) by which viscous liquid drags pieces of wall along; `moving` is the velocity of the wall."""
    out = np.zeros(found.area.shape)
    liquid = seen.liquid
    if not liquid.viscosity.acts or not len(found.x):
        return out
    kind = np.array(liquid.solids.viscous)[liquid.solids.owner[(..., *found.cell.T)].ravel()]
    size = np.linalg.norm(found.area, axis=1)
    outward = -found.area / size[:, None]  # into the liquid
    h = seen.dx
    near, far = found.x + h * outward, found.x + 2 * h * outward
    wet = (seen.surface_distance(near) < 0.0) & (kind != "slip")
    if (kind == "separating").any():  # such a wall holds liquid only where the liquid presses on it
        wet &= (kind != "separating") | (seen.load.at(found.x, found.cell) > 0.0)
    deep = wet & (seen.surface_distance(far) < 0.0)
    one, two = seen.velocity_at(near) - moving, seen.velocity_at(far) - moving
    slope = np.where(deep[:, None], (4.0 * one - two) / (2.0 * h), one / h)
    slope -= (slope * outward).sum(axis=1)[:, None] * outward
    # that of cells has three axes, also in 2D
    mu = np.broadcast_to(liquid.tracker.viscosity(), (1, *seen.phi.shape))[(0, *found.cell.T)]
    out[wet] = ((mu * size)[:, None] * slope)[wet]
    return out
