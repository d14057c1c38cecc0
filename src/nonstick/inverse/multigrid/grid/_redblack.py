"""The float32 fine level of the fast cycle: unknowns split by colour, so every half-sweep runs unit-stride.

Red unknowns (i + j + k even) and black unknowns are numbered separately, each in C order. A face joins one red
and one black cell, so all face weights are kept with the red cell: `w[f, q]`, f = -x +x -y +y -z +z.
Within a segment of the row layout the neighbours of consecutive red cells are consecutive black cells:
`roff[s, f]` is the constant distance from a red number to the black number of its neighbour, `boff`
the same from black to red. A missing x or y neighbour has distance 0 and weight 0 (red) or distance
MISSING and factor 0 (black). Segments are not cut at the ends of a run along z, so the distance there points to an
unrelated cell: weights along z are stored for black too (`w[6]`, `w[7]`) and are zero there. Arrays are longer than the
larger colour, so no distance points outside them.

A cell outside the free set has `dinv = 0`: it keeps the correction 0, and its residual is not restricted.
`groups` cuts the segments into pieces of equal work that end between coarse cells, one per thread.
"""

import numpy as np

from ....kernels import merged, parallel, parallel_sum, prange, serial
from ....kernels._blocks import _segment_of

u64 = np.uint64
#: no black-to-red neighbour; 0 cannot mean this, because a black cell and its red neighbour may have the same number
MISSING = -(2**62)


@serial
def _split_starts(rstart, bstart, start, parity):
    """First number of each segment within its colour."""
    red = 0
    black = 0
    for s in range(start.size - 1):
        rstart[s] = red
        bstart[s] = black
        size = start[s + 1] - start[s]
        red += (size + 1 - parity[s]) >> 1
        black += (size + parity[s]) >> 1
    rstart[start.size - 1] = red
    bstart[start.size - 1] = black


@merged
def _split_number(t, s, start, parity, rstart, bstart):
    """Number of unknown t, which lies in segment s, within its colour."""
    k = t - start[s]
    return bstart[s] + ((k - (1 - parity[s])) >> 1) if (k + parity[s]) & 1 else rstart[s] + ((k - parity[s]) >> 1)


@serial
def _split_offsets(roff, boff, start, offset, parity, rstart, bstart):
    """Constant distances of each segment, within colours."""
    near = np.zeros(6, np.int64)  # segment of the last neighbour on each side: it ascends with the segments
    for s in range(start.size - 1):
        for f in range(6):
            roff[s, f] = 0
            boff[s, f] = MISSING if f < 4 else 0
            if offset[s, f] != 0:
                # Along z the first cell of a segment may have no left neighbour, and the last cell no right neighbour:
                # take the left distance from the last two cells and the other distances from the first two.
                first = max(start[s], start[s + 1] - 2) if f == 4 else start[s]
                for t in range(first, min(first + 2, start[s + 1])):
                    u = t + offset[s, f]
                    while start[near[f] + 1] <= u:
                        near[f] += 1
                    there = _split_number(u, near[f], start, parity, rstart, bstart)
                    distance = there - _split_number(t, s, start, parity, rstart, bstart)
                    if (t - start[s] + parity[s]) & 1:
                        boff[s, f] = distance
                    else:
                        roff[s, f] = distance


@parallel
def _split_weights(w, w0, w1, w2, scale, start, offset, parity, rstart, bstart, groups):
    """w[f, q] = scale times the weight of face f of red cell q; w[6], w[7] those of black cells along z."""
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            xm, xp, ym, yp, zm, zp = offset[s]
            q = rstart[s]
            for t in range(start[s] + parity[s], start[s + 1], 2):
                w[0, q] = scale * w0[t + xm] if xm != 0 else 0.0
                w[1, q] = scale * w0[t]
                w[2, q] = scale * w1[t + ym] if ym != 0 else 0.0
                w[3, q] = scale * w1[t]
                w[4, q] = scale * w2[t + zm] if zm != 0 else 0.0
                w[5, q] = scale * w2[t]
                q += 1
            q = bstart[s]
            for t in range(start[s] + 1 - parity[s], start[s + 1], 2):
                w[6, q] = scale * w2[t + zm] if zm != 0 else 0.0
                w[7, q] = scale * w2[t]
                q += 1


@parallel
def _split_inverse_diagonal(rdinv, bdinv, d, active, scale, start, parity, rstart, bstart, groups):
    """1/(scale d) on free rows with a diagonal, 0 elsewhere."""
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            q = rstart[s]
            for t in range(start[s] + parity[s], start[s + 1], 2):
                rdinv[q] = 1.0 / (scale * d[t]) if active[t] == 0 and d[t] > 0.0 else 0.0
                q += 1
            q = bstart[s]
            for t in range(start[s] + 1 - parity[s], start[s + 1], 2):
                bdinv[q] = 1.0 / (scale * d[t]) if active[t] == 0 and d[t] > 0.0 else 0.0
                q += 1


@parallel
def _split_index(index, start, parity, rstart, bstart, black0, groups):
    """index[t] = place of unknown t in an array that holds red first and black from `black0` on."""
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            q = rstart[s]
            for t in range(start[s] + parity[s], start[s + 1], 2):
                index[t] = q
                q += 1
            q = black0 + bstart[s]
            for t in range(start[s] + 1 - parity[s], start[s + 1], 2):
                index[t] = q
                q += 1


@parallel
def _split_parent(rparent, parent, index, start, parity, rstart, groups):
    """The coarse place to which each red unknown is restricted: index[parent]."""
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            q = rstart[s]
            for t in range(start[s] + parity[s], start[s + 1], 2):
                rparent[q] = index[parent[t]]
                q += 1


@parallel
def _split_inverse_coarse(rdinv, bdinv, e, w0, w1, w2, start, offset, parity, rstart, bstart, groups):
    """1/(excess + weights) on rows that have a diagonal, 0 elsewhere."""
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            xm, xp, ym, yp, zm, zp = offset[s]
            colour = parity[s]
            red = rstart[s]
            black = bstart[s]
            for t in range(start[s], start[s + 1]):
                d = e[t] + (w0[t] + w1[t] + w2[t])
                if xm != 0:
                    d += w0[t + xm]
                if ym != 0:
                    d += w1[t + ym]
                if zm != 0:
                    d += w2[t + zm]
                # cells that enter and leave the free set leave rounding errors
                v = np.float32(1.0 / d) if d > 1e-12 else np.float32(0)
                if colour == 0:
                    rdinv[red] = v
                    red += 1
                else:
                    bdinv[black] = v
                    black += 1
                colour ^= 1


@serial
def _toggle_inverse(rdinv, bdinv, d, active, toggled, scale, start, parity, rstart, bstart):
    """Inverse diagonals of cells that entered or left the free set."""
    for m in range(toggled.size):
        t = toggled[m]
        s = _segment_of(start, t)
        k = t - start[s]
        v = 1.0 / (scale * d[t]) if active[t] == 0 and d[t] > 0.0 else 0.0
        if (k + parity[s]) & 1:
            bdinv[bstart[s] + ((k - (1 - parity[s])) >> 1)] = v
        else:
            rdinv[rstart[s] + ((k - parity[s]) >> 1)] = v


@parallel
def _relax_black(bx, bb, bdinv, rx, w, bstart, boff, groups):
    """Gauss–Seidel on black: x_b = (b_b + sum w x_r) / d_b"""
    wxm, wxp, wym, wyp, wzm, wzp = w[0], w[1], w[2], w[3], w[6], w[7]
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            xm, xp, ym, yp, zm, zp = boff[s]
            one = np.float32(1)
            zero = np.float32(0)
            h0, xm = (one, xm) if xm != MISSING else (zero, 0)
            h1, xp = (one, xp) if xp != MISSING else (zero, 0)
            h2, ym = (one, ym) if ym != MISSING else (zero, 0)
            h3, yp = (one, yp) if yp != MISSING else (zero, 0)
            xm, xp, ym, yp, zm, zp = u64(xm), u64(xp), u64(ym), u64(yp), u64(zm), u64(zp)
            for t in range(u64(bstart[s]), u64(bstart[s + 1])):
                # The face towards -x of a black cell is the +x face of its red neighbour; the same holds for y.
                bx[t] = bdinv[t] * (
                    bb[t]
                    + (h0 * wxp[t + xm] * rx[t + xm] + h1 * wxm[t + xp] * rx[t + xp])
                    + (h2 * wyp[t + ym] * rx[t + ym] + h3 * wym[t + yp] * rx[t + yp])
                    + (wzm[t] * rx[t + zm] + wzp[t] * rx[t + zp])
                )


@parallel
def _relax_red(rx, rb, rdinv, bx, w, rstart, roff, groups):
    """Gauss–Seidel on red: x_r = (b_r + sum w x_b) / d_r"""
    wxm, wxp, wym, wyp, wzm, wzp = w[0], w[1], w[2], w[3], w[4], w[5]
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            xm, xp, ym, yp, zm, zp = roff[s]
            xm, xp, ym, yp, zm, zp = u64(xm), u64(xp), u64(ym), u64(yp), u64(zm), u64(zp)
            for t in range(u64(rstart[s]), u64(rstart[s + 1])):
                rx[t] = rdinv[t] * (
                    rb[t]
                    + (wxm[t] * bx[t + xm] + wxp[t] * bx[t + xp])
                    + (wym[t] * bx[t + ym] + wyp[t] * bx[t + yp])
                    + (wzm[t] * bx[t + zm] + wzp[t] * bx[t + zp])
                )


@parallel
def _restrict_red(coarse, rx, rb, rdinv, bx, w, parent, rstart, roff, groups, fresh):
    """coarse += residual summed over children, r_r = b_r + sum w x_b - d_r x_r; black was relaxed last and has none.

    `fresh`: red was relaxed once, from zero, so b_r = d_r x_r.
    """
    wxm, wxp, wym, wyp, wzm, wzp = w[0], w[1], w[2], w[3], w[4], w[5]
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            xm, xp, ym, yp, zm, zp = roff[s]
            xm, xp, ym, yp, zm, zp = u64(xm), u64(xp), u64(ym), u64(yp), u64(zm), u64(zp)
            for t in range(u64(rstart[s]), u64(rstart[s + 1])):
                r = (
                    (wxm[t] * bx[t + xm] + wxp[t] * bx[t + xp])
                    + (wym[t] * bx[t + ym] + wyp[t] * bx[t + yp])
                    + (wzm[t] * bx[t + zm] + wzp[t] * bx[t + zp])
                )
                if rdinv[t] > np.float32(0):
                    coarse[parent[t]] += r if fresh else rb[t] + r - rx[t] / rdinv[t]


@parallel
def _prolong_red(rx, rdinv, coarse, parent, rstart, groups):
    """x_r += the coarse correction; black is relaxed next and needs no correction."""
    for g in prange(groups.size - 1):
        for t in range(rstart[groups[g]], rstart[groups[g + 1]]):
            if rdinv[t] > np.float32(0):
                rx[t] += coarse[parent[t]]


@parallel
def _enter(rx, rb, bb, b, scale, rdinv, start, parity, rstart, bstart, groups):
    """Split the right-hand side by colour (scaled, float32) and relax red from zero."""
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            q = rstart[s]
            for t in range(start[s] + parity[s], start[s + 1], 2):
                v = np.float32(scale * b[t])
                rb[q] = v
                rx[q] = v * rdinv[q]
                q += 1
            q = bstart[s]
            for t in range(start[s] + 1 - parity[s], start[s + 1], 2):
                bb[q] = np.float32(scale * b[t])
                q += 1


@parallel
def _leave(out, beta, rx, bx, scale, start, parity, rstart, bstart, groups):
    """out = scale x + beta out, in C order and float64; out is only read where beta is not 0."""
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            q = rstart[s]
            for t in range(start[s] + parity[s], start[s + 1], 2):
                out[t] = scale * rx[q] + beta * out[t] if beta != 0.0 else scale * rx[q]
                q += 1
            q = bstart[s]
            for t in range(start[s] + 1 - parity[s], start[s + 1], 2):
                out[t] = scale * bx[q] + beta * out[t] if beta != 0.0 else scale * bx[q]
                q += 1


@parallel_sum
def _inner(rho, along, q, rx, bx, rb, bb, start, parity, rstart, bstart, groups):
    """Sums over segment s: rho[s] of b x, along[s] of q x with q in C order.

    Segments do not depend on the number of threads, so neither do the sums.
    """
    for g in prange(groups.size - 1):
        for s in range(groups[g], groups[g + 1]):
            v = 0.0
            u = 0.0
            shift = start[s] + parity[s] - 2 * rstart[s]
            for m in range(rstart[s], rstart[s + 1]):
                x = np.float64(rx[m])
                v += np.float64(rb[m]) * x
                u += q[2 * m + shift] * x
            shift = start[s] + 1 - parity[s] - 2 * bstart[s]
            for m in range(bstart[s], bstart[s + 1]):
                x = np.float64(bx[m])
                v += np.float64(bb[m]) * x
                u += q[2 * m + shift] * x
            rho[s] = v
            along[s] = u
