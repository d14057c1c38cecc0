"""Transfers between staggered grids, one twice as coarse as the other (Aanjaneya §6.2, eq. 12–13).

Restriction is the tensor product of stencil A = (1, 2, 1)/4 along a face's own axis and B = (1, 3, 3, 1)/8 along
the others; prolongation P = 2ᵈ Rᵀ is (bi-, tri-)linear interpolation. Both read zero off the unknowns and write
unknowns only. Along the axis of extent one of a 2D grid nothing happens (`halved[axis] = 0`).

Fine face f (padded index f + 1) of axis a lies on coarse face f/2 if f is even, between two if odd; across the
other axes it lies a quarter cell from the coarse face's middle.
"""

import numpy as np
from numba import prange

from . import parallel


@parallel
def _faces_restrict(coarse, fine, runs, coarse_shape, fine_shape, halved, taps, weights, count, P, p):
    """coarse = R fine. taps[a], weights[a], count[a]: flat fine offsets and weights around the aligned face."""
    s0, s1 = fine_shape[1] * fine_shape[2], fine_shape[2]
    for r in prange(runs.shape[0]):
        a = runs[r, 0]
        t = runs[r, 1]
        k = t % coarse_shape[2]
        j = (t // coarse_shape[2]) % coarse_shape[1]
        i = t // (coarse_shape[2] * coarse_shape[1])
        fi = 2 * i - 1 if halved[0] else i
        at = a * p + fi * s0 + (2 * j - 1) * s1 + (2 * k - 1)
        n = runs[r, 2] - t
        base = a * P + t
        for q in range(n):
            s = 0.0 * weights[0, 0]
            for e in range(count[a]):
                s += weights[a, e] * fine[np.uint64(at + 2 * q + taps[a, e])]
            coarse[base + q] = s


@parallel
def _faces_prolong(fine, coarse, runs, coarse_shape, fine_shape, halved, P, p):
    """fine += P coarse on the fine unknowns."""
    S0, S1 = coarse_shape[1] * coarse_shape[2], coarse_shape[2]
    for r in prange(runs.shape[0]):
        a = runs[r, 0]
        t = runs[r, 1]
        k = t % fine_shape[2] - 1
        j = (t // fine_shape[2]) % fine_shape[1] - 1
        i = t // (fine_shape[2] * fine_shape[1]) - 1
        one = fine.dtype.type(1)
        three, half = fine.dtype.type(0.75), fine.dtype.type(0.5)
        # two coarse neighbours (near, far) and the weight of the near one, for each of the first two axes
        i0, i1, wi = i, i, one
        if halved[0]:
            i0 = i // 2
            if a == 0:
                i1, wi = (i0 + 1, half) if i & 1 else (i0, one)
            else:
                i1, wi = i0 + (1 if i & 1 else -1), three
        j0 = j // 2
        if a == 1:
            j1, wj = (j0 + 1, half) if j & 1 else (j0, one)
        else:
            j1, wj = j0 + (1 if j & 1 else -1), three
        c00 = a * P + (i0 + 1) * S0 + (j0 + 1) * S1 + 1
        c01 = a * P + (i0 + 1) * S0 + (j1 + 1) * S1 + 1
        c10 = a * P + (i1 + 1) * S0 + (j0 + 1) * S1 + 1
        c11 = a * P + (i1 + 1) * S0 + (j1 + 1) * S1 + 1
        w00, w01, w10, w11 = wi * wj, wi * (one - wj), (one - wi) * wj, (one - wi) * (one - wj)
        base = a * p + t - k
        for q in range(k, k + runs[r, 2] - t):
            k0 = q // 2
            if a == 2:
                k1, wk = (k0 + 1, half) if q & 1 else (k0, one)
            else:
                k1, wk = k0 + (1 if q & 1 else -1), three
            near = w00 * coarse[c00 + k0] + w01 * coarse[c01 + k0] + w10 * coarse[c10 + k0] + w11 * coarse[c11 + k0]
            far = w00 * coarse[c00 + k1] + w01 * coarse[c01 + k1] + w10 * coarse[c10 + k1] + w11 * coarse[c11 + k1]
            fine[base + q] += wk * near + (one - wk) * far
