"""One application of the cycle on blocks is a symmetric positive operator, as CG needs, on ragged domains too."""

import numpy as np
import pytest

from nonstick.inverse.multigrid.cycles import W
from nonstick.inverse.multigrid.grid.blocks import Blocks
from nonstick.inverse.multigrid.hierarchy import Multigrid
from nonstick.operators.masked import Masked


# Seeds and shapes in which a black cell and its red neighbour carry the same number are among these.
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(13, 6), (5, 7, 4), (6, 5, 5), (1, 17)])
def test_the_cycle_is_symmetric(make_stencil, shape, seed):
    A = make_stencil(shape, seed)
    free = np.random.default_rng(seed).random(A.n) < 0.85
    M = Multigrid(Blocks(), cycle=W(1, 1)).setup(Masked(A, free))
    B, unit = np.zeros((A.n, A.n)), np.eye(A.n)
    for i in np.flatnonzero(free):
        M.apply(unit[i], B[:, i])
    B = B[free][:, free]
    assert np.abs(B - B.T).max() <= 1e-4 * np.abs(B).max()  # float32 inside
    assert np.linalg.eigvalsh(B + B.T).min() > 0
