"""`Alone`: one process that has the whole domain, and the operations in which several processes differ from it.

A step asks these questions wherever the answer depends on all liquid: sums, largest values, cells and faces of others.
One process answers for itself, at no cost and without changing a bit. `nonstick.mpi.part.Part` answers for many
processes: each of them has its own box of the domain, with ghost cells and copies of the particles around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...discretise.coupling import WHOLE_GRID
from ...discretise.viscosity import ViscosityProblem
from ...grid.faces import FaceField
from ...grid.mac import Grid
from ...grid.masks import connected_parts
from ...scenes.scene import Scene

if TYPE_CHECKING:  # the solvers are slow to load, and a check needs none
    from ...problem.box import BoxProblem
    from ...problem.solution import Solution


class Alone:
    """One process with the whole domain.

    Examples
    --------
    >>> from nonstick import Scene
    >>> alone = Alone(Scene.load("still", {"domain.resolution": 8}))
    >>> alone.grid.shape, alone.sum(3.0)
    ((8, 8), 3.0)
    """

    #: processes, and the number of this one
    size = 1
    rank = 0
    #: whether other processes have parts of the domain
    shared = False
    #: which cells and faces count in sums over bodies
    counted = WHOLE_GRID

    def __init__(self, scene: Scene):
        #: the cells of this process, ghosts included
        self.grid = Grid(scene.shape, scene.dx)

    # -- numbers --------------------------------------------------------------------------------------

    def sum(self, value: float) -> float:
        """The sum of a number over all processes."""
        return value

    def max(self, value: float) -> float:
        """The largest of a number of all processes."""
        return value

    def any(self, flag: bool) -> bool:
        """True if it is true for a process."""
        return flag

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sums of arrays of the same shape over all processes."""
        return values

    # -- cells and faces ------------------------------------------------------------------------------

    def own(self, cells: np.ndarray) -> np.ndarray:
        """A view of the cells that belong to this process: all but the ghosts."""
        return cells

    def own_faces(self, faces: np.ndarray, axis: int) -> np.ndarray:
        """A view of the faces of one of three axes that belong to this process."""
        return faces

    def own_nodes(self, nodes: np.ndarray) -> np.ndarray:
        """A view of the nodes that belong to this process, in the user's dimension."""
        return nodes

    def with_ghosts(self, cells: np.ndarray) -> np.ndarray:
        """An array over own cells with ghost cells around it."""
        return cells

    def only_own(self, cells: np.ndarray) -> np.ndarray:
        """The array with zeros in ghost cells."""
        return cells

    def own_starts(self, start: np.ndarray) -> np.ndarray:
        """The same for `start` of a sorted cloud: no particles in ghost cells."""
        return start

    def fill_cells(self, *arrays: np.ndarray) -> None:
        """Give ghost cells the values of their owners, in place."""

    def fill_faces(self, faces: FaceField) -> None:
        """Give ghost faces, of arrays for three axes, the values of their owners, in place."""

    def colour(self, sweep: int) -> int:
        """The parity of this grid's cells that a red-black half sweep updates."""
        return sweep & 1

    def solve(
        self, problem: BoxProblem, x0: np.ndarray | None, active: np.ndarray | None, rtol: float, maxiter: int | None
    ) -> Solution:
        """Solve a problem of which several processes have parts, in the rows of their cells and ghost cells."""
        raise AssertionError("one process solves its problems by itself")

    def thicken(self, problem: ViscosityProblem, rtol: float, start: Sequence[np.ndarray] | None = None) -> Any:
        """The same for a viscosity problem; `start` is a velocity near the solution."""
        raise AssertionError("one process solves its problems by itself")

    #: half sweeps after which the ghost cells must be filled again; 0: never
    depth = 0

    def parts(self, space: np.ndarray) -> tuple[np.ndarray, int]:
        """Number of the connected part of `space > 0` that each cell lies in, and the number of parts; 0 outside."""
        return connected_parts(space > 0.0)

    # -- particles ------------------------------------------------------------------------------------

    def position(self, x: np.ndarray) -> np.ndarray:
        """Positions in cells from the corner of the domain."""
        return x

    def born(self, pieces: Iterator[np.ndarray]) -> tuple[np.ndarray, np.ndarray | None, int]:
        """Of new particles that the processes have made: the positions of mine, their places in the order of all, and
        the number of all. Rows after the three coordinates go with the positions."""
        x = np.concatenate(list(pieces), axis=1)
        return x, None, x.shape[1]

    def mine(self, x: np.ndarray) -> np.ndarray:
        """Mask of the positions, in cells from the corner of the domain, that lie in own cells."""
        return np.ones(x.shape[1], bool)

    def here(self, x: np.ndarray) -> np.ndarray:
        """Own positions in cells from the corner of this process's grid."""
        return x

    def surround(self, cloud: Any) -> None:
        """Give a cloud the particles in ghost cells; it is sorted next."""

    def own_particles(self, cloud: Any) -> Any:
        """The cloud without particles in ghost cells; the cloud itself is not changed."""
        return cloud

    def release(self, cloud: Any, change: Callable[[], np.ndarray]) -> Callable[[], np.ndarray]:
        """Remove particles in ghost cells; returns the function that changes positions as `change` would have done."""
        return change

    def settle(self, cloud: Any) -> None:
        """Send particles to the processes in whose cells they are."""
