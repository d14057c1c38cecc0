"""Methods for box problems, one per file. `nonstick.registry` names them, `nonstick.compositions` builds them."""

from .andersen import MinMapNewton
from .auto.active_set import ActiveSet
from .auto.banded import Banded
from .auto.faces import Faces
from .auto.projected_cg import ProjectedCG, WhileCheaper
from .base import Method
from .cascade import MethodCascade, in_turn
from .chentanez_muller.cycles import ChentanezMuller
from .chentanez_muller.projected_gs import ProjectedSOR
from .lai.fas import FAS
from .lai.penalty import Penalty
from .lai.policy import PolicyIteration
from .linear import LinearSolve
from .proximal import Proximal
from .saddle import SaddlePolicy
from .takahashi_batty.interior_point import InteriorPoint
from .takahashi_batty.mehrotra import Mehrotra
from .takahashi_batty.mprgp import MPRGP

__all__ = [
    "FAS",
    "MPRGP",
    "ActiveSet",
    "Banded",
    "ChentanezMuller",
    "Faces",
    "InteriorPoint",
    "LinearSolve",
    "Mehrotra",
    "Method",
    "MethodCascade",
    "MinMapNewton",
    "Penalty",
    "PolicyIteration",
    "ProjectedCG",
    "ProjectedSOR",
    "Proximal",
    "SaddlePolicy",
    "WhileCheaper",
    "in_turn",
]
