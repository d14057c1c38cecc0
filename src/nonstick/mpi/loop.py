"""The loop of `auto` with two reductions in an iteration: one for all products of vectors, one for the residual.

Conjugate gradients need pᵀA p after p = z + β p is known, and β needs a product with z: two reductions one after the
other. With A z in place of A p all products are there at once (Chronopoulos and Gear 1989):

    s = A z,   β = -zᵀq / pᵀq,   p = z + β p,   q = s + β q,   pᵀq = zᵀs + 2β zᵀq + β² (pᵀq of before)

After a change of the set the old p is cut, and q is computed anew.
"""

from __future__ import annotations

import numpy as np

from ..inverse.multigrid.grid.blocks import BlockHierarchy
from ..kernels._vector import dot
from ..solvers.active_set_loop import ActiveSetCG
from .levels import SharedHierarchy

#: share of zᵀA z below which pᵀA p by recurrence has lost too many digits
LOST = 1e-3


class SharedLoop(ActiveSetCG):
    """`ActiveSetCG` on many ranks."""

    #: pᵀA p if q = A p is known already
    _known: float | None = None

    def _direction(self, rho_old, curvature, disturbed):
        self._known = None
        cycle = self.M
        if disturbed or not curvature > 0.0 or not isinstance(cycle, SharedHierarchy):
            return super()._direction(rho_old, curvature, disturbed)
        z, s = np.empty(self.A.n), np.empty(self.A.n)
        cycle.run(self.r, self._largest_residual())
        cycle.leave(z)
        self.A.apply(z, s)
        own = *BlockHierarchy.inner(cycle, self.q), dot(z, s)
        rho, along, energy = self.A.comm.total(np.array(own)).tolist()
        beta = -along / curvature if self.flexible else rho / rho_old
        after = energy + 2.0 * beta * along + beta * beta * curvature
        self.A.combine(self.p, z, beta)
        if after > LOST * energy:
            self.A.combine(self.q, s, beta)
            self._known = after
        return rho, rho

    def _product(self):
        return super()._product() if self._known is None else self._known
