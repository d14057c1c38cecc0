"""Fused vector passes of the active-set loop. r = b - A x throughout; maxima are taken blockwise."""

import numpy as np

from . import merged, parallel, prange, serial
from ._vector import BLOCK

#: rounding of a row, in units of the machine's precision: products, their sum, and the last bit of x
ULPS = 8 * 2.0**-52


@merged
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
    for k in prange(0, peak.size, x.size):
        top = _look_block(k, x, r, bounded, rows, at, d, lower, upper, policy, slack, flips, whole)
        peak[k] = top if whole else max(peak[k], top)


@parallel
def _advance(x, r, p, q, alpha, bounded, peak, rows, at, d, lower, upper, policy, slack, flips):
    """x += alpha p, r -= alpha q, and policy and residual while they are in the cache."""
    n = x.size
    for k in prange(0, peak.size, x.size):
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


@merged
def _natural(x, g, d, lower, upper):
    """d (x - clip(x - g/d, lower, upper)) of a row."""
    r = g
    if lower > -np.inf:
        r = min(r, d * (x - lower))
    if upper < np.inf:
        r = max(r, d * (x - upper))
    return r


@merged
def _row_error(r, x, g, b, d, m, width, plain, scaled, atol):
    """The error of a row with the natural residual r, the terms m and a box of this width."""
    r, own = abs(r), d * abs(x)
    floor = ULPS * min(d * plain, np.sqrt(max(d, 0.0)) * scaled)
    if r <= atol or abs(g) <= ULPS * (m + abs(b)) + floor or r <= ULPS * own + floor:
        return 0.0
    allowed = min(m, d * width) if width < np.inf and d > 0.0 else m
    return r / allowed if allowed > 0.0 and r == r else np.inf


@parallel
def _block_kkt(peak, x, g, d, lower, upper):
    """peak[k] = max over block k of |clip(g, d (x - upper), d (x - lower))|; NaN stays NaN."""
    n = x.size
    for k in prange(0, peak.size, x.size):
        top = 0.0
        for t in range(k * BLOCK, min(n, (k + 1) * BLOCK)):
            v = _natural(x[t], g[t], d[t], lower[t], upper[t])
            top = max(top, abs(v)) if not (np.isnan(v) or np.isnan(x[t])) else np.nan
            if np.isnan(top):
                break
        peak[k] = top


def kkt_peak(x: np.ndarray, g: np.ndarray, d: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """The largest entry of the natural residual of a box problem."""
    peak = np.zeros(-(-x.size // BLOCK))
    _block_kkt(peak, x, g, d, lower, upper)
    return float(peak.max(initial=0.0))
