"""Fused vector passes of the active-set loop. r = b - A x throughout; maxima are taken blockwise."""

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
    sides only if its residual exceeds `slack`: rows already within tolerance are left in peace, so rounding
    at ties cannot restart the iteration.
    """
    n = rows.size
    for k in prange(peak.size):
        top = 0.0
        count = 0
        for e in range(k * BLOCK, min(n, (k + 1) * BLOCK)):
            t = rows[e]
            g = -r[t]
            down = d[t] * (x[t] - lower[t])
            up = d[t] * (x[t] - upper[t])
            residual = max(min(g, down), up)
            top = max(top, abs(residual))
            side = 0
            if down < g:
                side = -1
            elif up > g:
                side = 1
            if side != active[t] and abs(residual) > slack:
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
