"""Andersen's studies on a static case: sub-solver × preconditioner, linear and in Newton's method, and ξ.

Figures 12, 13 and 16 of the paper show residual curves of one time step on 200² cells; here are the counts to
reach a tolerance on the half-filled circle, one table per sub-solver, one column per preconditioner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import cases
from ..errors import NonstickError
from ..lcp.base import Method
from ..lcp.linear import LinearSolve
from ..lcp.newton import MinMapNewton
from ..linear.base import NoPreconditioner, Recipe
from ..linear.bicgstab import BiCGStab
from ..linear.cg import CG
from ..linear.cr import CR
from ..linear.gmres import GMRES
from ..precond.ainv import AINV
from ..precond.ilu import ILU
from ..precond.jacobi import Jacobi
from ..precond.mic import MIC
from ..precond.reused import Reused
from ..precond.spai0 import SPAI0
from .measure import measure, warm_up
from .registry import Plan, benchmark
from .row import Row

CASE = "circle2d"
SOLVERS: dict[str, Callable[[Recipe], Recipe]] = {"CG": CG, "CR": CR, "GMRES": GMRES, "BiCGStab": BiCGStab}
#: CUSP's names as the paper has them, then what it lacks
PRECONDITIONERS: dict[str, Recipe] = {
    "identity": NoPreconditioner(),
    "diagonal": Jacobi(),
    "bridson": AINV(),
    "scaled": AINV(scaled=True),
    "static": AINV(drop=0.0, nonzeros=10),
    "static-scaled": AINV(drop=0.0, nonzeros=10, scaled=True),
    "spai0": SPAI0(),
    "ilu": ILU(),
    "mic": MIC(),
}
XI = (0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-5)


@benchmark("andersen-linear", "Andersen fig. 12: linear solver × preconditioner", sizes=(64, 200), methods=())
def linear(plan: Plan) -> Iterator[Row]:
    return _grid(plan, "linear", LinearSolve, PRECONDITIONERS)


@benchmark("andersen-newton", "Andersen fig. 13: Newton's sub-solver × preconditioner", sizes=(64, 200), methods=())
def newton(plan: Plan) -> Iterator[Row]:
    # The paper masks one preconditioner of A (eq. 42); "new" ones are made for every free set.
    masked = {name: Reused(M) for name, M in PRECONDITIONERS.items() if name != "identity"}
    new = {f"new {name}": PRECONDITIONERS[name] for name in ("static-scaled", "ilu", "mic")}
    return _grid(plan, "newton", MinMapNewton, {"identity": NoPreconditioner(), **masked, **new})


@benchmark("andersen-xi", "Andersen fig. 16: the accuracy ξ of Newton's sub-solver", sizes=(64, 200), methods=())
def accuracy(plan: Plan) -> Iterator[Row]:
    return _sweep(plan, CASE, {f"xi={xi:g}": MinMapNewton(xi=xi) for xi in XI})


def _grid(plan: Plan, what: str, method: Callable[[Recipe], Method], preconditioners: dict[str, Recipe]):
    for solver, recipe in SOLVERS.items():
        methods = {name: method(recipe(M)) for name, M in preconditioners.items()}
        yield from _sweep(plan, f"{CASE} {what} {solver}", methods)


def _sweep(plan: Plan, title: str, methods: dict[str, Method]) -> Iterator[Row]:
    if plan.methods:
        raise NonstickError("Andersen's tables have their own methods: leave --methods out")
    for label, method in methods.items():
        warm_up(method, lambda: cases.build(CASE, 16).problem, plan)
        for n in plan.sizes:
            plan.announce(f"{title} {label} at {n}")
            yield measure(title, n, method, lambda n=n: cases.build(CASE, n).problem, plan, label)  # type: ignore[misc]
