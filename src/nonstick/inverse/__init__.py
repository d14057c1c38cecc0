"""Approximate inverses: `recipe.setup(operator)` makes an `Inverse`, `inverse.apply(r, out)` uses it."""

from .base import FirstThatFits, Identity, Inverse, IterativeInverse, LinearResult, NoPreconditioner, Recipe
from .krylov.bicgstab import BiCGStab
from .krylov.cg import CG
from .krylov.cr import CR
from .krylov.direct import Direct
from .krylov.gmres import GMRES
from .krylov.richardson import Richardson
from .multigrid.blocks import Blocks
from .multigrid.cycles import F, Full, Resmoothed, V, W
from .multigrid.hierarchy import Multigrid
from .precond.ainv import AINV
from .precond.deflation import Deflated
from .precond.ilu import ILU
from .precond.jacobi import Jacobi
from .precond.mic import MIC
from .precond.spai0 import SPAI0

__all__ = [
    "AINV",
    "CG",
    "CR",
    "GMRES",
    "ILU",
    "MIC",
    "SPAI0",
    "BiCGStab",
    "Blocks",
    "Deflated",
    "Direct",
    "F",
    "FirstThatFits",
    "Full",
    "Identity",
    "Inverse",
    "IterativeInverse",
    "Jacobi",
    "LinearResult",
    "Multigrid",
    "NoPreconditioner",
    "Recipe",
    "Resmoothed",
    "Richardson",
    "V",
    "W",
]
