"""Multigrid: `Multigrid(coarsening, smoother, cycle)`, with coarsenings for grids, faces and bare matrices."""

from .aggregation.coarsening import GIA, Pairwise, TopologyAware
from .aggregation.levels import Packed
from .aggregation.smoothed import Smoothed
from .algebraic.coarsening import Algebraic
from .bottom import Bottom
from .cycles import Cycle, F, Full, K, Resmoothed, V, W
from .grid.blocks import Blocks
from .grid.geometric import Geometric
from .hierarchy import Coarsening, Multigrid, Stepwise
from .level import Level
from .smoothers import RBSSOR, DampedJacobi, Lexicographic, RedBlack, SPAI0Sweeps

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
