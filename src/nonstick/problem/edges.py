"""Constraints at the wall itself: a polyhedron in place of a box (Chentanez–Müller §3.1)."""

from __future__ import annotations

import numpy as np

from ..errors import NonstickError
from ..kernels._edges import _edge_values, _project_edges

#: an edge whose leaf has a smaller weight counts as an edge without a leaf: the wall goes through the cell's centre
_LEAST_RATIO = 1e-10


class WallEdges:
    """Constraints at the wall itself (Chentanez–Müller §3.1): `(1 - theta) x_a + theta x_b >= 0`.

    Edge e joins unknowns a[e] (liquid side) and b[e] (solid side); the wall cuts it at the fraction
    theta[e] of the way. This is a polyhedron, not a box, so only sweeps with a projection handle it.
    """

    def __init__(self, a: np.ndarray, b: np.ndarray, theta: np.ndarray):
        self.a, self.b = (np.ascontiguousarray(v, dtype=np.int64) for v in (a, b))
        self.theta = np.ascontiguousarray(theta, dtype=np.float64)
        if not self.a.shape == self.b.shape == self.theta.shape:
            raise NonstickError("the edges of a wall need arrays a, b and theta of one length")
        if not ((self.theta >= 0.0) & (self.theta <= 1.0)).all() or (self.a == self.b).any():
            raise NonstickError("an edge of a wall joins two unknowns and is cut at a fraction between 0 and 1")
        near_b = self.theta > 0.5
        hub, leaf = np.where(near_b, self.b, self.a), np.where(near_b, self.a, self.b)
        small = np.minimum(self.theta, 1.0 - self.theta)
        order = np.argsort(hub, kind="stable")
        hubs, first = np.unique(hub[order], return_index=True)
        #: the edges sorted by hub, as `kernels._edges` wants them
        self.grouped = (
            hubs,
            np.append(first, hub.size).astype(np.int64),
            leaf[order],
            np.maximum(small / (1.0 - small), _LEAST_RATIO)[order],
        )
        self._last = self.no_push()

    @property
    def count(self) -> int:
        return self.a.size

    def no_push(self) -> tuple[np.ndarray, np.ndarray]:
        """Zero pushes on hubs and leaves: where a projection starts."""
        return np.zeros(self.grouped[0].size), np.zeros(self.count)

    def values(self, x: np.ndarray) -> np.ndarray:
        """x interpolated at the wall, one number per edge."""
        out = np.empty(self.count)
        _edge_values(out, x, self.a, self.b, self.theta)
        return out

    def project(self, x: np.ndarray, passes: int = 20_000, rtol: float = 1e-15) -> np.ndarray:
        """Move x, in place, to the nearest point with every wall value >= 0.

        Hildreth's method: it passes over the hubs, remembers all pushes, and stops when nothing moves. It reaches the
        same point from any initial pushes, so it starts from the pushes of the last projection.
        """
        hub, _, leaf, _ = self.grouped
        hub_push, leaf_push = self._last
        moved, one = np.zeros_like(x), np.ones_like(x)
        small = rtol * np.abs(x).max(initial=0.0)
        x[hub] += hub_push
        np.add.at(x, leaf, leaf_push)
        for _ in range(passes):
            if _project_edges(x, moved, hub_push, leaf_push, *self.grouped, one) <= small:
                break
        if not np.isfinite(x).all():
            self._last = self.no_push()
        return x
