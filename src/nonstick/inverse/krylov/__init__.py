"""Krylov methods, Richardson's iteration and sparse factorisation."""

from .bicgstab import BiCGStab
from .cg import CG
from .cr import CR
from .direct import Direct
from .gmres import GMRES
from .richardson import Richardson

__all__ = ["CG", "CR", "GMRES", "BiCGStab", "Direct", "Richardson"]
