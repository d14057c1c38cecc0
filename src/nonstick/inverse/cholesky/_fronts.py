"""The numbers of a factor: one dense elimination after the other (multifrontal, Duff and Reid 1983).

Front s has `wide` columns that are eliminated and `tall` rows that they update. Its columns of L, (wide + tall) × wide,
are stored in Fortran order, with the triangle above the diagonal unused. The update, tall × tall, waits on a stack for
the parent.

BLAS and LAPACK are those of SciPy. A kernel that calls them is decorated with `dense`: it finds them by name when it is
loaded. Every argument is an address: of an array (`a.ctypes.data`), of a number (an array of one), of a letter. The
arrays that hold letters and numbers are arguments of a kernel, because numba frees an array of its own after the last
use that it knows of.
"""

import ctypes
from typing import NamedTuple

import llvmlite.binding as llvm
import numpy as np
from numba import types

from ...kernels import _decorator

#: the routine, and the number of its arguments
_ROUTINES = {"dpotrf": 5, "dtrsm": 11, "dsyrk": 10, "dtrsv": 8, "dgemv": 11}
_known = False


def _start() -> None:
    """Tell the loader of kernels the addresses."""
    global _known
    if _known:
        return
    from scipy.linalg import cython_blas, cython_lapack  # slow to load

    address, name = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_GetName
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    for routine in _ROUTINES:
        capsule = (cython_lapack if routine == "dpotrf" else cython_blas).__pyx_capi__[routine]
        llvm.add_symbol(f"nonstick_{routine}", address(capsule, name(capsule)))
    _known = True


def _external(routine: str) -> types.ExternalFunction:
    return types.ExternalFunction(f"nonstick_{routine}", types.void(*[types.intp] * _ROUTINES[routine]))


dpotrf, dtrsm, dsyrk, dtrsv, dgemv = map(_external, _ROUTINES)
dense = _decorator(prepare=_start, fastmath={"contract"})

#: fronts this small are eliminated by plain loops: a call of BLAS costs more
_SMALL = 6


class Blas(NamedTuple):
    """Letters, numbers and sizes whose addresses BLAS takes: "LNTR"; 1, -1, 0; wide, tall, both, a result, and 1."""

    letters: np.ndarray
    numbers: np.ndarray
    sizes: np.ndarray


@dense
def _factor(L, stack, waiting, begins, state, places, blas, free, diagonal, least, matrix, tree):
    """Factors of F A F + (I - F), with `diagonal` in place of that of A on the free rows.

    `state` is what to do and what was done: the first front, the one behind the last, how many updates wait on the
    stack, how many pivots were replaced, and the first front whose children may lie below other updates. A pivot that
    is not positive, or at most `least` of its diagonal, becomes so large that its unknown stays zero. `matrix` are the
    arrays of A in CSR form, `tree` are its `Fronts`.
    """
    first, start = tree.first, tree.start
    count, replaced = state[2], 0
    top = begins[count]
    for s in range(state[0], state[1]):
        wide, tall = first[s + 1] - first[s], start[s + 1] - start[s]
        P = L[tree.panel[s] : tree.panel[s] + (wide + tall) * wide]
        U = stack[top : top + tall * tall]
        _gather_entries(P, places, s, free, diagonal, matrix, tree)
        U[:] = 0.0
        count = _add_updates(P, U, s, count, s >= state[4], stack, waiting, begins, places, free, tree)
        replaced += _columns(P, wide, tall, first[s], blas, free, diagonal, least, tree.order)
        if tall > 0:
            _update(U, P, wide, tall, blas)
            begin = begins[count]
            if begin != top:
                for k in range(tall * tall):
                    stack[begin + k] = stack[top + k]
            waiting[count] = s
            count += 1
            top = begin + tall * tall
            begins[count] = top
        else:
            top = begins[count]
    state[2], state[3] = count, replaced


@dense
def _gather_entries(P, places, s, free, diagonal, matrix, tree):
    """The columns of front s from A on the free rows, and the places of its rows in them."""
    data, indices, indptr = matrix
    order, place, first, start, rows = tree.order, tree.place, tree.first, tree.start, tree.rows
    wide, tall = first[s + 1] - first[s], start[s + 1] - start[s]
    both = wide + tall
    P[:] = 0.0
    for k in range(wide):
        places[first[s] + k] = k
    for k in range(tall):
        places[rows[start[s] + k]] = wide + k
    for k in range(wide):
        row = order[first[s] + k]
        if not free[row]:
            P[k * both + k] = 1.0
            continue
        for q in range(indptr[row], indptr[row + 1]):
            column = indices[q]
            i = place[column]
            if i > first[s] + k and free[column]:
                P[k * both + places[i]] = data[q]
        P[k * both + k] = diagonal[row]


@dense
def _add_updates(P, U, s, count, anywhere, stack, waiting, begins, places, free, tree):
    """Add the updates of the children of front s; returns how many updates wait then.

    The children are on top of the stack, or `anywhere` in it.
    """
    order, start, rows = tree.order, tree.start, tree.rows
    wide, tall = tree.first[s + 1] - tree.first[s], start[s + 1] - start[s]
    both, later = wide + tall, count
    while later > 0:
        later -= 1
        c = waiting[later]
        if c < 0 or tree.parent[c] != s:
            if not anywhere:
                break
            continue
        waiting[later] = -1
        size = start[c + 1] - start[c]
        V = stack[begins[later] : begins[later] + size * size]
        for k in range(size):
            j = places[rows[start[c] + k]]
            if not free[order[rows[start[c] + k]]]:
                continue
            if j < wide:
                for e in range(k, size):
                    if free[order[rows[start[c] + e]]]:
                        P[j * both + places[rows[start[c] + e]]] += V[k * size + e]
            else:
                for e in range(k, size):
                    if free[order[rows[start[c] + e]]]:
                        U[(j - wide) * tall + places[rows[start[c] + e]] - wide] += V[k * size + e]
    while count > 0 and waiting[count - 1] < 0:
        count -= 1
    return count


@dense
def _columns(P, wide, tall, begin, blas, free, diagonal, least, order):
    """Columns of L of one front; returns how many pivots were replaced."""
    both = wide + tall
    if wide <= _SMALL:
        return _eliminate(P, wide, both, order, begin, diagonal, free, least)
    sizes, at = blas.sizes, blas.sizes.ctypes.data
    lower = blas.letters.ctypes.data
    plain, turned, right = lower + 1, lower + 2, lower + 3
    sizes[0], sizes[1], sizes[2] = wide, tall, both
    kept, block = P.copy(), P.ctypes.data
    dpotrf(lower, at, block, at + 8, at + 12)
    poor = sizes[3] != 0
    if not poor:
        for k in range(wide):
            row = order[begin + k]
            if free[row] and P[k * both + k] ** 2 <= least * diagonal[row]:
                poor = True
    if poor:
        P[:] = kept
        return _eliminate(P, wide, both, order, begin, diagonal, free, least)
    if tall > 0:
        one = blas.numbers.ctypes.data
        dtrsm(right, lower, turned, plain, at + 4, at, one, block, at + 8, block + 8 * wide, at + 8)
    return 0


@dense
def _update(U, P, wide, tall, blas):
    """What the columns of a front change in the rows below them."""
    both = wide + tall
    if wide <= _SMALL and tall <= 4 * _SMALL:
        for k in range(wide):
            for j in range(tall):
                pivot = P[k * both + wide + j]
                if pivot != 0.0:
                    for i in range(j, tall):
                        U[j * tall + i] -= P[k * both + wide + i] * pivot
        return
    sizes, at, lower, one = blas.sizes, blas.sizes.ctypes.data, blas.letters.ctypes.data, blas.numbers.ctypes.data
    sizes[0], sizes[1], sizes[2] = wide, tall, both
    dsyrk(lower, lower + 1, at + 4, at, one + 8, P.ctypes.data + 8 * wide, at + 8, one, U.ctypes.data, at + 4)


@dense
def _eliminate(P, wide, both, order, begin, diagonal, free, least):
    """Columns of L of one front by plain loops; a pivot without a meaning makes its unknown zero."""
    replaced = 0
    for k in range(wide):
        row = order[begin + k]
        pivot = P[k * both + k]
        if not pivot > (least * diagonal[row] if free[row] else 0.0):
            replaced += 1
            P[k * both + k] = 1e150
            for i in range(k + 1, both):
                P[k * both + i] = 0.0
            continue
        root = np.sqrt(pivot)
        P[k * both + k] = root
        for i in range(k + 1, both):
            P[k * both + i] /= root
        for j in range(k + 1, wide):
            factor = P[k * both + j]
            if factor != 0.0:
                for i in range(j, both):
                    P[j * both + i] -= P[k * both + i] * factor
    return replaced


@dense
def _substitute(x, work, blas, free, L, tree):
    """x = L⁻ᵀ L⁻¹ x, in the order of elimination; rows outside the free set, all in the last fronts, get zero."""
    fronts = tree.first.size - 1
    for s in range(fronts):
        if s == tree.last:
            for i in range(tree.first[s], x.size):
                if not free[tree.order[i]]:
                    x[i] = 0.0
        _forward(x, work, blas, s, L, tree.first, tree.start, tree.rows, tree.panel[s])
    for s in range(fronts - 1, -1, -1):
        _backward(x, work, blas, s, L, tree.first, tree.start, tree.rows, tree.panel[s])


@dense
def _forward(x, work, blas, s, L, first, start, rows, base):
    """One front of L⁻¹ x."""
    wide, tall = first[s + 1] - first[s], start[s + 1] - start[s]
    both = wide + tall
    if wide <= _SMALL:
        for k in range(wide):
            value = x[first[s] + k] / L[base + k * both + k]
            x[first[s] + k] = value
            for i in range(k + 1, wide):
                x[first[s] + i] -= L[base + k * both + i] * value
            for i in range(tall):
                x[rows[start[s] + i]] -= L[base + k * both + wide + i] * value
        return
    sizes, at, lower, one = blas.sizes, blas.sizes.ctypes.data, blas.letters.ctypes.data, blas.numbers.ctypes.data
    plain, by, zero = lower + 1, at + 16, one + 16
    sizes[0], sizes[1], sizes[2] = wide, tall, both
    block, head = L.ctypes.data + 8 * base, x.ctypes.data + 8 * first[s]
    dtrsv(lower, plain, plain, at, block, at + 8, head, by)
    if tall > 0:
        dgemv(plain, at + 4, at, one, block + 8 * wide, at + 8, head, by, zero, work.ctypes.data, by)
        for i in range(tall):
            x[rows[start[s] + i]] -= work[i]


@dense
def _backward(x, work, blas, s, L, first, start, rows, base):
    """One front of L⁻ᵀ x."""
    wide, tall = first[s + 1] - first[s], start[s + 1] - start[s]
    both = wide + tall
    if wide <= _SMALL:
        for k in range(wide - 1, -1, -1):
            value = x[first[s] + k]
            for i in range(tall):
                value -= L[base + k * both + wide + i] * x[rows[start[s] + i]]
            for i in range(k + 1, wide):
                value -= L[base + k * both + i] * x[first[s] + i]
            x[first[s] + k] = value / L[base + k * both + k]
        return
    sizes, at, lower, one = blas.sizes, blas.sizes.ctypes.data, blas.letters.ctypes.data, blas.numbers.ctypes.data
    plain, turned, by = lower + 1, lower + 2, at + 16
    sizes[0], sizes[1], sizes[2] = wide, tall, both
    block, head = L.ctypes.data + 8 * base, x.ctypes.data + 8 * first[s]
    if tall > 0:
        for i in range(tall):
            work[i] = x[rows[start[s] + i]]
        dgemv(turned, at + 4, at, one + 8, block + 8 * wide, at + 8, work.ctypes.data, by, one, head, by)
    dtrsv(lower, turned, plain, at, block, at + 8, head, by)
