"""Approximate inverses: `recipe.setup(operator)` makes an `Inverse`, `inverse.apply(r, out)` uses it."""

from .base import FirstThatFits, Identity, Inverse, IterativeInverse, LinearResult, NoPreconditioner, Recipe
from .krylov.bicgstab import BiCGStab
from .krylov.cg import CG
from .krylov.cr import CR
from .krylov.direct import Direct, Factor
from .krylov.gmres import GMRES
from .krylov.richardson import Richardson
from .multigrid.blocks import Blocks
from .multigrid.cycles import F, Full, Resmoothed, V, W
from .multigrid.face_box import BoxSweep
from .multigrid.face_chebyshev import Chebyshev, ViscousBottom
from .multigrid.face_jacobi import BandJacobi
from .multigrid.face_volumes import MeanVolumes
from .multigrid.face_voxels import Voxels
from .multigrid.hierarchy import Multigrid, Sweeps
from .precond.ainv import AINV
from .precond.as_matrix import AsMatrix
from .precond.bordered import WithBorder
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
    "AsMatrix",
    "BandJacobi",
    "BiCGStab",
    "Blocks",
    "BoxSweep",
    "Chebyshev",
    "Deflated",
    "Direct",
    "F",
    "Factor",
    "FirstThatFits",
    "Full",
    "Identity",
    "Inverse",
    "IterativeInverse",
    "Jacobi",
    "LinearResult",
    "MeanVolumes",
    "Multigrid",
    "NoPreconditioner",
    "Recipe",
    "Resmoothed",
    "Richardson",
    "Sweeps",
    "V",
    "ViscousBottom",
    "Voxels",
    "W",
    "WithBorder",
]
