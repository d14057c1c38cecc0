"""Transfers between staggered grids, one twice as coarse as the other (Aanjaneya §6.2, eq. 12–13).

Restriction is the tensor product of stencil A = (1, 2, 1)/4 along a face's own axis and B = (1, 3, 3, 1)/8 along
the others; prolongation P = 2ᵈ Rᵀ is (bi-, tri-)linear interpolation. Both read zero outside the unknowns and write
only unknowns. The axis of extent one of a 2D grid is not halved (`halved[axis] = 0`).

Fine face f (padded index f + 1) of axis a lies on coarse face f/2 if f is even, between two if odd; across the
other axes it lies a quarter cell from the coarse face's middle. Rows are combined first, over the first two axes
and with unit stride, into a line of `scratch` (one for each thread); the last axis follows.
"""

import numpy as np
from numba import get_thread_id, prange

from ....kernels import parallel

u64 = np.uint64


@parallel
def _faces_restrict(coarse, fine, scratch, runs, coarse_shape, fine_shape, halved, rows, shares, count, P, p):
    """coarse = R fine. rows[a], shares[a], count[a]: offsets and weights of the fine rows around the aligned one."""
    s0, s1 = fine_shape[1] * fine_shape[2], fine_shape[2]
    for r in prange(runs.shape[0]):
        line = scratch[get_thread_id()]
        a = runs[r, 0]
        t = runs[r, 1]
        k = t % coarse_shape[2]
        j = (t // coarse_shape[2]) % coarse_shape[1]
        i = t // (coarse_shape[2] * coarse_shape[1])
        fi = 2 * i - 1 if halved[0] else i
        n = runs[r, 2] - t
        # the line starts one fine sample before the first coarse one
        at = a * p + fi * s0 + (2 * j - 1) * s1 + (2 * k - 1) - 1
        m = u64(2 * n + 2)
        start, share = u64(at + rows[a, 0]), shares[a, 0]
        for q in range(u64(0), m):
            line[q] = share * fine[start + q]
        for e in range(1, count[a]):
            start, share = u64(at + rows[a, e]), shares[a, e]
            for q in range(u64(0), m):
                line[q] += share * fine[start + q]
        base = a * P + t
        quarter, half = fine.dtype.type(0.25), fine.dtype.type(0.5)
        if a == 2:
            for q in range(n):
                coarse[base + q] = quarter * (line[2 * q] + line[2 * q + 2]) + half * line[2 * q + 1]
        else:
            one, three = fine.dtype.type(0.125), fine.dtype.type(0.375)
            for q in range(n):
                outer = line[2 * q] + line[2 * q + 3]
                coarse[base + q] = one * outer + three * (line[2 * q + 1] + line[2 * q + 2])


@parallel
def _faces_prolong(fine, coarse, scratch, runs, coarse_shape, fine_shape, halved, P, p):
    """fine += P coarse on the fine unknowns."""
    S0, S1 = coarse_shape[1] * coarse_shape[2], coarse_shape[2]
    for r in prange(runs.shape[0]):
        line = scratch[get_thread_id()]
        a = runs[r, 0]
        t = runs[r, 1]
        k = t % fine_shape[2] - 1
        j = (t // fine_shape[2]) % fine_shape[1] - 1
        i = t // (fine_shape[2] * fine_shape[1]) - 1
        one = fine.dtype.type(1)
        three, half = fine.dtype.type(0.75), fine.dtype.type(0.5)
        quarter = fine.dtype.type(0.25)
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
        # line[q] is the combined coarse row at coarse index first - 1 + q
        end = k + runs[r, 2] - t
        first = k // 2
        m = u64((end - 1) // 2 - first + 3)
        c00 = u64(a * P + (i0 + 1) * S0 + (j0 + 1) * S1 + first)
        c01 = u64(a * P + (i0 + 1) * S0 + (j1 + 1) * S1 + first)
        c10 = u64(a * P + (i1 + 1) * S0 + (j0 + 1) * S1 + first)
        c11 = u64(a * P + (i1 + 1) * S0 + (j1 + 1) * S1 + first)
        w00, w01, w10, w11 = wi * wj, wi * (one - wj), (one - wi) * wj, (one - wi) * (one - wj)
        for q in range(u64(0), m):
            line[q] = (w00 * coarse[c00 + q] + w01 * coarse[c01 + q]) + (w10 * coarse[c10 + q] + w11 * coarse[c11 + q])
        base = a * p + t - k
        even, odd = k + (k & 1), k + 1 - (k & 1)
        if a == 2:
            for q in range(even, end, 2):
                fine[base + q] += line[q // 2 - first + 1]
            for q in range(odd, end, 2):
                fine[base + q] += half * (line[q // 2 - first + 1] + line[q // 2 - first + 2])
        else:
            for q in range(even, end, 2):
                fine[base + q] += three * line[q // 2 - first + 1] + quarter * line[q // 2 - first]
            for q in range(odd, end, 2):
                fine[base + q] += three * line[q // 2 - first + 1] + quarter * line[q // 2 - first + 2]
