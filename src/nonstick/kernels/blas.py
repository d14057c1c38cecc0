"""BLAS and LAPACK for kernels: dense blocks with any distance between their columns (Fortran order).

They are those of SciPy. A kernel that calls them is decorated with `dense`: it finds them by name when it is loaded.
Every argument is an address: of an array (`a.ctypes.data`), of a number (an array of one), of a letter.
"""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
from numba import types

from . import _decorator

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
