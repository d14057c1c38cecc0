"""What the settings of the solvers are worth: iterations if one of them is halved or doubled, all others kept.

    python benchmarks/sensitivity.py                       every field of every settings class
    python benchmarks/sensitivity.py --only few sweeps     some fields

The iterations are sums over static cases and matrices without a grid, for the methods that read these settings. A
setting that changes nothing is one that these problems do not need: it waits for failures, or for larger problems.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import fields, replace
from importlib import import_module

import numpy as np
from matrices import PROBLEMS

import nonstick
from nonstick import NonstickError, Scene, Simulation, cases
from nonstick.api import solve_problem
from nonstick.operators.stencil import as_operator
from nonstick.problem.box import BoxProblem

#: module, name of the settings, the rooms that hold the same object under that name
SETTINGS = (
    ("discretise.coupling", "SETTINGS", ()),
    ("inverse.krylov.direct", "SETTINGS", ()),
    ("inverse.multigrid.grid.geometric", "SETTINGS", ()),
    ("solvers.chentanez_muller.projected_gs", "SETTINGS", ()),
    ("solvers.lai.fas", "SETTINGS", ()),
    ("inverse.multigrid.algebraic.near_null", "SETTINGS", ("inverse.multigrid.algebraic.coarsening",)),
    ("inverse.precond.deflation", "SETTINGS", ()),
    ("solvers.bodies_apart", "SETTINGS", ("solvers.constrained",)),
    ("solvers.safeguards.definite", "SETTINGS", ()),
    ("solvers.safeguards.refinement", "SETTINGS", ()),
    ("solvers.takahashi_batty.barrier", "SETTINGS", ("solvers.takahashi_batty.mehrotra",)),
)
MATRICES = "bearing-4", "rotated-1e-3", "jumps", "triangles-1e-2", "scaled", "scaled-jumps", "solid", "solid-1e-2"
SIZE = 40


def problems() -> Iterator[tuple[str, str, BoxProblem]]:
    """Name, method and problem."""
    for name in ("sphere3d", "maze2d", "obstacle2d"):
        problem = cases.build(name, 32 if "2d" in name else 12).problem
        for method in ("auto", "mehrotra", "ipm-pd+cab+ss", "newton"):
            yield name, method, problem
    for name in MATRICES:
        A, b, lower, upper, _ = PROBLEMS[name](SIZE)
        yield name, "auto", BoxProblem(as_operator(A), b, lower, upper)


def count(all_of: list[tuple[str, str, BoxProblem]]) -> dict[str, int]:
    """Iterations of every problem; -1 if it was not solved. `bodies` are solves around a floating ball."""
    out = {}
    for name, method, problem in all_of:
        try:
            solution = solve_problem(problem, method, maxiter=2000)
            out[f"{name} {method}"] = int(solution.iterations) if solution.converged else -1
        except NonstickError:
            out[f"{name} {method}"] = -1
    for method in ("auto", "fas-mg"):
        simulation = Simulation(Scene.load("bobbing-ball", {"domain.resolution": 12, "solver.method": method}))
        out[f"bodies {method}"] = int(sum(row.get("iterations", 0) for row in simulation.next_frame()))
    A, b, lower, upper, _ = PROBLEMS["bearing-4"](SIZE)
    sums = np.repeat(np.eye(2), b.size // 2, axis=1)
    free = nonstick.solve(A, b, lower, upper).x
    limits = np.array([0.5, 1.2]) * (sums @ free)
    held = nonstick.solve(A, b, lower, upper, constraints=(sums, limits, limits))
    out["constraints auto"] = int(held.iterations) if held.converged else -1
    return out


def varied(value: float) -> list[float]:
    halved = max(1, value // 2) if isinstance(value, int) else 0.5 * value
    return [halved, 2 * value]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    only = parser.parse_args().only
    warnings.simplefilter("ignore")
    before = count(list(problems()))
    print(f"as it is: {sum(before.values())} iterations over {len(before)} problems")
    for where, name, others in SETTINGS:
        rooms = [import_module(f"nonstick.{module}") for module in (where, *others)]
        usual = getattr(rooms[0], name)
        for field in fields(usual):
            if only and field.name not in only:
                continue
            words = []
            for value in varied(getattr(usual, field.name)):
                for room in rooms:
                    setattr(room, name, replace(usual, **{field.name: value}))
                now = count(list(problems()))  # anew: what is known about an operator is kept
                changed = [f"{k} {before[k]} -> {now[k]}" for k in before if now[k] != before[k]]
                words.append(f"{value:g}: {', '.join(changed) or 'nothing'}")
            for room in rooms:
                setattr(room, name, usual)
            print(
                f"{type(usual).__name__}.{field.name} = {getattr(usual, field.name):g}; " + "; ".join(words), flush=True
            )


if __name__ == "__main__":
    main()
