"""What probes read: velocity, pressure (also the mean over a piece of wall), water height, flow, force and torque.

Flow goes through a plane, or through the part of it in a region: `flow` is the integral of the velocity over the wet
part of the plane in a step. `volume` is how much has passed since the start: the particles that crossed, times the
volume each stands for, so that it agrees with the volume ledger to the last particle. Without particles it is the flow
added up.

Force and torque of the liquid on a wall or a body are by pressure, and by viscosity where walls hold the liquid.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ....scenes.geometry import WALLS
from .observed import AXES, Observed, Patches, Probe, Surroundings, sample, solid_patches


class Velocity(Probe):
    """The velocity of the liquid at a point; not a number where there is no liquid."""

    kind = "velocity"

    @property
    def parts(self) -> dict[str, str]:
        return {f"v{a}": "m/s" for a in AXES[: self.d]}

    def read(self, seen: Observed) -> list[float]:
        wet = float(seen.surface_distance(self.point)[0]) < 0.0
        return seen.velocity_at(self.point)[0].tolist() if wet else [np.nan] * self.d


class Pressure(Probe):
    """The pressure above that of the air, which is zero; also zero where there is no liquid."""

    kind = "pressure"
    walls: Surroundings

    @property
    def parts(self) -> dict[str, str]:
        return {"pressure": "Pa"}

    def read(self, seen: Observed) -> list[float]:
        if self.table.at is not None:
            return [float(seen.load.at(self.point)[0])]
        found, _ = self.walls.patches(self.table.on or WALLS, self.region)
        size = np.linalg.norm(found.area, axis=1)
        total = float(size.sum())
        return [float(size @ seen.load.at(found.x, found.cell)) / total if total > 0.0 else np.nan]


class Height(Probe):
    """Length of the vertical line above a point that lies in liquid; over a line of gauges mean, least and most."""

    kind = "height"

    @property
    def parts(self) -> dict[str, str]:
        names = ("height",) if self.table.to is None else ("mean", "least", "most")
        return dict.fromkeys(names, "m")

    @property
    def feet(self) -> np.ndarray:
        """Lower ends of the gauges (n, d)."""
        if self.table.to is None:
            return self.point
        share = np.linspace(0.0, 1.0, self.table.points)[:, None]
        return (1.0 - share) * self.point + share * np.array([self.table.to], float)

    def late(self, seen: Observed) -> list[float]:
        heights = wet_lengths(seen, self.feet)
        if self.table.to is None:
            return [float(heights[0])]
        return [float(heights.mean()), float(heights.min()), float(heights.max())]


def wet_lengths(seen: Observed, feet: np.ndarray) -> np.ndarray:
    """Length of liquid on the vertical lines above points (n, d), outside solids.

    Between the centres of cells the distance to the surface is linear, so the height of a flat surface is exact.
    """
    solids = seen.liquid.solids
    grid = solids.grid
    top = grid.size[1]
    y = np.concatenate([[0.0], grid.cells()[1].ravel(), [top]])
    lines = np.repeat(feet[:, None, :], len(y), axis=1)
    lines[:, :, 1] = y
    flat = lines.reshape(-1, feet.shape[1])
    # nearest in y: below the first centre and above the last the value goes on
    phi = seen.surface_distance(flat)
    if solids.list:
        phi = np.maximum(phi, -sample(solids.phi, flat, grid.dx, 0.0))
    phi = phi.reshape(len(feet), len(y))
    out = np.zeros(len(feet))
    for k in range(len(y) - 1):
        low = np.clip(feet[:, 1], y[k], y[k + 1])  # a foot inside a piece cuts it
        share = (low - y[k]) / (y[k + 1] - y[k])
        a, b = phi[:, k] + share * (phi[:, k + 1] - phi[:, k]), phi[:, k + 1]
        out += (y[k + 1] - low) * _negative(a, b)
    return out


def _negative(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Share of a segment on which a linear function from a to b is below zero."""
    least, most = np.minimum(a, b), np.maximum(a, b)
    part = np.divide(-least, most - least, out=np.zeros(a.shape), where=most > least)
    return np.where(most < 0.0, 1.0, np.where(least >= 0.0, 0.0, part))


#: points along each axis of the plane, per cell
FINE = {2: 8, 3: 4}


class FlowProbe(Probe):
    """Flow and volume through a plane; positive along the normal."""

    kind = "flow"
    #: volume that has passed so far
    volume = 0.0

    @property
    def parts(self) -> dict[str, str]:
        return {"flow": self.unit("m³/s", "m²/s"), "volume": self.unit("m³", "m²")}

    @property
    def normal(self) -> np.ndarray:
        n = np.array(self.table.normal, float)
        return n / np.linalg.norm(n)

    def read(self, seen: Observed) -> list[float]:
        x, area = self._points(seen)
        width = seen.dx / FINE[self.d]
        # shares, not yes or no: the edge of the liquid and of walls falls between points
        share = np.clip(0.5 - seen.surface_distance(x) / width, 0.0, 1.0)
        solids = seen.liquid.solids
        if solids.list:
            share *= np.clip(0.5 + sample(solids.phi, x, seen.dx, 0.0) / width, 0.0, 1.0)
        flow = float(area * (share * (seen.velocity_at(x) @ self.normal)).sum())
        if seen.liquid.count == 0:
            self.volume += seen.dt * flow
        return [flow, self.volume]

    def _points(self, seen: Observed) -> tuple[np.ndarray, float]:
        """Points (n, d) spread evenly over the plane in the domain and in the region, and the area of each."""
        size = np.array(self.scene.model.domain.size)
        normal, d = self.normal, self.d
        axis = int(np.argmax(np.abs(normal)))
        across = [a for a in range(d) if a != axis]
        lines = []
        for a in across:
            count = int(np.ceil(size[a] / seen.dx - 1e-9)) * FINE[d]
            lines.append((np.arange(count) + 0.5) * seen.dx / FINE[d])
        x = np.empty((int(np.prod([len(line) for line in lines])), d))
        x[:, across] = np.array(list(product(*lines)))
        # the plane over the other axes
        away = x[:, across] - self.point[:, across]
        x[:, axis] = self.point[0, axis] - away @ normal[across] / normal[axis]
        keep = ((x >= 0.0) & (x <= size)).all(axis=1)
        if self.region is not None:
            keep &= np.asarray(self.region(*x.T)) < 0.0
        return x[keep], (seen.dx / FINE[d]) ** (d - 1) / abs(normal[axis])

    def leave(self, x: np.ndarray) -> None:
        """Particles (d, n) in metres before they move."""
        self._before = x.copy()

    def arrive(self, x: np.ndarray, worth: float) -> None:
        """The same particles after they have moved; each stands for the volume `worth`."""
        if x.shape != self._before.shape:
            return
        origin = self.point.T
        a, b = self.normal @ (self._before - origin), self.normal @ (x - origin)
        crossed = np.flatnonzero((a < 0.0) != (b < 0.0))
        if self.region is not None and crossed.size:
            share = a[crossed] / (a[crossed] - b[crossed])
            where = self._before[:, crossed] + share * (x - self._before)[:, crossed]
            crossed = crossed[np.asarray(self.region(*where)) < 0.0]
        self.volume += worth * float(np.sign(b[crossed] - a[crossed]).sum())


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


KINDS: dict[str, type[Probe]] = {cls.kind: cls for cls in (Height, Pressure, Velocity, FlowProbe, ForceProbe)}
