"""Problems from files: `.npz` with the parts of a CSR matrix, or Matrix Market; solutions to `.npz`.

An `.npz` holds `A_data A_indices A_indptr b` and, if wanted, `lower upper cells`; a matrix saved by
`scipy.sparse.save_npz` is read as well. If b is missing, it is all ones. If bounds are missing, they are those of
`nonstick.solve` (0 and infinity).
"""

from __future__ import annotations

import difflib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

from ..errors import NonstickError
from .atomic import replacing

_PARTS = ("A_data", "A_indices", "A_indptr")
_KNOWN = (*_PARTS, "b", "lower", "upper", "cells")


@dataclass
class ProblemFile:
    """The content of a file: the arguments of `nonstick.solve`."""

    A: sp.csr_array
    b: np.ndarray
    lower: np.ndarray | float = 0.0
    upper: np.ndarray | float = np.inf
    cells: np.ndarray | None = None


def read_problem(path: str | Path, rhs: str | Path | None = None) -> ProblemFile:
    """Read a problem; `rhs` names a file with b (`.npy`, `.mtx` or text), which replaces a b in the problem file."""
    path = Path(path)
    problem = _read_npz(path) if path.suffix == ".npz" else _read_market(path)
    if rhs is not None:
        problem.b = read_vector(rhs)
    return problem


def read_vector(path: str | Path) -> np.ndarray:
    """A vector from `.npy`, Matrix Market, or text with one number per line."""
    path = Path(path)
    try:
        if path.suffix == ".npy":
            values = np.load(path, allow_pickle=False)
        elif _is_market(path):
            values = scipy.io.mmread(path)
            values = values.toarray() if sp.issparse(values) else values
        else:
            values = np.loadtxt(path, ndmin=1)
    except OSError:
        raise
    except Exception as error:
        raise NonstickError(f"cannot read a vector from {path}: {_first_line(error)}") from None
    values = np.asarray(values)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.ndim != 1:
        raise NonstickError(f"{path} contains an array of shape {values.shape}, but a vector is needed")
    return values


def write_solution(path: str | Path, solution) -> None:
    """Write x, dual and their residual as a compressed `.npz`."""
    with replacing(path) as partial:
        np.savez_compressed(
            partial,
            x=solution.x,
            dual=solution.dual,
            kkt=solution.kkt(),
            converged=solution.converged,
            status=solution.status,
            method=solution.method,
        )


def _read_npz(path: Path) -> ProblemFile:
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = {key: file[key] for key in file.files}
    except OSError:
        raise
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError) as error:
        reason = _first_line(error) if zipfile.is_zipfile(path) else "it is not a complete zip archive"
        raise NonstickError(f"{path} is not a readable .npz file: {reason}") from None
    if {"data", "indices", "indptr", "shape"} <= parts.keys():  # scipy.sparse.save_npz
        A = sp.csr_array(_read_scipy(path))
        return ProblemFile(A, np.ones(A.shape[0]))
    missing = [key for key in (*_PARTS, "b") if key not in parts]
    if missing:
        found = ", ".join(parts) or "nothing"
        raise NonstickError(
            f"{path} has no {', '.join(missing)}; it needs A_data, A_indices, A_indptr and b (it has {found})"
        )
    for key in ("lower", "upper", "cells"):
        misspelt = difflib.get_close_matches(key, [k for k in parts if k not in _KNOWN], n=1, cutoff=0.75)
        if key not in parts and misspelt:
            raise NonstickError(f"{path} has an unknown key {misspelt[0]!r}; did you mean {key!r}")
    A = _csr(path, *(parts[key] for key in _PARTS))
    optional = {key: parts[key] for key in ("lower", "upper", "cells") if key in parts}
    return ProblemFile(A, parts["b"], **optional)


def _read_scipy(path: Path):
    try:
        return sp.load_npz(path)
    except ValueError as error:
        raise NonstickError(f"{path} is not a sparse matrix: {_first_line(error)}") from None


def _csr(path: Path, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> sp.csr_array:
    """The matrix of the three parts, checked here because a bad index crashes compiled code later."""
    n = max(indptr.size - 1, 0)
    if any(part.ndim != 1 for part in (data, indices, indptr)) or indptr.size == 0:
        raise NonstickError(f"A_data, A_indices and A_indptr in {path} must be vectors, A_indptr with n + 1 entries")
    if not (np.issubdtype(indices.dtype, np.integer) and np.issubdtype(indptr.dtype, np.integer)):
        raise NonstickError(f"A_indices and A_indptr in {path} must be integers")
    if indptr[0] != 0 or indptr[-1] != data.size or data.size != indices.size or np.any(np.diff(indptr) < 0):
        raise NonstickError(
            f"the CSR parts in {path} disagree: {data.size} values, {indices.size} indices, A_indptr from "
            f"{indptr[0]} to {indptr[-1]} (it must rise from 0 to the number of values)"
        )
    if indices.size and (indices.min() < 0 or indices.max() >= n):
        worst = indices.max() if indices.max() >= n else indices.min()
        raise NonstickError(f"A_indices in {path} names column {worst} of a matrix with {n} rows; A must be square")
    return sp.csr_array((data, indices, indptr), shape=(n, n))


def _is_market(path: Path) -> bool:
    return path.suffix == ".mtx" or path.name.endswith((".mtx.gz", ".mtx.bz2"))


def _read_market(path: Path) -> ProblemFile:
    if not _is_market(path):
        raise NonstickError(f"{path} must end in .npz or .mtx (Matrix Market, also .mtx.gz)")
    if not path.exists():
        raise FileNotFoundError(2, "No such file or directory", str(path))
    try:
        A = sp.csr_array(scipy.io.mmread(path))
    except OSError:
        raise
    except Exception as error:
        raise NonstickError(f"{path} is not a Matrix Market file: {_first_line(error)}") from None
    return ProblemFile(A, np.ones(A.shape[0]))


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
