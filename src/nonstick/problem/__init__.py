"""The problem, the monitor of a solve, and its solution: the same for every method."""

from .box import Box, BoxProblem
from .constraints import LinearConstraints
from .edges import WallEdges
from .monitor import Monitor, Start
from .solution import Solution

__all__ = ["Box", "BoxProblem", "LinearConstraints", "Monitor", "Solution", "Start", "WallEdges"]
