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


@dense
def _factor(
    L,
    stack,
    waiting,
    begins,
    state,
    places,
    letters,
    numbers,
    sizes,
    free,
    diagonal,
    least,
    data,
    indices,
    indptr,
    order,
    place,
    first,
    start,
    rows,
    parent,
    panel,
):
    """Factors of F A F + (I - F), with `diagonal` in place of that of A on the free rows.

    `state` is what to do and what was done: the first front, the one behind the last, how many updates wait on the
    stack, how many pivots were replaced, and the first front whose children may lie below other updates. A pivot that
    is not positive, or at most `least` of its diagonal, becomes so large that its unknown stays zero.
    """
    lower = letters.ctypes.data
    plain, turned, right = lower + 1, lower + 2, lower + 3
    one, minus = numbers.ctypes.data, numbers.ctypes.data + 8
    at = sizes.ctypes.data  # wide, tall, both; then what dpotrf says, and 1
    count, replaced = state[2], 0
    top = begins[count]
    for s in range(state[0], state[1]):
        wide, tall = first[s + 1] - first[s], start[s + 1] - start[s]
        both = wide + tall
        base = panel[s]
        P = L[base : base + both * wide]
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
        U = stack[top : top + tall * tall]
        U[:] = 0.0
        later = count
        while later > 0:
            later -= 1
            c = waiting[later]
            if c < 0 or parent[c] != s:
                if s < state[4]:
                    break  # children are on top
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
        if wide <= _SMALL:
            replaced += _eliminate(P, wide, both, order, first[s], diagonal, free, least)
        else:
            sizes[0], sizes[1], sizes[2] = wide, tall, both
            kept = P.copy()
            dpotrf(lower, at, P.ctypes.data, at + 8, at + 12)
            poor = sizes[3] != 0
            if not poor:
                for k in range(wide):
                    row = order[first[s] + k]
                    if free[row] and P[k * both + k] ** 2 <= least * diagonal[row]:
                        poor = True
            if poor:
                P[:] = kept
                replaced += _eliminate(P, wide, both, order, first[s], diagonal, free, least)
            elif tall > 0:
                dtrsm(
                    right,
                    lower,
                    turned,
                    plain,
                    at + 4,
                    at,
                    one,
                    P.ctypes.data,
                    at + 8,
                    P.ctypes.data + 8 * wide,
                    at + 8,
                )
        if tall > 0:
            if wide <= _SMALL and tall <= 4 * _SMALL:
                for k in range(wide):
                    for j in range(tall):
                        pivot = P[k * both + wide + j]
                        if pivot != 0.0:
                            for i in range(j, tall):
                                U[j * tall + i] -= P[k * both + wide + i] * pivot
            else:
                sizes[0], sizes[1], sizes[2] = wide, tall, both
                dsyrk(
                    lower,
                    plain,
                    at + 4,
                    at,
                    minus,
                    P.ctypes.data + 8 * wide,
                    at + 8,
                    one,
                    U.ctypes.data,
                    at + 4,
                )
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
def _substitute(x, work, letters, numbers, sizes, free, last, L, order, first, start, rows, panel):
    """x = L⁻ᵀ L⁻¹ x, in the order of elimination; rows outside the free set, all behind front `last`, get zero."""
    lower = letters.ctypes.data
    plain, turned = lower + 1, lower + 2
    one = numbers.ctypes.data
    minus, zero = one + 8, one + 16
    at, by = sizes.ctypes.data, sizes.ctypes.data + 16
    fronts = first.size - 1
    for s in range(fronts):
        if s == last:
            for i in range(first[s], x.size):
                if not free[order[i]]:
                    x[i] = 0.0
        wide, tall = first[s + 1] - first[s], start[s + 1] - start[s]
        both, base = wide + tall, panel[s]
        if wide <= _SMALL:
            for k in range(wide):
                value = x[first[s] + k] / L[base + k * both + k]
                x[first[s] + k] = value
                for i in range(k + 1, wide):
                    x[first[s] + i] -= L[base + k * both + i] * value
                for i in range(tall):
                    x[rows[start[s] + i]] -= L[base + k * both + wide + i] * value
            continue
        sizes[0], sizes[1], sizes[2] = wide, tall, both
        block, head = L.ctypes.data + 8 * base, x.ctypes.data + 8 * first[s]
        dtrsv(lower, plain, plain, at, block, at + 8, head, by)
        if tall > 0:
            dgemv(
                plain,
                at + 4,
                at,
                one,
                block + 8 * wide,
                at + 8,
                head,
                by,
                zero,
                work.ctypes.data,
                by,
            )
            for i in range(tall):
                x[rows[start[s] + i]] -= work[i]
    for s in range(fronts - 1, -1, -1):
        wide, tall = first[s + 1] - first[s], start[s + 1] - start[s]
        both, base = wide + tall, panel[s]
        if wide <= _SMALL:
            for k in range(wide - 1, -1, -1):
                value = x[first[s] + k]
                for i in range(tall):
                    value -= L[base + k * both + wide + i] * x[rows[start[s] + i]]
                for i in range(k + 1, wide):
                    value -= L[base + k * both + i] * x[first[s] + i]
                x[first[s] + k] = value / L[base + k * both + k]
            continue
        sizes[0], sizes[1], sizes[2] = wide, tall, both
        block, head = L.ctypes.data + 8 * base, x.ctypes.data + 8 * first[s]
        if tall > 0:
            for i in range(tall):
                work[i] = x[rows[start[s] + i]]
            dgemv(
                turned,
                at + 4,
                at,
                minus,
                block + 8 * wide,
                at + 8,
                work.ctypes.data,
                by,
                one,
                head,
                by,
            )
        dtrsv(lower, turned, plain, at, block, at + 8, head, by)
