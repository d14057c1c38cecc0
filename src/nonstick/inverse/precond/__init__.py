"""Preconditioners other than multigrid: incomplete factors, diagonals, deflation of rigid bodies."""

from .adapters import Reused
from .ainv import AINV
from .deflation import Deflated
from .incomplete import ILU, MIC
from .jacobi import SPAI0, Jacobi

__all__ = ["AINV", "ILU", "MIC", "SPAI0", "Deflated", "Jacobi", "Reused"]
