"""Fused vector passes of the active-set loop. r = b - A x throughout; maxima are taken blockwise."""

import numpy as np

from . import inline, parallel, prange, serial

BLOCK = 4096


@inline
def _look_block(k, x, r, bounded, rows, at, d, lower, upper, policy, slack, flips, whole):
    """Policy of the bounded rows of block k, and the largest residual (of the bounded rows, or of the whole block)."""
    top = 0.0
    if whole:
        for t in range(k * BLOCK, min(x.size, (k + 1) * BLOCK)):
            if bounded[t] == 0:
                top = max(top, abs(r[t]))
    count = 0
    for e in range(at[k], at[k + 1]):
        t = rows[e]
        g = -r[t]
        below = g - d[e] * (x[t] - lower[e])  # > 0: the step -g/d leads below the box
        above = g - d[e] * (x[t] - upper[e])  # < 0: it leads above
        top = max(top, abs(max(min(g, g - below), g - above)))
        side = 0
        gap = min(-below, above)
        if below > 0.0:
            side = -1
            gap = below
        elif above < 0.0:
            side = 1
            gap = -above
        if side != policy[e] and gap > slack:
            policy[e] = side
            count += 1
    flips[k] = count
    return top


@parallel
def _look(x, r, bounded, peak, rows, at, d, lower, upper, policy, slack, flips, whole):
    """New policy on the bounded rows, and the natural residual: its largest entry in block k is peak[k].

    The bounded rows of block k are rows[at[k]:at[k + 1]]; d, lower, upper and policy belong to bounded rows alone.
    A row changes its policy only if it is further than `slack` from the tie d·(x - bound) = g, so rounding at ties
    cannot restart the iteration. flips[k] counts the changes. Without `whole`, rows without bounds are not read, and
    peaks only grow.
    """
    for k in prange(peak.size):
        top = _look_block(k, x, r, bounded, rows, at, d, lower, upper, policy, slack, flips, whole)
        peak[k] = top if whole else max(peak[k], top)


@parallel
def _advance(x, r, p, q, alpha, bounded, peak, rows, at, d, lower, upper, policy, slack, flips):
    """x += alpha p, r -= alpha q, and policy and residual while they are in the cache."""
    n = x.size
    for k in prange(peak.size):
        for t in range(k * BLOCK, min(n, (k + 1) * BLOCK)):
            x[t] += alpha * p[t]
            r[t] -= alpha * q[t]
        peak[k] = _look_block(k, x, r, bounded, rows, at, d, lower, upper, policy, slack, flips, True)


@serial
def _clamp(moved, x, rows, lower, upper, policy, which):
    """Put clamped rows among the bounded rows `which` on their bound, and the others inside the box.

    `moved` lists the unknowns that this has moved; returns their number.
    """
    count = 0
    for m in range(which.size):
        e = which[m]
        t = rows[e]
        if policy[e] < 0:
            v = lower[e]
        elif policy[e] > 0:
            v = upper[e]
        else:
            v = min(max(x[t], lower[e]), upper[e])
        if x[t] != v:
            x[t] = v
            moved[count] = t
            count += 1
    return count


@serial
def _zero_clamped(z, rows, policy):
    """Set directions to zero on clamped rows."""
    for e in range(rows.size):
        if policy[e] != 0:
            z[rows[e]] = 0.0


@parallel
def _block_kkt(peak, x, g, d, lower, upper):
    """peak[k] = max over block k of |clip(g, d (x - upper), d (x - lower))|; NaN stays NaN."""
    n = x.size
    for k in prange(peak.size):
        top = 0.0
        for t in range(k * BLOCK, min(n, (k + 1) * BLOCK)):
            v = g[t]
            if lower[t] > -np.inf:
                v = min(v, d[t] * (x[t] - lower[t]))
            if upper[t] < np.inf:
                v = max(v, d[t] * (x[t] - upper[t]))
            top = max(top, abs(v)) if not (np.isnan(v) or np.isnan(x[t])) else np.nan
            if np.isnan(top):
                break
        peak[k] = top


def kkt_peak(x: np.ndarray, g: np.ndarray, d: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """The largest entry of the natural residual of a box problem."""
    peak = np.zeros(-(-x.size // BLOCK))
    _block_kkt(peak, x, g, d, lower, upper)
    return float(peak.max(initial=0.0))
