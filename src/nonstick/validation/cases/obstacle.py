"""Obstacle problems with published answers: a sheet over a dome, and OBSTCLA of CUTEst."""

from __future__ import annotations

import numpy as np

from ... import cases
from ...api import solve_problem
from ..case import Case, Measured, Published, Size

#: nodes along a side → mean and largest error (PETSc SNES ex9)
DOME = {9: (3.076e-3, 1.334e-2), 17: (2.707e-3, 1.428e-2), 513: (2.05e-6, 1.92e-5)}
#: nodes along a side → least value of the objective
OBSTCLA = {10: 1.397897560, 23: 1.678027027, 32: 1.748270031, 100: 1.88646121}


def dome(size: Size) -> Measured:
    """Mean and largest error against the exact solution, over those that were published for this size."""
    case = cases.build("obstacle2d", size.cells)
    error = np.abs(solve_problem(case.problem, "auto", rtol=1e-10).x - case.exact)
    mean, largest = DOME[size.cells]
    # the mean over all nodes; those on the boundary have no error
    return Measured({"mean": float(error.sum()) / size.cells**2 / mean, "largest": float(error.max()) / largest})


def obstcla(size: Size) -> Measured:
    """The objective at the solution over the published value."""
    problem = cases.build("obstcla2d", size.cells).problem
    x = solve_problem(problem, "auto", rtol=1e-10).x
    return Measured({"objective": problem.objective(x) / OBSTCLA[size.cells]})


CASES = (
    Case(
        "obstacle",
        "A sheet over a dome: error against the exact solution, over the published error",
        "Bueler, PETSc for Partial Differential Equations (2021), chapter 12; PETSc SNES tutorial ex9",
        (
            Published("mean", "mean error over the published one", 1.0, 0.005),
            Published("largest", "largest error over the published one", 1.0, 0.005),
        ),
        dome,
        quick=(Size(9), Size(17)),
        full=tuple(Size(n) for n in DOME),
        timeless=True,
    ),
    Case(
        "obstcla",
        "OBSTCLA of CUTEst: least value of the objective, over the published value",
        "Gould, Orban, Toint, CUTEst (2015), problem OBSTCLA",
        (Published("objective", "objective over the published value", 1.0, 5e-9),),
        obstcla,
        quick=(Size(10), Size(23), Size(32)),
        full=tuple(Size(n) for n in OBSTCLA),
        timeless=True,
    ),
)
