"""Methods for box problems, one per file. `nonstick.registry` names them, `nonstick.compositions` builds them."""

from .active_set import ActiveSet
from .base import Method
from .cascade import MethodCascade
from .chentanez_muller import ChentanezMuller
from .fas import FAS
from .interior_point import InteriorPoint
from .linear import LinearSolve
from .mehrotra import Mehrotra
from .mprgp import MPRGP
from .newton import MinMapNewton, minimum_map_newton
from .penalty import Penalty
from .policy import PolicyIteration
from .projected_gs import ProjectedSOR

__all__ = [
    "FAS",
    "MPRGP",
    "ActiveSet",
    "ChentanezMuller",
    "InteriorPoint",
    "LinearSolve",
    "Mehrotra",
    "Method",
    "MethodCascade",
    "MinMapNewton",
    "Penalty",
    "PolicyIteration",
    "ProjectedSOR",
    "minimum_map_newton",
]
