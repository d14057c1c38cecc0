"""`auto` for many ranks: the loop of `ActiveSet` over vectors that are cut into pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..inverse.cascade import Cascade
from ..inverse.multigrid.cycles import W
from ..inverse.multigrid.hierarchy import Multigrid
from ..inverse.multigrid.smoothers import RedBlack
from ..inverse.precond.deflation import Deflated
from ..inverse.precond.jacobi import Jacobi
from ..solvers.active_set import ActiveSet
from .levels import SharedBlocks, SharedHierarchy
from .loop import SharedLoop
from .nearby import SharedAroundBodies, SharedNearby
from .nested import SharedCoarser
from .stencil import SharedStencil


@dataclass(frozen=True)
class SharedActiveSet(ActiveSet):
    """`ActiveSet` on many ranks."""

    @property
    def preconditioner(self):
        return self.M

    def loop(self, problem):
        return SharedLoop if isinstance(problem.A, SharedStencil) else super().loop(problem)

    def coarser(self, problem, M):
        if isinstance(problem.A, SharedStencil):
            return SharedCoarser(problem, M) if isinstance(M, SharedHierarchy) else None
        return None if _bodies_on_ranks(problem.A) else super().coarser(problem, M)

    def nearby(self, A):
        if isinstance(A, SharedStencil):
            return SharedNearby(A)
        return SharedAroundBodies(A.bodies) if _bodies_on_ranks(A) else super().nearby(A)


def _bodies_on_ranks(A) -> bool:
    return A.bodies is not None and isinstance(A.bodies.base, SharedStencil)


CYCLE = Multigrid(SharedBlocks(0.65), RedBlack(), W(1, 1), dtype=np.float32)
AUTO = SharedActiveSet(Cascade((Deflated(CYCLE), Deflated(Jacobi()))))
