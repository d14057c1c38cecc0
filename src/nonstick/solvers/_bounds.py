"""Pointwise work with bounds inside a multigrid cycle."""

from ..kernels import serial


@serial
def _free_rows(free, x, r, lower, upper):
    """free_i = False if x_i sits on a bound and the residual presses it against the bound."""
    for i in range(x.size):
        free[i] = not ((x[i] <= lower[i] and r[i] < 0.0) or (x[i] >= upper[i] and r[i] > 0.0))


@serial
def _feasible_step(step, x, lower, upper):
    """step = clip(x + step, lower, upper) - x"""
    for i in range(x.size):
        step[i] = min(max(x[i] + step[i], lower[i]), upper[i]) - x[i]


@serial
def _clip(x, lower, upper):
    """x = clip(x, lower, upper)"""
    for i in range(x.size):
        x[i] = min(max(x[i], lower[i]), upper[i])
