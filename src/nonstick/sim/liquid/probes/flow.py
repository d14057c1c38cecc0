"""Flow through a plane, or through the part of it in a region.

`flow` is the integral of the velocity over the wet part of the plane in a step. `volume` is how much has passed since
the start: the particles that crossed, times the volume each stands for, so that it agrees with the volume ledger to the
last particle. Without particles it is the flow added up.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from .observed import Observed, Probe, sample

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
