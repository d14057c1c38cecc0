"""Transfers between staggered grids, one twice as coarse as the other (Aanjaneya §6.2, eq. 12–13).

Restriction is the tensor product of stencil A = (1, 2, 1)/4 along a face's own axis and B = (1, 3, 3, 1)/8 along
the others; prolongation P = 2ᵈ Rᵀ is (bi-, tri-)linear interpolation. Both read zero outside the unknowns and write
only unknowns. The axis of extent one of a 2D grid is not halved (`halved[axis] = 0`).

Fine face f (padded index f + 1) of axis a lies on coarse face f/2 if f is even, between two if odd; across the
other axes it lies a quarter cell from the coarse face's middle. Rows are combined first, over the first two axes
and with unit stride, into a line of `scratch` (one for each thread); the last axis follows.

Coefficients and unknowns of a staggered grid twice as coarse.

Along each axis a coarse sample is one of four kinds: 0 not halved (the thin axis of a 2D grid), 1 at the middle
of a coarse cell, the mean (1, 3, 3, 1)/8 of four fine samples, 2 between coarse cells, the mean (1, 2, 1)/4 of three,
3 at the middle of a coarse cell, the mean of the two fine samples in it.

Masses become R m (kinds 1 and 2 are the stencils of the restriction). Stress coefficients follow from linear
interpolation of the velocity, lumped. They are (1, 2, 1)/4 across both axes of an edge. For τ_xx the slope of u is the
same in both halves of a coarse cell, so they are the mean of two along x and (1, 3, 3, 1)/8 across x. A cell therefore
has one coefficient for each component. (With four samples along x too, stress spread past a free surface and the coarse
grid was too stiff there. With two samples across x too, faces in the air next to the surface were too soft, and the
method diverged.)
Next to a wall only the edges at the wall count, so that a wall along which liquid slips has no stress on any level.
"""

import numpy as np
from numba import get_thread_id

from ....kernels import parallel, prange, serial

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


@parallel
def _wall_edges(out, k, fluid, fine_fluid, coarse_extent, fine_extent, halved, a, b, factor):
    """Coefficients `out` of the coarse edges between components a and b that lie beside a solid face of component a.

    The fine edges at the wall alone count there: those on the coarse edge, or half a coarse cell further in.
    """
    e = 3 - a - b
    for I in prange(1, coarse_extent[0] + 1):
        own, at = np.zeros(3, np.int64), np.zeros(3, np.int64)
        for J in range(1, coarse_extent[1] + 1):
            for K in range(1, coarse_extent[2] + 1):
                own[0], own[1], own[2] = I, J, K
                below, above = fluid[I - (b == 0), J - (b == 1), K - (b == 2)], fluid[I, J, K]
                if out[I, J, K] == 0.0 or above == below:
                    continue
                total = 0.0
                for p in range(3):
                    for q in range(2):
                        at[a] = _inside(2 * own[a] - 2 + p, fine_extent[a])
                        at[e] = _inside(2 * own[e] - 1 + q, fine_extent[e]) if halved[e] else own[e]
                        at[b] = 2 * own[b] - (2 if above else 1)  # the fine face towards the solid one
                        step = -1 if above else 1
                        liquid = fine_fluid[at[0], at[1], at[2]]
                        at[b] = 2 * own[b] - 1 + (step if liquid else 0)
                        total += (0.25 if p == 1 else 0.125) * k[at[0], at[1], at[2]]
                out[I, J, K] = factor * total


_REACH = np.array([[0, 0, 0, 0], [-1, 0, 1, 2], [-1, 0, 1, 0], [0, 1, 0, 0]], np.int64)
_SHARE = np.array([[1.0, 0.0, 0.0, 0.0], [0.125, 0.375, 0.375, 0.125], [0.25, 0.5, 0.25, 0.0], [0.5, 0.5, 0.0, 0.0]])
_COUNT = np.array([1, 4, 3, 2], np.int64)


@serial
def _inside(index, extent):
    """Beyond the box a sample repeats the last one."""
    return min(max(index, 1), extent)


@parallel
def _coarsen_samples(out, fine, coarse_extent, fine_extent, kinds, factor):
    """out (zeros) = factor · weighted mean of fine, both padded by one; extents count the samples inside the box."""
    for I in prange(1, coarse_extent[0] + 1):
        i = I if kinds[0] == 0 else 2 * I - 1
        for J in range(1, coarse_extent[1] + 1):
            j = 2 * J - 1
            for K in range(1, coarse_extent[2] + 1):
                k = 2 * K - 1
                s = 0.0
                for p in range(_COUNT[kinds[0]]):
                    fi = _inside(i + _REACH[kinds[0], p], fine_extent[0])
                    for q in range(_COUNT[kinds[1]]):
                        fj = _inside(j + _REACH[kinds[1], q], fine_extent[1])
                        row = 0.0
                        for r in range(_COUNT[kinds[2]]):
                            fk = _inside(k + _REACH[kinds[2], r], fine_extent[2])
                            row += _SHARE[kinds[2], r] * fine[fi, fj, fk]
                        s += _SHARE[kinds[0], p] * _SHARE[kinds[1], q] * row
                if s != 0.0:  # air is not written, so its memory is never allocated
                    out[I, J, K] = factor * s


@parallel
def _coarsen_faces(active, fluid, fine_active, fine_fluid, coarse_extent, fine_extent, kinds):
    """Faces of one component on the coarse grid that may be unknowns.

    fluid: every fine face on the coarse face is fluid. active: fluid, and parent of a fine unknown (P must reproduce
    constants at a free surface, so all parents are needed).
    """
    for I in prange(1, coarse_extent[0] + 1):
        i = I if kinds[0] == 0 else 2 * I - 1
        for J in range(1, coarse_extent[1] + 1):
            j = 2 * J - 1
            for K in range(1, coarse_extent[2] + 1):
                q = 2 * K - 1
                free = i <= fine_extent[0] and j <= fine_extent[1] and q <= fine_extent[2]
                parent = False
                for p0 in range(_COUNT[kinds[0]]):
                    fi = i + _REACH[kinds[0], p0]
                    for p1 in range(_COUNT[kinds[1]]):
                        fj = j + _REACH[kinds[1], p1]
                        for p2 in range(_COUNT[kinds[2]]):
                            fk = q + _REACH[kinds[2], p2]
                            if fi < 1 or fj < 1 or fk < 1:
                                continue
                            if fi > fine_extent[0] or fj > fine_extent[1] or fk > fine_extent[2]:
                                continue
                            parent = parent or fine_active[fi, fj, fk]
                            on = (
                                (fi == i or (kinds[0] == 1 and fi == i + 1))
                                and (fj == j or (kinds[1] == 1 and fj == j + 1))
                                and (fk == q or (kinds[2] == 1 and fk == q + 1))
                            )
                            if on and not fine_fluid[fi, fj, fk]:
                                free = False
                fluid[I, J, K] = free
                if free and parent:
                    active[I, J, K] = True


@parallel
def _with_equations(active, m, k, extent, a):
    """Active faces of component a that have neither mass nor stress are none; k has six arrays, as a coarse level."""
    for I in prange(1, extent[0] + 1):
        for J in range(1, extent[1] + 1):
            for K in range(1, extent[2] + 1):
                if not active[I, J, K]:
                    continue
                d = m[I, J, K]
                if a == 0:
                    d += k[0, I, J, K] + k[0, I - 1, J, K]
                    d += k[2, I, J, K] + k[2, I, J, K + 1] + k[3, I, J, K] + k[3, I, J + 1, K]
                elif a == 1:
                    d += k[4, I, J, K] + k[4, I, J - 1, K]
                    d += k[3, I, J, K] + k[3, I + 1, J, K] + k[1, I, J, K] + k[1, I, J, K + 1]
                else:
                    d += k[5, I, J, K] + k[5, I, J, K - 1]
                    d += k[1, I, J, K] + k[1, I, J + 1, K] + k[2, I, J, K] + k[2, I + 1, J, K]
                active[I, J, K] = d > 0.0
