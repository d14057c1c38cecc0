"""Andersen's studies of parts: sub-solver × preconditioner, linear and in Newton's method, and ξ.

andersen-solvers  one time step of a run, the first of frame 20 of `andersen-2` (the paper: one step on 200² cells, its
                  scene not named): tables of iterations, and figures 12, 13 and 14 as residual curves.
andersen-xi       the first 0.01 s of `andersen-2`, the paper's scene 2: iterations, and figure 16 as medians; at the
                  largest size more values of ξ, for figure 17 (the paper: 400²).
andersen-linear, andersen-newton   the tables of andersen-solvers on the half-filled circle, without a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import cases
from ..errors import NonstickError
from ..inverse.base import NoPreconditioner, Recipe
from ..inverse.krylov.bicgstab import BiCGStab
from ..inverse.krylov.cg import CG
from ..inverse.krylov.cr import CR
from ..inverse.krylov.gmres import GMRES
from ..inverse.precond.ainv import AINV
from ..inverse.precond.ilu import ILU
from ..inverse.precond.jacobi import Jacobi
from ..inverse.precond.mic import MIC
from ..inverse.precond.reused import Reused
from ..inverse.precond.spai0 import SPAI0
from ..problem.box import BoxProblem
from ..solvers.base import Method
from ..solvers.linear import LinearSolve
from ..solvers.newton import MinMapNewton
from . import figures, published
from .means import Trace, mean_row
from .measure import measure, warm_up
from .registry import Plan, benchmark
from .row import Row
from .snapshots import Snapshot, first_of, snapshots

CASE = "circle2d"
SCENE = "andersen-2"
FRAME = 20
SOLVERS: dict[str, Callable[[Recipe], Recipe]] = {"CG": CG, "CR": CR, "GMRES": GMRES, "BiCGStab": BiCGStab}
#: CUSP's names as in the paper, then preconditioners that the paper does not have
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
#: figure 17; the paper does not give its values
XI_CLOSE = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5)
#: the paper's choice, "Static Scaled Bridson"
BEST = "static-scaled"
#: (sub-solver, preconditioner) → size → how the residual fell
Traces = dict[tuple[str, str], dict[int, Trace]]


def _masked() -> dict[str, Recipe]:
    """The paper masks one preconditioner of A (eq. 42); those called "new" are made again for every free set."""
    masked: dict[str, Recipe] = {name: Reused(M) for name, M in PRECONDITIONERS.items() if name != "identity"}
    new = {f"new {name}": PRECONDITIONERS[name] for name in (BEST, "ilu", "mic")}
    return {"identity": NoPreconditioner(), **masked, **new}


# -- sub-solver × preconditioner -----------------------------------------------------------------------------


@benchmark(
    "andersen-solvers", "Andersen fig. 12–14: sub-solver × preconditioner in a time step, linear and Newton",
    sizes=(50, 100), methods=(),
)  # fmt: skip
def solvers(plan: Plan) -> Iterator[Row]:
    _refuse(plan)
    steps: dict[int, Snapshot] = {}
    for n in plan.sizes:
        plan.announce(f"{SCENE} at {n}, {FRAME} frames")
        steps[n] = first_of(SCENE, n, FRAME)
    for n, counts in published.ANDERSEN_LINEAR.items():
        for (solver, preconditioner), count in counts.items():
            case = f"andersen-solvers linear {solver} (published)"
            yield Row(case, n, None, preconditioner, iterations=count, converged=True)
    linear: Traces = {}
    newton: Traces = {}
    half = plan.within(0.0, 0.4)
    yield from _grid(half, "andersen-solvers linear", LinearSolve, PRECONDITIONERS, steps.__getitem__, linear)
    rest = plan.within(0.4, 1.0)
    yield from _grid(rest, "andersen-solvers newton", MinMapNewton, _masked(), steps.__getitem__, newton)
    n = max(plan.sizes)
    counts = published.ANDERSEN_LINEAR.get(n, {})
    plan.draw("andersen-solvers-figure12", figures.convergence, {
        f"no preconditioner, {n}²": {solver: linear[solver, "identity"][n] for solver in SOLVERS},
        "CG": {name: linear["CG", name][n] for name in PRECONDITIONERS},
        BEST: {solver: linear[solver, BEST][n] for solver in SOLVERS},
    }, "iterations", {"CG": {name: count for (_, name), count in counts.items()}}, plan.rtol, log=True)  # fmt: skip
    plan.draw("andersen-solvers-figure13", figures.convergence, {
        f"Newton over {solver}, {n}²": {name: newton[solver, name][n] for name in _masked()} for solver in SOLVERS
    }, "inner iterations", log=True)  # fmt: skip
    plan.draw("andersen-solvers-figure14", figures.convergence, {
        f"CG, {BEST}": {f"{n}²": trace for n, trace in linear["CG", BEST].items()},
        "Newton, no preconditioner": {
            f"{solver}, {n}²": trace for solver in ("CG", "GMRES") for n, trace in newton[solver, "identity"].items()
        },
    }, ["iterations", "inner iterations"])  # fmt: skip


@benchmark(
    "andersen-linear",
    "Andersen fig. 12 on the circle at rest: linear solver × preconditioner",
    sizes=(64, 200),
    methods=(),
)
def linear(plan: Plan) -> Iterator[Row]:
    _refuse(plan)
    return _grid(plan, f"{CASE} linear", LinearSolve, PRECONDITIONERS, _Circle)


@benchmark(
    "andersen-newton",
    "Andersen fig. 13 on the circle at rest: Newton's sub-solver × preconditioner",
    sizes=(64, 200),
    methods=(),
)
def newton(plan: Plan) -> Iterator[Row]:
    _refuse(plan)
    return _grid(plan, f"{CASE} newton", MinMapNewton, _masked(), _Circle)


class _Circle:
    """The static case at size n, in place of a snapshot."""

    def __init__(self, n: int):
        self.n = n

    def build(self) -> BoxProblem:
        return cases.build(CASE, self.n).problem


def _grid(
    plan: Plan,
    title: str,
    method: Callable[[Recipe], Method],
    preconditioners: dict[str, Recipe],
    problem: Callable[[int], Snapshot | _Circle],
    traces: Traces | None = None,
) -> Iterator[Row]:
    count = 0
    for solver, recipe in SOLVERS.items():
        for label, M in preconditioners.items():
            composed = method(recipe(M))
            warm_up(composed, _Circle(16).build, plan)
            for n in plan.sizes:
                plan.announce(f"{title} {solver} {label} at {n}")
                trace: Trace = []
                yield measure(f"{title} {solver}", n, composed, problem(n).build, plan, label, trace=trace)
                if traces is not None:
                    traces.setdefault((solver, label), {})[n] = trace
            count += 1
            plan.done(count / (len(SOLVERS) * len(preconditioners)))


def _refuse(plan: Plan) -> None:
    if plan.methods:
        raise NonstickError("Andersen's tables have their own methods: remove --methods")


# -- ξ -----------------------------------------------------------------------------------------------------------


@benchmark(
    "andersen-xi",
    "Andersen fig. 16, 17: the accuracy ξ of Newton's sub-solver over 0.01 s",
    sizes=(64, 128),
    methods=(),
)
def accuracy(plan: Plan) -> Iterator[Row]:
    _refuse(plan)
    panels: dict[str, dict[str, list[Trace]]] = {}
    close: dict[str, dict[str, list[Trace]]] = {}
    for place, n in enumerate(plan.sizes):
        plan.announce(f"{SCENE} at {n}")
        # one frame of 0.01 s; the paper does not give the number of steps
        steps = list(snapshots(SCENE, n, 1, **{"time.fps": 100.0, "time.min_substeps": 5}))
        values = XI_CLOSE if n == max(plan.sizes) else XI
        for k, xi in enumerate(values):
            label = f"xi={xi:g}"
            rows = []
            curves: list[Trace] = []
            for step in steps:
                plan.announce(f"{SCENE} at {n}, {label}")
                trace: Trace = []
                rows.append(
                    measure("andersen-xi", n, MinMapNewton(xi=xi), step.build, plan, label, repeats=1, trace=trace)
                )
                # the paper's abscissa: Newton steps, not inner iterations
                curves.append([(i, kkt) for i, (_, kkt) in enumerate(trace)])
            if xi in XI:
                panels.setdefault(f"{n}²", {})[label] = curves
            if values is XI_CLOSE:
                close.setdefault(f"{n}²", {})[label] = curves
            yield mean_row("andersen-xi", n, label, rows)
            plan.done((place + (k + 1) / len(values)) / len(plan.sizes))
    plan.draw("andersen-xi-figure16", figures.medians, panels, "Newton steps")
    plan.draw("andersen-xi-figure17", figures.medians, close, "Newton steps", ordered=True)
