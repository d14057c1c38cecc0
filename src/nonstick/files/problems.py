"""`save_problem` and `load_problem`: problems to files and back, in the formats that `nonstick solve` reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..core import validate
from ..core.options import suggesting
from ..errors import EntriesNeededError, NonstickError, brief
from ..operators.stencil import as_operator
from ..problem.box import BoxProblem
from .atomic import replacing
from .problem_file import MARKET_PARTS, beside, read_problem


@suggesting
def save_problem(path: str | Path, problem, b=None, lower=0.0, upper=np.inf, *, cells=None) -> None:
    """Write a problem to a file, for `load_problem` and for `nonstick solve`.

    Parameters
    ----------
    path : str or Path
        `NAME.npz`: one file. `NAME.mtx`: the matrix as Matrix Market, and `NAME_b.mtx`, `NAME_lower.mtx`,
        `NAME_upper.mtx` and `NAME_cells.mtx` beside it, as far as they are needed.
    problem : BoxProblem, PressureProblem, DiffusionProblem, Solution or matrix
        What to write. With a matrix, the other arguments are those of `nonstick.solve`.
    b, lower, upper, cells
        The rest of the problem, if `problem` is a matrix.

    Examples
    --------
    >>> import nonstick
    >>> nonstick.save_problem("small.npz", [[2.0, -1.0], [-1.0, 2.0]], [1.0, -3.0], upper=0.25)
    >>> problem = nonstick.load_problem("small.npz")
    >>> nonstick.solve_problem(problem).x.round(6)
    array([0.25, 0.  ])
    """
    path = _path(path)
    if path.suffix not in (".npz", ".mtx"):
        raise NonstickError(f"a problem is written as .npz or .mtx; {path} ends in neither")
    if not path.parent.is_dir():
        raise NonstickError(f"there is no folder {path.parent} for {path.name}: make it first")
    parts = _of_problem(problem, b) if _is_problem(problem) else _of_matrix(problem, b, lower, upper, cells)
    if path.suffix == ".npz":
        A = parts.pop("A")
        with replacing(path) as partial:
            np.savez_compressed(partial, A_data=A.data, A_indices=A.indices, A_indptr=A.indptr, **parts)
        return
    for name in MARKET_PARTS:
        if name in parts:
            _write_market(beside(path, name), np.atleast_2d(parts[name].T).T)
        else:
            beside(path, name).unlink(missing_ok=True)  # of an older problem with this name
    _write_market(path, parts["A"])


def load_problem(path: str | Path) -> BoxProblem:
    """Read a problem from a file that `save_problem`, NumPy, SciPy or another program wrote.

    Parameters
    ----------
    path : str or Path
        `.npz` or `.mtx`, as for [`nonstick solve`](cli.md#nonstick-solve). A matrix alone gets b = 1, lower = 0.

    Returns
    -------
    BoxProblem
        For `nonstick.solve_problem`. Its unknowns have the order of the file.

    Raises
    ------
    NonstickError
        If there is no such file, it is damaged, or its content is not a valid problem.

    Examples
    --------
    >>> import nonstick
    >>> nonstick.save_problem("sphere.npz", nonstick.cases.build("sphere3d", 12).problem)
    >>> nonstick.load_problem("sphere.npz").n
    532
    """
    path = _path(path)
    try:
        file = read_problem(path)
    except FileNotFoundError as error:
        raise NonstickError(f"there is no file {error.filename or path}; save_problem writes one") from None
    except (IsADirectoryError, PermissionError) as error:
        raise NonstickError(f"{error.filename or path} cannot be read: {error.strerror}") from None
    try:
        A = validate.matrix(file.A)
        n = A.shape[0]
        cells = None if file.cells is None else validate.cells(file.cells, n)
        b, bounds = validate.vector(file.b, n), validate.bounds(file.lower, file.upper, n)
    except NonstickError as error:
        raise NonstickError(f"{path}: {error}") from None
    return BoxProblem(as_operator(A, cells), b, *bounds)


def _path(path: str | Path) -> Path:
    if "\0" in str(path):  # the operating system has no sentence for it
        raise NonstickError(f"the file name {brief(str(path))} has a zero character in it")
    return Path(path)


def _is_problem(problem) -> bool:
    return isinstance(getattr(problem, "problem", problem), BoxProblem)


def _of_problem(problem, b) -> dict:
    """The parts of a problem that is built, or of a solution or a discretised problem."""
    if b is not None:
        raise NonstickError("b, lower, upper and cells belong to a matrix; a problem already has them")
    problem = getattr(problem, "problem", problem)
    if problem.edges is not None:
        raise NonstickError("constraints on the edges of a wall (walls='edge') cannot be written to a problem file")
    try:
        A = problem.A.matrix()
    except EntriesNeededError:
        raise NonstickError("a LinearOperator has no entries to write; save a sparse matrix") from None
    return _parts(A, problem.b, problem.box.lower, problem.box.upper, problem.A.cells)


def _of_matrix(A, b, lower, upper, cells) -> dict:
    if b is None:
        raise NonstickError("save_problem needs b beside a matrix")
    A = validate.matrix(A)
    n = A.shape[0]
    cells = None if cells is None else validate.cells(cells, n)
    return _parts(A, validate.vector(b, n), *validate.bounds(lower, upper, n), cells)


def _parts(A: sp.csr_array, b, lower, upper, cells) -> dict:
    """The arrays to write; bounds and cells only where they say something."""
    parts = {"A": A, "b": b}
    if lower.any():
        parts["lower"] = lower
    if np.isfinite(upper).any():
        parts["upper"] = upper
    if cells is not None:
        parts["cells"] = np.asarray(cells)
    return parts


def _write_market(path: Path, values) -> None:
    import scipy.io  # slow to load

    symmetric = sp.issparse(values) and not (values != values.T).nnz
    with replacing(path) as partial:
        scipy.io.mmwrite(partial, values, symmetry="symmetric" if symmetric else "general")
