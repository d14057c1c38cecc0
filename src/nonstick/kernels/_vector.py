"""Vector operations with a fixed order of summation, so that a run is bit-identical for any thread count."""

import numpy as np

from . import parallel, parallel_sum, prange

BLOCK = 4096


@parallel_sum
def _block_dot(partial, x, y):
    """partial[k] = sum of x*y over block k, in float64."""
    n = x.size
    for k in prange(partial.size):
        s = 0.0
        for t in range(k * BLOCK, min(n, (k + 1) * BLOCK)):
            s += x[t] * y[t]
        partial[k] = s


def dot(x: np.ndarray, y: np.ndarray) -> float:
    """x . y, deterministic."""
    partial = np.empty(-(-x.size // BLOCK))
    _block_dot(partial, x, y)
    return float(partial.sum())


@parallel_sum
def _block_dot32(partial, x, y):
    """The same for float32 vectors, still summed in float64."""
    n = x.size
    for k in prange(partial.size):
        s = 0.0
        for t in range(k * BLOCK, min(n, (k + 1) * BLOCK)):
            s += np.float64(x[t]) * np.float64(y[t])
        partial[k] = s


def block_dot32(x: np.ndarray, y: np.ndarray) -> float:
    """x . y of float32 vectors, deterministic."""
    partial = np.empty(-(-x.size // BLOCK))
    _block_dot32(partial, x, y)
    return float(partial.sum())


@parallel_sum
def _block_peak(peak, total, x):
    """For each block, the largest absolute value (NaN if an entry is NaN) and the sum."""
    n = x.size
    for k in prange(peak.size):
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
    for t in prange(y.size):
        y[t] += alpha * x[t]


@parallel
def _xpby(y, x, beta):
    """y = x + beta y"""
    for t in prange(y.size):
        y[t] = x[t] + beta * y[t]
