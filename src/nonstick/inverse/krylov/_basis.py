"""Products with a few stored vectors, block by block, so that sums do not depend on the number of threads."""

from ...kernels import parallel, parallel_sum, prange
from ...kernels._vector import BLOCK


@parallel_sum
def _coefficients(partial, V, w, count):
    """partial[k, i] = the part of V[i]ᵀw in block k, for the first `count` vectors."""
    for k in prange(partial.shape[0]):
        for i in range(count):
            s = 0.0
            for t in range(k * BLOCK, min(w.size, (k + 1) * BLOCK)):
                s += V[i, t] * w[t]
            partial[k, i] = s


@parallel
def _add_combination(w, V, h, count):
    """w += Σ h[i] V[i] over the first `count` vectors."""
    for k in prange(-(-w.size // BLOCK)):
        for i in range(count):
            for t in range(k * BLOCK, min(w.size, (k + 1) * BLOCK)):
                w[t] += h[i] * V[i, t]
