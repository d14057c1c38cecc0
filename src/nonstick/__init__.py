"""Liquids that let go of walls: bound-constrained elliptic solvers and a liquid simulator."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._lazy import on_first_use

__version__ = "0.2.0"

if TYPE_CHECKING:
    from .api import lcp, solve, solve_problem
    from .bodies.body import RigidBody
    from .discretise.diffusion import DiffusionProblem
    from .discretise.pressure import PressureProblem
    from .discretise.viscosity import ViscosityProblem
    from .errors import NonstickError
    from .files.formats.run import export
    from .files.problems import load_problem, save_problem
    from .files.tables import read_probes
    from .forms import lsq, qp
    from .problem.box import BoxProblem
    from .problem.solution import Batch, Solution
    from .registry import load_plugin, methods, register
    from .scenes.scene import Scene
    from .sim.liquid.simulation import Simulation
    from .solver import Solver
    from .sweeps.runs import sweep


# Public names load on first use, so that `nonstick --help` does not wait for numba.
_WHERE = {
    "solve": ".api",
    "lcp": ".api",
    "lsq": ".forms",
    "qp": ".forms",
    "Batch": ".problem.solution",
    "solve_problem": ".api",
    "methods": ".registry",
    "register": ".registry",
    "load_plugin": ".registry",
    "NonstickError": ".errors",
    "export": ".files.formats.run",
    "load_problem": ".files.problems",
    "save_problem": ".files.problems",
    "read_probes": ".files.tables",
    "BoxProblem": ".problem.box",
    "DiffusionProblem": ".discretise.diffusion",
    "PressureProblem": ".discretise.pressure",
    "ViscosityProblem": ".discretise.viscosity",
    "RigidBody": ".bodies.body",
    "Solution": ".problem.solution",
    "Solver": ".solver",
    "Scene": ".scenes.scene",
    "Simulation": ".sim.liquid.simulation",
    "sweep": ".sweeps.runs",
}

__all__ = [
    "Batch",
    "BoxProblem",
    "DiffusionProblem",
    "NonstickError",
    "PressureProblem",
    "RigidBody",
    "Scene",
    "Simulation",
    "Solution",
    "Solver",
    "ViscosityProblem",
    "export",
    "lcp",
    "load_plugin",
    "load_problem",
    "lsq",
    "methods",
    "qp",
    "read_probes",
    "register",
    "save_problem",
    "solve",
    "solve_problem",
    "sweep",
]


#: packages and modules for users who build their own methods: `nonstick.solvers.PolicyIteration`,
#: `nonstick.cases.build`
_MODULES = (
    "api",
    "cases",
    "compositions",
    "discretise",
    "grid",
    "integrations",
    "inverse",
    "operators",
    "problem",
    "registry",
    "solvers",
)


_named = on_first_use(__name__, _WHERE)


def __getattr__(name: str):
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    return _named(name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_WHERE) | set(_MODULES))
