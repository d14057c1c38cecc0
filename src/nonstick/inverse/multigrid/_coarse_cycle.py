"""Relaxation and transfers on the unstructured coarse levels of the fast cycle (float32, red first).

`_run_program` walks a whole multigrid cycle over all small levels in one serial compiled call: the levels
lie one after the other in packed arrays, and the cycle is a list of (operation, level) pairs. Starting
threads, or returning to Python, would cost more than the work on these levels.
"""

import numpy as np
from numba import prange

from ...kernels import inline, parallel, serial

RED_FROM_ZERO, RED, BLACK, RESTRICT, PROLONG, SOLVE = 0, 1, 2, 3, 4, 5
ZERO, FORWARD, BACKWARD, RESTRICT_ALL, PROLONG_ALL = 6, 7, 8, 9, 10


@parallel
def _csr_start_red(x, b, dinv, red):
    for i in prange(red):
        x[i] = b[i] * dinv[i]


@parallel
def _csr_relax_rows(x, b, dinv, data, indices, indptr, first, last):
    """Gauss–Seidel on rows of one colour."""
    for i in prange(first, last):
        s = b[i]
        for q in range(indptr[i], indptr[i + 1]):
            s += data[q] * x[indices[q]]
        x[i] = s * dinv[i]


@parallel
def _csr_red_residual(r, x, b, dinv, data, indices, indptr, red):
    """Residual of red rows; black ones were relaxed last and have none."""
    for i in prange(red):
        if dinv[i] > np.float32(0):
            s = b[i]
            for q in range(indptr[i], indptr[i + 1]):
                s += data[q] * x[indices[q]]
            r[i] = s - x[i] / dinv[i]
        else:
            r[i] = np.float32(0)


@serial
def _sum_children(coarse, r, parent, red):
    coarse[:] = 0
    for i in range(red):
        coarse[parent[i]] += r[i]


@parallel
def _csr_prolong(x, dinv, coarse, parent, red):
    for i in prange(red):
        if dinv[i] > np.float32(0):
            x[i] += coarse[parent[i]]


@inline
def _relax(x, b, dinv, data, indices, indptr, row0, ptr0, nnz0, first, last, step):
    for i in range(first, last, step):
        s = b[row0 + i]
        for q in range(nnz0 + indptr[ptr0 + i], nnz0 + indptr[ptr0 + i + 1]):
            s += data[q] * x[row0 + indices[q]]
        x[row0 + i] = s * dinv[row0 + i]


@serial
def _run_program(program, x, b, dinv, data, indices, indptr, parent, rows, reds, row0, nnz0):
    """Execute `program` on packed levels: level l has rows[l] unknowns from row0[l], entries from nnz0[l]."""
    for step in range(program.shape[0]):
        op = program[step, 0]
        l = program[step, 1]
        r0 = row0[l]
        p0 = row0[l] + l  # indptr has one more entry per level
        q0 = nnz0[l]
        n = rows[l]
        red = reds[l]
        if op == RED_FROM_ZERO:
            for i in range(r0, r0 + red):
                x[i] = b[i] * dinv[i]
        elif op == RED:
            _relax(x, b, dinv, data, indices, indptr, r0, p0, q0, 0, red, 1)
        elif op == BLACK:
            _relax(x, b, dinv, data, indices, indptr, r0, p0, q0, red, n, 1)
        elif op == FORWARD:
            _relax(x, b, dinv, data, indices, indptr, r0, p0, q0, 0, n, 1)
        elif op == BACKWARD:
            _relax(x, b, dinv, data, indices, indptr, r0, p0, q0, n - 1, -1, -1)
        elif op == ZERO:
            for i in range(r0, r0 + n):
                x[i] = 0
        elif op in (RESTRICT, RESTRICT_ALL):
            red = red if op == RESTRICT else n
            c0 = row0[l + 1]
            for i in range(c0, c0 + rows[l + 1]):
                b[i] = 0
            for i in range(red):
                if dinv[r0 + i] > np.float32(0):
                    s = b[r0 + i]
                    for q in range(q0 + indptr[p0 + i], q0 + indptr[p0 + i + 1]):
                        s += data[q] * x[r0 + indices[q]]
                    b[c0 + parent[r0 + i]] += s - x[r0 + i] / dinv[r0 + i]
        elif op in (PROLONG, PROLONG_ALL):
            red = red if op == PROLONG else n
            c0 = row0[l + 1]
            for i in range(red):
                if dinv[r0 + i] > np.float32(0):
                    x[r0 + i] += x[c0 + parent[r0 + i]]
        else:
            for i in range(r0, r0 + n):
                x[i] = b[i] * dinv[i]
