"""Approximate inverses: `recipe.setup(operator)` makes an `Inverse`, `inverse.apply(r, out)` uses it."""

from .base import Identity, Inverse, IterativeInverse, LinearResult, NoPreconditioner, Recipe
from .cascade import Cascade, Trial, Within
from .krylov.bicgstab import BiCGStab
from .krylov.cg import CG
from .krylov.direct import Direct, Factor
from .krylov.gmres import GMRES
from .krylov.minres import CR, MINRES
from .krylov.richardson import Richardson
from .multigrid.aggregation.coarsening import GIA, Pairwise, TopologyAware
from .multigrid.aggregation.near_null import NearNull
from .multigrid.aggregation.smoothed import Smoothed
from .multigrid.algebraic.coarsening import Algebraic
from .multigrid.bottom import Sweeps
from .multigrid.cycles import F, Full, K, Resmoothed, V, W
from .multigrid.faces.box import BoxSweep
from .multigrid.faces.coarsening import MeanVolumes, Voxels
from .multigrid.faces.smoothers import BandJacobi, Chebyshev, ViscousBottom
from .multigrid.grid.blocks import Blocks
from .multigrid.grid.geometric import Geometric
from .multigrid.hierarchy import Multigrid
from .multigrid.smoothers import RBSSOR, DampedJacobi, Lexicographic, RedBlack, SPAI0Sweeps
from .precond.adapters import AsMatrix, Reused, WithBorder
from .precond.ainv import AINV
from .precond.deflation import Deflated
from .precond.incomplete import ILU, MIC
from .precond.jacobi import SPAI0, Jacobi
from .precond.saddle import BlockDiagonal, BlockTriangular

__all__ = [
    "AINV",
    "CG",
    "CR",
    "GIA",
    "GMRES",
    "ILU",
    "MIC",
    "MINRES",
    "RBSSOR",
    "SPAI0",
    "Algebraic",
    "AsMatrix",
    "BandJacobi",
    "BiCGStab",
    "BlockDiagonal",
    "BlockTriangular",
    "Blocks",
    "BoxSweep",
    "Cascade",
    "Chebyshev",
    "DampedJacobi",
    "Deflated",
    "Direct",
    "F",
    "Factor",
    "Full",
    "Geometric",
    "Identity",
    "Inverse",
    "IterativeInverse",
    "Jacobi",
    "K",
    "Lexicographic",
    "LinearResult",
    "MeanVolumes",
    "Multigrid",
    "NearNull",
    "NoPreconditioner",
    "Pairwise",
    "Recipe",
    "RedBlack",
    "Resmoothed",
    "Reused",
    "Richardson",
    "SPAI0Sweeps",
    "Smoothed",
    "Sweeps",
    "TopologyAware",
    "Trial",
    "V",
    "ViscousBottom",
    "Voxels",
    "W",
    "WithBorder",
    "Within",
]
