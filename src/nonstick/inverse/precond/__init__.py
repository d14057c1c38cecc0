"""Preconditioners other than multigrid: incomplete factors, diagonals, deflation of rigid bodies."""

from .ainv import AINV
from .deflation import Deflated
from .ilu import ILU
from .jacobi import Jacobi
from .mic import MIC
from .reused import Reused
from .spai0 import SPAI0

__all__ = ["AINV", "ILU", "MIC", "SPAI0", "Deflated", "Jacobi", "Reused"]
