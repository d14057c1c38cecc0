"""`nonstick solve`: a problem from a file, its solution to a file."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from .options import ArrayOptions, complete_methods, grouped, json_path, option
from .terminal import NOT_CONVERGED, fail, say


def add(app: typer.Typer) -> None:
    app.command("solve")(solve)


@dataclass(frozen=True)
class StoppingOptions:
    """When a solve stops."""

    rtol: float = typer.Option(1e-6, help="KKT residual (relative to max|b|) and row error to reach.")
    maxiter: int | None = option(help="Iteration limit (default: the method's own).")
    time_limit: float | None = option(help="Time limit in seconds.")


@dataclass(frozen=True)
class ReplacedParts:
    """Parts of the problem that replace those of the file."""

    rhs: Path | None = option(help="File with b: .npy, .mtx or text (default: that of the problem; ones for a matrix).")
    lower: str | None = option(help="Lower bound: a number, -inf, or a file (default: that of the problem, or 0).")
    upper: str | None = option(help="Upper bound: a number, inf, or a file (default: that of the problem, or inf).")

    def read(self) -> dict[str, Any]:
        from ..files.problem_file import read_vector

        out: dict[str, Any] = {} if self.rhs is None else {"b": read_vector(self.rhs)}
        bounds = {"lower": self.lower, "upper": self.upper}
        return out | {name: _bound(text, f"--{name}") for name, text in bounds.items() if text is not None}


@grouped
def solve(
    file: Path = typer.Argument(
        ...,
        metavar="FILE",
        help="FILE.npz with A_data A_indices A_indptr b, maybe lower upper cells; or Matrix Market FILE.mtx, with "
        "FILE_b.mtx, FILE_lower.mtx and so on beside it.",
        show_default=False,
    ),
    method: str = typer.Option(
        "auto", "--method", "-m", help="Which method; nonstick methods lists all.", autocompletion=complete_methods
    ),
    stopping: StoppingOptions = StoppingOptions(),
    parts: ReplacedParts = ReplacedParts(),
    out: Path | None = option(
        "--out",
        "-o",
        help="Where x and dual go (default: beside FILE: p-solution.npz for p.npz, p.mtx-solution.npz for p.mtx).",
    ),
    arrays: ArrayOptions = ArrayOptions(),
    ranks: int | None = option("--ranks", help="Number of ranks of this machine to solve on (make mpi)."),
    json_file: str | None = option("--json", help="Write one JSON row of results to this file; - prints it."),
) -> None:
    """Solve min ½ xᵀA x − bᵀx, lower ≤ x ≤ upper, from a file.

    Writes x and the dual A x − b. Exits with 0 if the residual asked for was
    reached, with 2 if not; the best x found is written in both cases.

    [bold]Example:[/bold]

    nonstick solve problem.npz --method fas-mg --rtol 1e-8 --json row.json
    """
    from .. import registry
    from ..core.options import Stopping
    from ..errors import NonstickError
    from ..parallel import launch

    if ranks is not None:
        raise SystemExit(launch.on_ranks(ranks))
    shared = launch.ranks() > 1
    if not (shared and method.startswith(("petsc-", "tao-"))):
        registry.name_of(method)  # report a misspelt name before a large file is read
    target = _target(file, out, json_path(json_file))
    Stopping(**asdict(stopping))  # reports bad options before a large file is read
    try:
        if shared:
            from .ranks import solve_on_ranks

            row = solve_on_ranks(file, method, parts.read(), target, asdict(stopping))
        else:
            row = _solve_here(file, method, parts.read(), target, asdict(stopping), arrays)
    except NonstickError as error:
        said = str(error)
        raise NonstickError(said if str(file) in said else f"{file}: {said}") from None
    _report(row, json_file, target)
    if not row["converged"]:
        print(f"nonstick: not converged: {row['message']}", file=sys.stderr)
        raise SystemExit(NOT_CONVERGED)


def _target(file: Path, out: Path | None, rows: Path | None) -> Path:
    """The file of the solution, after a check that all results can be written."""
    from ..files.problem_file import is_problem, solution_file

    target = out or solution_file(file)
    if target.suffix != ".npz":
        fail(f"the solution is written as .npz, but --out is {target}; choose a name that ends in .npz")
    if target.resolve() == file.resolve():
        fail(f"--out would overwrite the problem file {file}; choose another name")
    if is_problem(target):
        fail(f"the solution would overwrite the problem in {target}; choose another name with --out")
    for path in (target, rows or target):
        if not path.parent.is_dir():
            fail(f"cannot write {path}: there is no directory {path.parent}")
    return target


def _report(row: dict, json_file: str | None, target: Path) -> None:
    """Print or write the row of results."""
    from ..files.atomic import write_text
    from ..parallel.comm import world

    if json_file == "-":
        print(json.dumps(row))
        return
    if json_file is not None and world().rank == 0:
        write_text(json_file, json.dumps(row, indent=1) + "\n")
    say(
        f"{row['method']}: {row['unknowns']} unknowns, {row['iterations']} iterations "
        f"({row['outer_iterations']} outer), KKT {row['kkt']:.2e}, row error {row['row_error']:.2e}, "
        f"{row['seconds']:.3g} s"
    )
    if "path" in row:
        say(f"by {row['path']}")
    say(f"x and dual are in {target}")


def _solve_here(file: Path, method: Any, given: dict, target: Path, stop: dict, arrays: ArrayOptions) -> dict:
    """Solve in this process, and write x and the dual; returns the row of results."""
    from .. import registry
    from ..core import validate
    from ..files.problem_file import read_problem, write_solution

    problem = read_problem(file)
    for name, values in given.items():
        setattr(problem, name, values)
    if problem.cells is not None:
        problem.cells = validate.cells(problem.cells, problem.A.shape[0])
    from .. import api  # after the file has been looked at: a damaged one is answered before numba is loaded

    if arrays.array is None and arrays.device is not None:
        fail("--device belongs to an array library: name it with --array")
    if arrays.array is not None:
        from ..compositions import on_arrays

        method = on_arrays(registry.name_of(method), arrays.array, arrays.device)
    bounds = problem.lower, problem.upper
    solution = api.solve(problem.A, problem.b, *bounds, cells=problem.cells, method=method, **stop)
    write_solution(target, solution)
    return {
        "file": str(file),
        "unknowns": int(solution.x.size),
        "method": solution.method,
        "iterations": solution.iterations,
        "outer_iterations": solution.outer_iterations,
        "seconds": solution.seconds,
        "setup_seconds": solution.setup_seconds,
        "kkt": solution.kkt(),
        "row_error": solution.row_error(),
        "converged": solution.converged,
        "status": solution.status,
        "message": solution.message,
        "path": solution.path,
        "solution": str(target),
    }


def _bound(text: str, option: str):
    try:
        return float(text)
    except ValueError:
        pass
    from ..files.problem_file import read_vector

    if not Path(text).exists():
        fail(f"{option} takes a number, inf, -inf or a file with a vector; there is no file {text!r}")
    return read_vector(text)
