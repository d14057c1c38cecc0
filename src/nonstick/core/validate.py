"""Checks of the input. Every check says in one sentence what is wrong and where.

Valid arrays are returned as new, contiguous float64 arrays: later changes by the caller cannot reach a
running solve, and compiled kernels see one kind of argument only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import NonstickError, brief
from . import rounding

#: |a_ij - a_ji| allowed, relative to sqrt(a_ii a_jj), which bounds |a_ij| in a positive definite matrix
SYMMETRY_RTOL = rounding.HALF
#: the part of all places with an entry above which a full array is faster: 8 bytes a place, not 12 an entry and the
#: search for a column
FEW_ZEROS = 0.3


def matrix(A: Any, name: str = "A") -> sp.csr_array:
    """A real matrix with a positive diagonal as canonical CSR; A itself is not changed. `symmetric` asks for more."""
    if hasattr(A, "getValuesCSR"):
        A = _of_petsc(A, name)
    if not sp.issparse(A):
        A = _dense(A, name)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise NonstickError(f"{name} must be square, but its shape is {_by(A.shape)}")
    _real(A.dtype, name)
    if sp.issparse(A):
        _undamaged(A, name)
        if A.nnz < A.shape[0]:  # said before anything as long as the matrix is made
            raise NonstickError(
                f"{name} has {A.shape[0]} rows and {A.nnz} entries; a positive definite matrix has a positive diagonal"
            )
    A = _canonical(A)
    _sound(A, name)
    return A


def _of_petsc(A: Any, name: str) -> sp.csr_array:
    """A `petsc4py.PETSc.Mat` of one rank."""
    if A.getComm().getSize() > 1:
        raise NonstickError(
            f"{name} is a PETSc matrix of {A.getComm().getSize()} ranks; give each rank its rows by "
            "nonstick.mpi.rows.solve, or make a matrix of one rank"
        )
    indptr, indices, data = A.getValuesCSR()
    return sp.csr_array((data, indices, indptr), shape=A.getSize())


def _canonical(A: Any) -> sp.csr_array:
    if not sp.issparse(A):
        return _compressed(np.ascontiguousarray(A, dtype=np.float64))
    if sp.issparse(A) and A.dtype != np.float64:  # SciPy changes the format only for some kinds of numbers
        A = A.astype(np.float64)
    A = sp.csr_array(A, dtype=np.float64)
    if A.nnz < 2**31 - 1 and A.indices.dtype != np.int32:
        A = sp.csr_array((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), shape=A.shape)
    if not A.has_canonical_format:
        if A.nnz > FEW_ZEROS * float(A.shape[0]) * A.shape[1]:
            return _sorted(A)
        # Summing duplicates works in place, and the arrays may be the caller's. To and fro sorts in linear time.
        A = A.copy() if A.has_sorted_indices else A.tocsc().tocsr()
        A.sum_duplicates()
    return A


def _sorted(A: sp.csr_array) -> sp.csr_array:
    """A matrix with few zeros, its rows sorted and duplicates summed: a row is written out in full and read again."""
    from ..kernels._csr import _sort_rows  # loads numba

    entries = np.require(A.data, requirements="W"), *(np.require(v, requirements="W") for v in (A.indices, A.indptr))
    return _filled(A.nnz, A.shape, _sort_rows, *entries)


def _compressed(A: np.ndarray) -> sp.csr_array:
    """A full array as a matrix; SciPy takes ten times as long for a large one."""
    from ..kernels._csr import _compress  # loads numba

    return _filled(A.size, A.shape, _compress, A)


def _filled(most: int, shape: tuple[int, int], kernel: Callable[..., int], *source: np.ndarray) -> sp.csr_array:
    """A matrix of at most so many entries, of which a kernel writes the columns, in order, and the numbers."""
    wide = np.int32 if most < 2**31 - 1 else np.int64
    indices, data, indptr = np.empty(most + 1, wide), np.empty(most + 1), np.empty(shape[0] + 1, wide)
    count = kernel(indices, data, indptr, shape[1], *source)
    out = sp.csr_array((data[:count], indices[:count], indptr), shape=shape)
    out.has_canonical_format = True
    return out


def _sound(A: sp.csr_array, name: str) -> None:
    """Finite, with a positive diagonal."""
    with np.errstate(over="ignore", invalid="ignore"):  # the sum of finite numbers may overflow: then each is looked at
        whole = np.isfinite(A.data.sum())
    bad = np.flatnonzero(np.zeros(0) if whole else ~np.isfinite(A.data))
    if bad.size:
        i = int(np.searchsorted(A.indptr, bad[0], side="right")) - 1
        value = A.data[bad[0]]
        raise NonstickError(f"{name}[{i}, {A.indices[bad[0]]}] is {value}; {name} must be finite{_more(bad.size)}")
    d = A.diagonal()
    bad = np.flatnonzero(~(d > 0))
    if bad.size:
        raise NonstickError(
            f"{name}[{bad[0]}, {bad[0]}] is {d[bad[0]]:g}; a positive definite matrix has a positive diagonal"
            f"{_more(bad.size)}"
        )


def refilled(A: sp.csr_array, values: Any, name: str = "A") -> sp.csr_array:
    """A with other numbers: `values` has the pattern of A, or is a vector with an entry for each of A's."""
    if not sp.issparse(values) or (values.ndim == 1 and values.shape == (A.nnz,)):
        values = numbers(values, "values")
    if values.ndim == 2:
        _real(values.dtype, name)
        if values.shape != A.shape:  # said before anything as long as the matrix is made
            raise NonstickError(f"the shape of {name} has changed to {_by(values.shape)}; make a new Solver for it")
        _undamaged(values, name)
        M = _canonical(values)
        if M.nnz != A.nnz or not (np.array_equal(M.indptr, A.indptr) and np.array_equal(M.indices, A.indices)):
            raise NonstickError(f"the pattern of {name} has changed; make a new Solver for it")
        data = np.array(M.data)
    else:
        if values.shape != (A.nnz,):
            raise NonstickError(
                f"values has shape {_by(values.shape)}, but {name} has {A.nnz} entries; give a matrix with the same "
                "pattern, or the data of its CSR form"
            )
        data = np.array(values, dtype=np.float64)
    M = sp.csr_array((data, A.indices, A.indptr), shape=A.shape)
    _sound(M, name)
    return M


def products(A: Any, diagonal: Any, name: str = "A") -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """The function x ↦ A x and the diagonal of a LinearOperator, tried on a few vectors."""
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise NonstickError(f"{name} must be square, but its shape is {_by(A.shape)}")
    if A.dtype is not None:
        _real(np.dtype(A.dtype), name)
    if diagonal is None:
        raise NonstickError(f"{name} is a LinearOperator, which has products only; give its diagonal as diagonal=")
    n = A.shape[0]
    d = vector(diagonal, n, "diagonal")
    bad = np.flatnonzero(~(d > 0))
    if bad.size:
        raise NonstickError(
            f"diagonal[{bad[0]}] is {d[bad[0]]:g}; a positive definite matrix has a positive diagonal{_more(bad.size)}"
        )

    def product(x: np.ndarray) -> np.ndarray:
        try:
            y = np.asarray(A.matvec(x)).reshape(n)
        except ValueError as error:  # of the caller's function, or of SciPy, if its length is wrong
            raise NonstickError(
                f"a product with {name} does not have {n} entries, or failed: {brief(error)}"
            ) from error
        _real(y.dtype, f"a product with {name}")
        return y

    if n:
        _try_products(product, d, name)
    return product, d


def _try_products(product: Callable[[np.ndarray], np.ndarray], d: np.ndarray, name: str) -> None:
    """Symmetric for a pair of vectors, and the diagonal given is that of a few rows."""
    rng, scale = np.random.default_rng(0), 1.0 / np.sqrt(d)
    x, y = (scale * rng.standard_normal(d.size) for _ in range(2))
    Ax, Ay = (np.array(product(v), dtype=np.float64) for v in (x.copy(), y.copy()))
    if not (np.isfinite(Ax).all() and np.isfinite(Ay).all()):
        raise NonstickError(f"a product with {name} is not finite; check the matvec of the LinearOperator")
    size = np.linalg.norm(x / scale) * np.linalg.norm(Ay * scale) + np.linalg.norm(y / scale) * np.linalg.norm(
        Ax * scale
    )
    if abs(y @ Ax - x @ Ay) > SYMMETRY_RTOL * size:
        raise NonstickError(
            f"{name} is not symmetric: xᵀ{name} y is {x @ Ay:g} and yᵀ{name} x is {y @ Ax:g} for two random vectors"
        )
    for i in dict.fromkeys((0, d.size // 2, d.size - 1)):
        unit = np.zeros(d.size)
        unit[i] = 1.0
        entry = float(product(unit)[i])
        if abs(entry - d[i]) > 1e-6 * d[i]:
            raise NonstickError(f"diagonal[{i}] is {d[i]:g}, but {name}[{i}, {i}] is {entry:g} by a product")


def damage(A: Any) -> str:
    """What is wrong with the indices of a sparse matrix, or nothing: they crash compiled code, SciPy's own too."""
    check = getattr(A, "check_format", None)  # compressed formats have one
    try:
        if check is not None:
            if A.indices.dtype.kind not in "iu" or A.indptr.dtype.kind not in "iu":
                return "its indices are not integers"
            if (np.diff(A.indptr) < 0).any():  # SciPy does not look if the last one is zero
                return "indptr decreases"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of SciPy's, about unsigned indices
                check(full_check=True)
        elif A.format == "lil" and any(len(row) != len(data) for row, data in zip(A.rows, A.data)):
            return "a row has another number of columns than of values"
        for index, size in _indices(A):
            if len(index) and (np.min(index) < 0 or np.max(index) >= size):
                return f"an index lies outside 0..{size - 1}"
    except (ValueError, TypeError) as error:
        return str(error)
    return ""


def _undamaged(A: Any, name: str) -> None:
    if sp.issparse(A) and (fault := damage(A)):
        raise NonstickError(f"{name} is damaged: {fault}")


def _indices(A: Any) -> Iterable[tuple[Sequence[int], int]]:
    """Lists of indices, each with the length of its axis, of formats that have no check of their own."""
    if A.format == "coo":
        return zip(A.coords, A.shape)
    if A.format == "dok":
        return zip(zip(*A.keys()), A.shape)
    return ((row, A.shape[1]) for row in A.rows) if A.format == "lil" else ()


def _dense(A: Any, name: str) -> np.ndarray:
    if isinstance(A, (str, PurePath)):
        raise NonstickError(f"{name} must be a matrix, not the name of a file; nonstick.load_problem reads a file")
    try:
        out = np.asarray(A)
    except ValueError:
        out = np.empty(0, object)
    if out.dtype == object:
        raise NonstickError(
            f"{name} must be a scipy.sparse matrix, a two-dimensional array or a nonstick operator, not "
            f"{type(A).__name__}"
        )
    if out.ndim != 2:
        raise NonstickError(f"{name} must be a matrix, but its shape is {_by(out.shape)}")
    _unmasked(A, name)
    return out


def symmetric(A: sp.csr_array, name: str = "A") -> bool:
    """True if A, a matrix that `matrix` has returned, is symmetric up to rounding.

    A negative minor of two rows raises an error: A is then not positive definite, or, if it is not symmetric, not a
    P-matrix, and a complementarity problem may have no solution or several.
    """
    from ..kernels._csr import _csr_check_pairs, _full_pairs_agree  # loads numba; a mistake is reported before that

    n, root = A.shape[0], np.sqrt(A.diagonal())
    if A.nnz > FEW_ZEROS * float(n) ** 2 and _full_pairs_agree(A.toarray(), root, SYMMETRY_RTOL):
        return True  # else the entries say what is wrong
    where = np.empty(2, np.int64)
    values = np.empty(2)
    kind = _csr_check_pairs(where, values, A.data, A.indices, A.indptr, root, SYMMETRY_RTOL)
    i, j = where
    if kind == 2:
        raise NonstickError(
            f"{name} is not positive definite: {name}[{i}, {j}] = {values[0]:g} is larger than "
            f"sqrt({name}[{i}, {i}] {name}[{j}, {j}]) = {values[1]:g}"
        )
    if kind == 3:
        raise NonstickError(
            f"{name} is not a P-matrix: {name}[{i}, {j}] {name}[{j}, {i}] = {values[0]:g} is larger than "
            f"{name}[{i}, {i}] {name}[{j}, {j}] = {values[1]:g}"
        )
    return bool(kind == 0)


def vector(b: Any, n: int, name: str = "b") -> np.ndarray:
    """A finite vector of n numbers."""
    out = numbers(b, name)
    if out.ndim == 2 and out.shape[1] == 1:
        out = out[:, 0]
    if out.shape != (n,):
        raise NonstickError(f"{name} has shape {_by(out.shape)}, but there are {n} unknowns")
    bad = np.flatnonzero(~np.isfinite(out))
    if bad.size:
        raise NonstickError(f"{name}[{bad[0]}] is {out[bad[0]]}; {name} must be finite{_more(bad.size)}")
    return np.array(out, dtype=np.float64)


def bounds(lower: Any, upper: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two vectors of bounds; a scalar is used for all unknowns, ±inf and None mean no bound."""
    lower, upper = no_bound(lower, -np.inf), no_bound(upper, np.inf)
    low, high = bound(lower, n, "lower"), bound(upper, n, "upper")
    bad = np.flatnonzero(~(low <= high))
    if bad.size:
        i = bad[0]
        raise NonstickError(f"lower is above upper at unknown {i} ({low[i]:g} > {high[i]:g}){_more(bad.size)}")
    for values, never, name in ((low, np.inf, "lower"), (high, -np.inf, "upper")):
        bad = np.flatnonzero(values == never)
        if bad.size:
            raise NonstickError(f"{name}[{bad[0]}] is {never}: no number can satisfy that bound{_more(bad.size)}")
    return low, high


def no_bound(bound: Any, infinite: float) -> Any:
    """A bound with `infinite` in place of None, also inside a list."""
    if bound is None:
        return infinite
    if isinstance(bound, list | tuple) or (isinstance(bound, np.ndarray) and bound.dtype == object):
        return [infinite if entry is None else entry for entry in bound]
    return bound


def active(policy: Any, n: int) -> np.ndarray:
    """An active set: -1 at the lower bound, 1 at the upper bound, 0 free."""
    out = numbers(policy, "active")
    if out.shape != (n,):
        raise NonstickError(f"active has shape {_by(out.shape)}, but there are {n} unknowns")
    if out.dtype.kind not in "iuf" or not np.isin(out, (-1, 0, 1)).all():
        raise NonstickError(
            "active must hold -1 (at the lower bound), 0 (free) or 1 (at the upper bound), as solution.active does"
        )
    return out.astype(np.int8)


def bound(given: Any, n: int, name: str) -> np.ndarray:
    """n numbers, from one or from n; none is NaN."""
    out = numbers(given, name)
    if out.ndim == 2 and out.shape[1] == 1:
        out = out[:, 0]
    if out.shape not in ((), (1,), (n,)):
        raise NonstickError(
            f"{name} has shape {_by(out.shape)}; it must be a number or have one entry for each of the {n} unknowns"
        )
    bad = np.flatnonzero(np.isnan(np.atleast_1d(out)))
    if bad.size:
        raise NonstickError(f"{name} is NaN at unknown {bad[0]}; use -inf or inf where there is no bound")
    return np.array(np.broadcast_to(out, (n,)), dtype=np.float64)


def rectangle(C: Any, n: int | None, name: str, m: int | None = None, right: str = "") -> Any:
    """A real, finite matrix, dense or canonical CSR as it was given, of n columns and m rows where these are given.

    With n a vector counts as one row. `right` is the name of the vector that has m numbers.
    """
    if not sp.issparse(C):
        C = np.array(numbers(C, name), dtype=np.float64, ndmin=0 if n is None else 2)
    if C.ndim != 2:
        raise NonstickError(f"{name} must be a matrix, but it has {C.ndim} axes")
    if n is not None and C.shape[1] != n:
        raise NonstickError(f"{name} has shape {_by(C.shape)}; it must have one column for each of {n} unknowns")
    if m is not None and C.shape[0] != m:
        raise NonstickError(
            f"{name} has shape {_by(C.shape)}; it must have {m} rows"
            + f", because {right} has {m} numbers" * bool(right)
        )
    if sp.issparse(C):
        _undamaged(C, name)
        _real(C.dtype, name)
        C = _canonical(C)
    if not np.isfinite(C.data if sp.issparse(C) else C).all():
        raise NonstickError(f"{name} holds numbers that are not finite")
    return C


def constraints(given: Any, n: int) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """C with m rows, and the bounds of C x: `(C, lower, upper)` with None or ±inf where there is no bound."""
    if not isinstance(given, (tuple, list)) or len(given) != 3:
        raise NonstickError(
            "constraints must be (C, lower, upper) for lower <= C x <= upper; equal bounds make an equation"
        )
    C, (lower, upper) = sp.csr_array(rectangle(given[0], n, "C of constraints")), given[1:]
    m = C.shape[0]
    low = bound(no_bound(lower, -np.inf), m, "lower of constraints")
    high = bound(no_bound(upper, np.inf), m, "upper of constraints")
    bad = np.flatnonzero(~(low <= high) | (low == np.inf) | (high == -np.inf))
    if bad.size:
        i = bad[0]
        raise NonstickError(
            f"constraint {i} asks for a value from {low[i]:g} to {high[i]:g}, which is impossible{_more(bad.size)}"
        )
    return C, low, high


def cells(coordinates: Any, n: int) -> np.ndarray:
    """(n, 2) or (n, 3) grid coordinates, no cell twice; a line of cells becomes a grid one cell wide."""
    out = numbers(coordinates, "cells")
    if out.ndim == 1 and out.size == n:
        out = out[:, None]
    if out.ndim != 2 or out.shape[0] != n or out.shape[1] not in (1, 2, 3):
        raise NonstickError(f"cells has shape {_by(out.shape)}; it must be {n} × 2 or {n} × 3 grid coordinates")
    if out.dtype.kind not in "iu" and not (out.dtype.kind in "fb" and np.array_equal(out, np.rint(out))):
        raise NonstickError("cells must hold integer grid coordinates")
    if n:  # in floats: differences of large integers overflow
        with np.errstate(invalid="ignore", over="ignore"):  # infinite coordinates
            extent = out.max(axis=0).astype(float) - out.min(axis=0).astype(float) + 1
            largest = max(np.prod(extent), np.abs(out.astype(float)).max())
        if not largest < min(2**31, 2**24 + 1000 * n):
            raise NonstickError(
                f"cells span a grid of {_by([f'{e:.10g}' for e in extent])} cells for {n} unknowns, too many to "
                "number; coordinates count cells from a corner of the grid, and are not metres"
            )
    out = out.astype(np.int64)
    if out.shape[1] == 1:
        out = np.concatenate([out, np.zeros_like(out)], axis=1)
    if not n:
        return out
    order = np.lexsort(out.T[::-1])
    twin = np.flatnonzero((np.diff(out[order], axis=0) == 0).all(axis=1))
    if twin.size:
        i, j = sorted(order[twin[0] : twin[0] + 2])
        raise NonstickError(f"cells {i} and {j} are the same grid cell {tuple(out[i].tolist())}{_more(twin.size)}")
    return out


def shape(values: Any) -> tuple[int, ...]:
    """The shape of an array, of a sparse matrix or of lists; () if rows differ in length, which other checks say."""
    try:
        return tuple(values.shape) if hasattr(values, "shape") else np.shape(values)
    except ValueError:
        return ()


def c_order(coordinates: np.ndarray) -> np.ndarray | None:
    """The permutation that sorts cells in the order of a C array; None if they are sorted."""
    order = np.lexsort(coordinates.T[::-1])
    return None if np.array_equal(order, np.arange(order.size)) else order


def numbers(values: Any, name: str) -> np.ndarray:
    """An array of real numbers of any kind and shape; nothing is copied."""
    _undamaged(values, name)
    try:
        out = np.asarray(values.toarray() if sp.issparse(values) else values)
    except (ValueError, TypeError):  # rows of different length; an object that only looks like an array
        out = np.empty(0, object)
    _real(out.dtype, name)
    _unmasked(values, name)
    return out


def _unmasked(values: Any, name: str) -> None:
    """A masked array has no number where its mask is set; NumPy would give the one that is hidden there."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        hidden = np.argwhere(np.ma.getmaskarray(values))
        place = ", ".join(map(str, hidden[0]))
        raise NonstickError(f"{name}[{place}] is masked; fill it with a number first{_more(len(hidden))}")


def _real(dtype: np.dtype, name: str) -> None:
    if dtype.kind == "c":
        raise NonstickError(f"{name} is complex; nonstick solves real problems")
    if dtype.kind not in "buif":
        raise NonstickError(f"{name} must hold numbers, not {dtype}")


def _by(shape: Any) -> str:
    return " × ".join(map(str, shape)) if len(shape) > 1 else f"({', '.join(map(str, shape))})"


def _more(count: int) -> str:
    return f" ({count} places like this)" if count > 1 else ""
