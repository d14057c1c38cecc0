"""The problem, the monitor of a solve, and its solution: the same for every method."""

from .box import Bounds, BoxProblem, WallEdges
from .constraints import LinearConstraints
from .monitor import History, Monitor, Start
from .rows import RowError
from .solution import Solution

__all__ = [
    "Bounds", "BoxProblem", "History", "LinearConstraints", "Monitor", "RowError", "Solution", "Start", "WallEdges",
]  # fmt: skip

#: the name of `Bounds` in version 0.1
Box = Bounds
