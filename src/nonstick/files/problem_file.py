"""Problems from files: `.npz` with the parts of a CSR matrix, or Matrix Market; solutions to `.npz`.

An `.npz` holds `A_data A_indices A_indptr b` and, if wanted, `lower upper cells`; a matrix saved by
`scipy.sparse.save_npz` is read as well. If b is missing, it is all ones. If bounds are missing, they are those of
`nonstick.solve` (0 and infinity). A Matrix Market file `NAME.mtx` is the matrix; `NAME_b.mtx`, `NAME_lower.mtx`,
`NAME_upper.mtx` and `NAME_cells.mtx` beside it are the rest of the problem.

SciPy's reader of Matrix Market files (https://math.nist.gov/MatrixMarket/formats.html) is fast, but a damaged file can
crash it (SciPy 1.17: a letter in place of a number, in some builds). So the text is read here. NumPy turns it into
numbers, and every index is checked before a matrix is made of them.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import os
import warnings
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core import validate
from ..core.guarded import reading
from ..errors import NonstickError
from .arrays import ArrayFile, read_npy, shorten
from .atomic import replacing

_PARTS = ("A_data", "A_indices", "A_indptr")
_KNOWN = (*_PARTS, "b", "lower", "upper", "cells")


@dataclass
class ProblemFile:
    """The content of a file: the arguments of `nonstick.solve`."""

    A: sp.sparray
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


def read_rows(path: str | Path, share: Callable[[int], tuple[int, int]]) -> ProblemFile:
    """The rows from `low` up to `high` of a problem of n rows, where (low, high) = share(n); A has n columns.

    Only these rows are read from an `.npz` with `A_data A_indices A_indptr`; other files are read whole first.
    """
    path = Path(path)
    if path.suffix == ".npz":
        with ArrayFile(path, in_pieces=True) as file:
            if all(key in file for key in (*_PARTS, "b")):
                return _read_npz_rows(file, share)
    problem = read_problem(path)
    A = sp.csr_array(problem.A)
    here = slice(*share(A.shape[0]))
    low, high = (bound[here] if isinstance(bound, np.ndarray) else bound for bound in (problem.lower, problem.upper))
    cells = None if problem.cells is None else np.asarray(problem.cells)[here]
    return ProblemFile(A[here], problem.b[here], low, high, cells)


def _read_npz_rows(file: ArrayFile, share: Callable[[int], tuple[int, int]]) -> ProblemFile:
    path, lengths = file.path, {key: file.shape(key) for key in file.names}
    if any(len(lengths[key]) != 1 for key in _PARTS) or not lengths["A_indptr"][0]:
        raise NonstickError(f"A_data, A_indices and A_indptr in {path} must be vectors, A_indptr with n + 1 entries")
    n = lengths["A_indptr"][0] - 1
    low, high = share(n)
    indptr = file.rows("A_indptr", low, high + 1)
    if not np.issubdtype(indptr.dtype, np.integer):
        raise NonstickError(f"A_indices and A_indptr in {path} must be integers")
    first, last = int(indptr[0]), int(indptr[-1])
    if not 0 <= first <= last <= lengths["A_data"][0]:
        raise NonstickError(f"A_indptr in {path} does not rise from 0 to the number of values")
    A = _csr(path, file.rows("A_data", first, last), file.rows("A_indices", first, last), indptr - first, n)
    parts = {}
    for key in ("b", "lower", "upper", "cells"):
        if key in file:
            parts[key] = file.rows(key, low, high) if lengths[key] and lengths[key][0] == n else file[key]
    return ProblemFile(A, **parts)


def read_vector(path: str | Path) -> np.ndarray:
    """A vector from `.npy`, Matrix Market, or text with one number per line."""
    path = Path(path)
    try:
        if path.suffix == ".npy":
            values = read_npy(path)
        elif is_market(path):
            values = _market(path)
            values = values if isinstance(values, np.ndarray) else values.toarray()
        else:
            with _opened(path) as file:
                values = np.loadtxt(file, ndmin=1, encoding="latin-1")
    except (OSError, NonstickError, MemoryError):
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
    with ArrayFile(path) as file:
        if "format" in file and "data" in file:  # scipy.sparse.save_npz
            A = _read_scipy(file)
            return ProblemFile(A, np.ones(A.shape[0]))
        missing = [key for key in (*_PARTS, "b") if key not in file]
        if missing:
            found = shorten(", ".join(file.names) or "nothing")
            raise NonstickError(
                f"{path} has no {', '.join(missing)}; it needs A_data, A_indices, A_indptr and b (it has {found})"
            )
        for key in ("lower", "upper", "cells"):
            misspelt = difflib.get_close_matches(key, [k for k in file.names if k not in _KNOWN], n=1, cutoff=0.75)
            if key not in file and misspelt:
                raise NonstickError(f"{path} has an unknown key {misspelt[0]!r}; did you mean {key!r}?")
        A = _csr(path, file["A_data"], file["A_indices"], file["A_indptr"])
        optional = {key: file[key] for key in ("lower", "upper", "cells") if key in file}
        return ProblemFile(A, file["b"], **optional)


#: formats of scipy.sparse.save_npz, the keys each of them needs, and those of them that are indices
_SCIPY = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "dia": ("data", "offsets"),
    "coo": ("data", "row", "col"),
}


def _read_scipy(file: ArrayFile) -> sp.sparray:
    """A matrix saved by SciPy; its own reader hands indices that are out of range to compiled code."""
    path, form = file.path, file["format"]
    name = form.item() if form.size == 1 and form.dtype.kind in "SU" else "?"
    name = name.decode("ascii", "replace") if isinstance(name, bytes) else name
    if name == "coo" and "coords" in file:
        keys: tuple[str, ...] = ("data", "coords")
    elif name in _SCIPY:
        keys = _SCIPY[name]
    else:
        raise NonstickError(f"{path} has an unknown matrix format {shorten(name)!r}; known are {', '.join(_SCIPY)}")
    missing = [key for key in (*keys, "shape") if key not in file]
    if missing:
        raise NonstickError(f"{path} has no {', '.join(missing)}, which a matrix in the format {name} needs")
    data, *indices = (file[key] for key in keys)
    for key, index in zip(keys[1:], indices):
        if index.dtype.kind not in "iu":
            raise NonstickError(f"{key} in {path} must be integers, not {index.dtype}")
    sides = file["shape"]
    if sides.shape != (2,) or sides.dtype.kind not in "iu" or sides.min() < 0 or sides[0] != sides[1]:
        raise NonstickError(f"shape in {path} must be two equal numbers; A must be square")
    n = int(sides[0])
    if data.dtype.kind not in "buif":
        raise NonstickError(f"data in {path} must hold numbers, not {data.dtype}")
    if n > max(data.size, 1):  # before anything of length n is made
        raise NonstickError(
            f"shape in {path} promises {n} rows and data has {data.size} values; a positive definite matrix has a "
            "positive diagonal"
        )
    indices = [index.astype(np.int64) for index in indices]
    try:
        if name in ("csr", "csc", "bsr"):
            A = getattr(sp, f"{name}_array")((data, *indices), shape=(n, n))
        elif name == "dia":
            A = sp.dia_array((data, *indices), shape=(n, n))
        else:
            A = sp.coo_array((data, tuple(indices[0]) if len(indices) == 1 else tuple(indices)), shape=(n, n))
        fault = validate.damage(A)
    except (ValueError, IndexError, TypeError, ZeroDivisionError) as error:
        fault = _first_line(error)
    if fault:
        raise NonstickError(
            f"{', '.join(keys)} in {path} are not a matrix of {n} rows: {fault}; save it again with "
            "scipy.sparse.save_npz"
        )
    return A


def _csr(
    path: Path, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, columns: int | None = None
) -> sp.csr_array:
    """The matrix of the three parts, checked here because a bad index crashes compiled code later.

    Square, or some rows of a matrix with this number of columns.
    """
    rows = max(indptr.size - 1, 0)
    n = rows if columns is None else columns
    if any(part.ndim != 1 for part in (data, indices, indptr)) or indptr.size == 0:
        raise NonstickError(f"A_data, A_indices and A_indptr in {path} must be vectors, A_indptr with n + 1 entries")
    if not (np.issubdtype(indices.dtype, np.integer) and np.issubdtype(indptr.dtype, np.integer)):
        raise NonstickError(f"A_indices and A_indptr in {path} must be integers")
    if data.dtype.kind not in "buif":
        raise NonstickError(f"A_data in {path} must hold numbers, not {data.dtype}")
    indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)  # differences of unsigned ones wrap around
    if indptr[0] != 0 or indptr[-1] != data.size or data.size != indices.size or np.any(np.diff(indptr) < 0):
        raise NonstickError(
            f"the CSR parts in {path} disagree: {data.size} values, {indices.size} indices, A_indptr from "
            f"{indptr[0]} to {indptr[-1]} (it must rise from 0 to the number of values)"
        )
    if indices.size and (indices.min() < 0 or indices.max() >= n):
        worst = indices.max() if indices.max() >= n else indices.min()
        raise NonstickError(f"A_indices in {path} names column {worst} of a matrix with {n} rows; A must be square")
    return sp.csr_array((data, indices, indptr), shape=(rows, n))


def _read_market(path: Path) -> ProblemFile:
    if not is_market(path):
        raise NonstickError(f"{path} must end in .npz or .mtx (Matrix Market, also .mtx.gz)")
    A = _market(path)
    rest = {}
    for name in MARKET_PARTS:
        file = beside(path, name)
        if file.exists():
            rest[name] = _market(file) if name == "cells" else read_vector(file)
    return ProblemFile(A, **({"b": np.ones(A.shape[0])} | rest))


#: what may lie beside the file of a matrix
MARKET_PARTS = ("b", "lower", "upper", "cells")


def beside(path: Path, part: str) -> Path:
    """The file with another part of the problem whose matrix is in `path`."""
    return path.with_name(f"{path.name.partition('.mtx')[0]}_{part}.mtx")


def solution_file(path: Path) -> Path:
    """Where the solution of a problem goes: files with different names have solutions with different names."""
    if not path.name:
        raise NonstickError(f"{path} is a folder; name a problem file in it")
    stem = path.name.removesuffix(".npz")
    if path.suffix != ".npz" or stem.endswith((".npz", ".mtx", ".mtx.gz", ".mtx.bz2")):
        stem = path.name
    return path.with_name(f"{stem}-solution.npz")


def is_problem(path: Path) -> bool:
    """True if this is an `.npz` with a problem in it."""
    try:
        with ArrayFile(path) as file:
            return all(key in file for key in _PARTS) or ("format" in file and "data" in file)
    except (OSError, NonstickError):
        return False


def _market(path: Path) -> sp.coo_array | np.ndarray:
    """What a Matrix Market file contains."""
    try:
        return read_market(path)
    except (MemoryError, FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        raise NonstickError(
            f"{path} is not a Matrix Market file: {_first_line(error)}; write it with scipy.io.mmwrite"
        ) from None


def _first_line(error: BaseException) -> str:
    return shorten((str(error).strip().splitlines() or [type(error).__name__])[0], 200)


#: gzip and bzip2 make text at most about this many times smaller
_PACKED = 2000
_OPEN: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
_FIELDS = {"real": 1, "double": 1, "integer": 1, "pattern": 0}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
#: a head, with comments, is no longer than this many lines
_HEAD = 100_000


def is_market(path: Path) -> bool:
    """True if the name says Matrix Market."""
    return path.suffix == ".mtx" or path.name.endswith((".mtx.gz", ".mtx.bz2"))


def read_market(path: Path) -> sp.coo_array | np.ndarray:
    """The matrix of a file: sparse if it lists coordinates, dense if it lists an array. ValueError if it is neither."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size * (1 if path.suffix == ".mtx" else _PACKED)
        form, field, symmetry, sides = _head(file)
        rows, columns = sides[:2]
        entries = sides[2] if form == "coordinate" else _listed(rows, columns, symmetry)
        if entries > size or (form == "coordinate" and max(rows, columns) > size):
            raise ValueError(f"its head promises {rows} × {columns} with {entries} entries, more than the file has")
        width = _FIELDS[field] + 2 * (form == "coordinate")
        numbers = _numbers(file, entries * width).reshape(entries, width)
    if form == "array":
        return _dense(numbers[:, 0], rows, columns, symmetry)
    i, j = _index(numbers[:, 0], rows, "row"), _index(numbers[:, 1], columns, "column")
    values = numbers[:, 2] if field != "pattern" else np.ones(entries)
    if symmetry != "general":
        off = i != j
        sign = -1.0 if symmetry == "skew-symmetric" else 1.0
        i, j = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
        values = np.concatenate([values, sign * values[off]])
    return sp.coo_array((np.ascontiguousarray(values), (i, j)), shape=(rows, columns))


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A file of text, unpacked if its name says that it is packed."""
    with reading(path) as stream, _OPEN.get(path.suffix, nullcontext)(stream) as file:
        yield file


def _head(file) -> tuple[str, str, str, list[int]]:
    """Form, field, symmetry and sides; the file is left at its first entry."""
    words = file.readline(1000).removeprefix(BOM_UTF8).decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("its first line must be '%%MatrixMarket matrix FORM FIELD SYMMETRY'")
    form, field, symmetry = words[2:]
    if form not in ("coordinate", "array") or symmetry not in _SYMMETRIES or field not in _FIELDS:
        raise ValueError(
            f"its first line says {form} {field} {symmetry}, and what can be read is coordinate or array, "
            f"{', '.join(_FIELDS)}, {', '.join(_SYMMETRIES)}"
        )
    if form == "array" and field == "pattern":
        raise ValueError("an array cannot be a pattern")
    for _ in range(_HEAD):
        line = file.readline(10_000)
        if line.strip() and not line.startswith(b"%"):
            break
    sides = line.split()
    if len(sides) != (3 if form == "coordinate" else 2) or not all(side.isdigit() and len(side) < 16 for side in sides):
        raise ValueError(f"the sizes are missing: its head ends in {line[:40].decode('latin-1').strip()!r}")
    if symmetry != "general" and sides[0] != sides[1]:
        raise ValueError(f"a {symmetry} matrix cannot be {int(sides[0])} × {int(sides[1])}")
    return form, field, symmetry, [int(side) for side in sides]


def _listed(rows: int, columns: int, symmetry: str) -> int:
    """Entries of a dense matrix that a file lists: the lower triangle is enough for a symmetric one."""
    return {"general": rows * columns, "symmetric": rows * (rows + 1) // 2}.get(symmetry, rows * (rows - 1) // 2)


def _numbers(file, count: int) -> np.ndarray:
    """The numbers of the rest of the file, which must be as many as promised."""
    text = file.read(64 * count + 10_000)  # a number with its spaces is shorter than 64 letters
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy only warns where the text is not a number
        try:
            found = np.fromstring(text.decode("latin-1"), sep=" ")
        except (DeprecationWarning, ValueError):
            raise ValueError("there is something among its entries that is not a number") from None
    if found.size != count:
        raise ValueError(f"its head promises {count} numbers and it has {found.size}")
    return found


def _index(numbers: np.ndarray, side: int, name: str) -> np.ndarray:
    """Indices from 0, checked."""
    if numbers.size and not (numbers.min() >= 1 and numbers.max() <= side and np.all(numbers == np.floor(numbers))):
        wrong = numbers[~((numbers >= 1) & (numbers <= side) & (numbers == np.floor(numbers)))][0]
        raise ValueError(f"an entry names {name} {wrong:g} of 1 to {side}")
    return numbers.astype(np.int64) - 1


def _dense(values: np.ndarray, rows: int, columns: int, symmetry: str) -> np.ndarray:
    """The matrix of its entries, column by column."""
    if symmetry == "general":
        return values.reshape(columns, rows).T
    skew = symmetry == "skew-symmetric"
    out = np.zeros((rows, rows))
    j, i = np.triu_indices(rows, int(skew))  # by columns of the lower triangle
    out[i, j] = values
    out[j, i] = -values if skew else values
    return out
