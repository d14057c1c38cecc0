"""Static problems as benchmarks, every size with every method: the cases of `nonstick.cases`, or a user's file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from .. import cases, validate
from ..errors import NonstickError
from ..io.problem_file import read_problem
from ..operators.convert import as_operator
from ..problem.box import BoxProblem
from .measure import measure, warm_up
from .registry import Benchmark, Plan, benchmark
from .row import Row


def sweep(case: str, build: Callable[[int], BoxProblem], plan: Plan, warm_size: int = 16) -> Iterator[Row]:
    """Every method on every size; other tables may use this with their own builder."""
    for k, method in enumerate(plan.methods):
        plan.done(k / len(plan.methods))
        plan.announce(f"{method}: compiling")
        warm_up(method, partial(build, warm_size), plan)
        for n in plan.sizes:
            plan.announce(f"{method} at {n}")
            yield measure(case, n, method, partial(build, n), plan)


def from_file(path: str) -> Benchmark:
    """A user's problem file, as for `nonstick solve`, as a benchmark of one size, its number of unknowns."""
    given = read_problem(path)
    A = validate.matrix(given.A)
    n, symmetric = int(A.shape[0]), validate.symmetric(A)
    b = validate.vector(given.b, n, "b")
    lower, upper = validate.bounds(given.lower, given.upper, n)
    cells = None if given.cells is None else validate.cells(given.cells, n)
    if cells is not None and (order := validate.c_order(cells)) is not None:  # grids are kept in C order
        A, b, lower, upper, cells = A[order][:, order], b[order], lower[order], upper[order], cells[order]
    name = Path(path).name

    def run(plan: Plan) -> Iterator[Row]:
        if plan.sizes != (n,):
            raise NonstickError(f"{path} has one size, {n} unknowns: remove --sizes")
        return sweep(name, lambda _: BoxProblem(as_operator(A, cells, symmetric), b, lower, upper), plan, n)

    return Benchmark(name, f"the problem in {path}", run, (n,))


def _register(name: str, description: str, sizes: tuple[int, ...]) -> None:
    @benchmark(name, description, sizes=sizes)
    def run(plan: Plan) -> Iterator[Row]:
        return sweep(name, lambda n: cases.build(name, n).problem, plan)


for _name, _description in cases.describe().items():
    _register(_name, _description, (32, 64) if _name in cases.names(dimension=3) else (64, 256))
