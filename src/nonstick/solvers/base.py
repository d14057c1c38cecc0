"""What a method for box problems looks like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from ..problem.box import BoxProblem
from ..problem.monitor import Monitor, Start


class Method(ABC):
    """Parameters of a method (a frozen dataclass); `repr` is its label in tables."""

    #: solves problems with constraints at the wall itself (`BoxProblem.edges`), which are no box
    handles_edges: ClassVar[bool] = False
    #: solves problems with rigid bodies: needs only products with the operator, no stencil and no coarser problem
    handles_bodies: ClassVar[bool] = True
    #: solves A x = b and ignores the bounds: a baseline, judged by the linear residual
    linear: ClassVar[bool] = False
    #: solves the system of a `ViscosityProblem` and nothing else
    viscous: ClassVar[bool] = False

    @abstractmethod
    def solve(self, problem: BoxProblem, start: Start, monitor: Monitor) -> None:
        """Improve `start.x` in place until `monitor.check` says stop or the iteration limit is reached."""
