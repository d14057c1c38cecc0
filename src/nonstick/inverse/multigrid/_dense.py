"""Small dense systems, in one thread: calling a threaded library for fifty unknowns costs more than solving them."""

from ...kernels import serial


@serial
def _factor(L, tolerance):
    """`A = L E Lᵀ` in place, E on the diagonal, L below it; returns the number of pivots below tolerance·diagonal."""
    n = L.shape[0]
    lost = 0
    for j in range(n):
        pivot = L[j, j]
        for k in range(j):
            pivot -= L[j, k] * L[j, k] * L[k, k]
        if pivot <= tolerance * L[j, j]:
            lost += 1
            pivot = 0.0
        L[j, j] = pivot
        for i in range(j + 1, n):
            if pivot > 0.0:
                s = L[i, j]
                for k in range(j):
                    s -= L[i, k] * L[j, k] * L[k, k]
                L[i, j] = s / pivot
            else:
                L[i, j] = 0.0
    return lost


@serial
def _substitute(x, L, b):
    """x = (L E Lᵀ)⁻¹ b"""
    n = L.shape[0]
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= L[i, k] * x[k]
        x[i] = s
    for i in range(n - 1, -1, -1):
        s = x[i] / L[i, i]
        for k in range(i + 1, n):
            s -= L[k, i] * x[k]
        x[i] = s
