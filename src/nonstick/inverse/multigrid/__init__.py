"""Multigrid: `Multigrid(coarsening, smoother, cycle)`, with coarsenings for grids, faces and bare matrices."""

from .aggregation import GIA, Pairwise, TopologyAware
from .algebraic import Algebraic
from .blocks import Blocks
from .cycles import Cycle, F, Full, K, Level, Resmoothed, V, W
from .geometric import Geometric
from .hierarchy import Bottom, Coarsening, Multigrid, Stepwise
from .packed import Packed
from .rbssor import RBSSOR
from .smoothed import Smoothed, SPAI0Sweeps
from .smoothers import DampedJacobi, Lexicographic, RedBlack

__all__ = [
    "GIA",
    "RBSSOR",
    "Algebraic",
    "Blocks",
    "Bottom",
    "Coarsening",
    "Cycle",
    "DampedJacobi",
    "F",
    "Full",
    "Geometric",
    "K",
    "Level",
    "Lexicographic",
    "Multigrid",
    "Packed",
    "Pairwise",
    "RedBlack",
    "Resmoothed",
    "SPAI0Sweeps",
    "Smoothed",
    "Stepwise",
    "TopologyAware",
    "V",
    "W",
]
