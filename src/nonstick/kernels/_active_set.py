"""Fused vector passes of the active-set loop. r = b - A x throughout; maxima are taken blockwise."""

import numpy as np
from numba import prange

from . import parallel

BLOCK = 4096


@parallel
def _advance(x, r, p, q, alpha, bounded, peak):
    """x += alpha p, r -= alpha q; peak[k] = max|r| over the rows of block k that have no bound."""
    n = x.size
    for k in prange(peak.size):
        top = 0.0
        for t in range(k * BLOCK, min(n, (k + 1) * BLOCK)):
            x[t] += alpha * p[t]
            v = r[t] - alpha * q[t]
            r[t] = v
            if bounded[t] == 0:
                top = max(top, abs(v))
        peak[k] = top


@parallel
def _peak_unbounded(r, bounded, peak):
    """peak[k] = max|r| over the rows of block k that have no bound."""
    n = r.size
    for k in prange(peak.size):
        top = 0.0
        for t in range(k * BLOCK, min(n, (k + 1) * BLOCK)):
            if bounded[t] == 0:
                top = max(top, abs(r[t]))
        peak[k] = top


@parallel
def _judge(active, x, r, d, lower, upper, rows, slack, peak, flips):
    """New policy on the bounded rows, and their natural residual.

    peak[k], flips[k]: largest residual and number of policy changes in block k of `rows`. A row changes
    sides only if it is further than `slack` from the tie d·(x - bound) = g, so rounding at ties cannot
    restart the iteration.
    """
    n = rows.size
    for k in prange(peak.size):
        top = 0.0
        count = 0
        for e in range(k * BLOCK, min(n, (k + 1) * BLOCK)):
            t = rows[e]
            g = -r[t]
            below = g - d[t] * (x[t] - lower[t])  # > 0: the step -g/d leads below the box
            above = g - d[t] * (x[t] - upper[t])  # < 0: it leads above
            top = max(top, abs(max(min(g, g - below), g - above)))
            side = 0
            gap = min(-below, above)
            if below > 0.0:
                side = -1
                gap = below
            elif above < 0.0:
                side = 1
                gap = -above
            if side != active[t] and gap > slack:
                active[t] = side
                count += 1
        peak[k] = top
        flips[k] = count


@parallel
def _clip(x, lower, upper, active, rows):
    """Feasible x; clamped rows sit on their bound."""
    for e in prange(rows.size):
        t = rows[e]
        if active[t] < 0:
            x[t] = lower[t]
        elif active[t] > 0:
            x[t] = upper[t]
        else:
            x[t] = min(max(x[t], lower[t]), upper[t])


@parallel
def _zero_clamped(z, active, rows):
    """Corrections stay zero on clamped rows, whatever the preconditioner made of them."""
    for e in prange(rows.size):
        if active[rows[e]] != 0:
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
