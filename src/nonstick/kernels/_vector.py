"""Vector operations with a fixed order of summation, so that a run is bit-identical for any thread count."""

import numpy as np

from . import parallel, parallel_sum, prange

BLOCK = 4096


@parallel_sum
def _block_dot(partial, x, y):
    """partial[k] = sum of x*y over block k, in float64."""
    n = x.size
    for k in prange(0, partial.size, x.size):
        s = 0.0
        for t in range(k * BLOCK, min(n, (k + 1) * BLOCK)):
            s += np.float64(x[t]) * np.float64(y[t])
        partial[k] = s


def dot(x: np.ndarray, y: np.ndarray) -> float:
    """x . y of vectors in double or single precision, summed in double precision, deterministic."""
    partial = np.empty(-(-x.size // BLOCK))
    _block_dot(partial, x, y)
    return float(partial.sum())


@parallel_sum
def _block_peak(peak, total, x):
    """For each block, the largest absolute value (NaN if an entry is NaN) and the sum."""
    n = x.size
    for k in prange(0, peak.size, x.size):
        s = 0.0
        top = 0.0
        for t in range(k * BLOCK, min(n, (k + 1) * BLOCK)):
            s += x[t]
            top = max(top, abs(x[t]))
        peak[k] = top if s == s else s
        total[k] = s


def peak_and_sum(x: np.ndarray) -> tuple[float, float]:
    """The largest absolute value of a vector (NaN if an entry is NaN) and the sum, deterministic."""
    peak, total = np.zeros((2, -(-x.size // BLOCK)))
    _block_peak(peak, total, x)
    return float(peak.max(initial=0.0)), float(total.sum())


@parallel
def _axpy(y, alpha, x):
    """y += alpha x"""
    for t in prange(0, y.size, y.size):
        y[t] += alpha * x[t]


@parallel
def _xpby(y, x, beta):
    """y = x + beta y"""
    for t in prange(0, y.size, y.size):
        y[t] = x[t] + beta * y[t]


@parallel_sum
def _coefficients(partial, V, w, count):
    """partial[k, i] = the part of V[i]ᵀw in block k, for the first `count` vectors."""
    for k in prange(0, partial.shape[0], w.size):
        for i in range(count):
            s = 0.0
            for t in range(k * BLOCK, min(w.size, (k + 1) * BLOCK)):
                s += V[i, t] * w[t]
            partial[k, i] = s


@parallel
def _add_combination(w, V, h, count):
    """w += Σ h[i] V[i] over the first `count` vectors."""
    for k in prange(0, -(-w.size // BLOCK), w.size):
        for i in range(count):
            for t in range(k * BLOCK, min(w.size, (k + 1) * BLOCK)):
                w[t] += h[i] * V[i, t]
