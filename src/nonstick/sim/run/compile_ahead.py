"""The first run compiles over a hundred kernels: a second process compiles some of them at the same time.

The simulation needs the kernels of the particles first, so the second process begins with the kernels of the solver and
of the pictures. Each process finds the kernels of the other one in the cache on disk. If the second process fails, only
time is lost: the simulation compiles all kernels that it needs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...problem.solution import Solution


@contextmanager
def compiling_ahead(dimension: int) -> Iterator[None]:
    """Compile in a second process during the `with` block, if kernels are missing and a core is free."""
    from ...inverse.multigrid.grid import _redblack
    from ...kernels import _cache

    helper = None
    if (os.cpu_count() or 1) > 1 and not _cache.compiled(Path(_redblack.__file__)):
        try:
            helper = subprocess.Popen(
                [sys.executable, "-m", __name__, str(dimension)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the simulation
            )
        except OSError:
            helper = None
    try:
        yield
    finally:
        if helper is not None:
            helper.kill()
            helper.wait()


def compile_solver() -> Solution:
    """A cold and a warm solve of a cube of liquid thrown against its walls, large enough for every kind of level."""
    from ...api import solve_problem
    from ...operators.rows import Rows
    from ...operators.stencil import StencilOperator
    from ...problem.box import BoxProblem

    n = 44
    rows = Rows.from_mask(np.ones((n, n, n), bool))
    inside = rows.neighbours() >= 0
    wx, wy, wz = (np.ascontiguousarray(inside[:, axis], dtype=float) for axis in range(3))
    place = rows.coordinates()
    faces = 2 * place.shape[1] - np.sum((place == 0) | (place == n - 1), axis=1)
    A = StencilOperator(rows, (wx, wy, wz), faces + (place[:, 1] == n - 1.0))
    wall = (place[:, 0] == 0) | (place[:, 1] == 0)
    problem = BoxProblem(A, np.sin(place.sum(axis=1) / 9.0), np.where(wall, 0.0, -np.inf))
    solution = solve_problem(problem)
    solve_problem(problem, x0=solution.x, active=solution.active)
    return solution


def compile_painter(dimension: int) -> None:
    """One small picture."""
    n = 8
    grid = np.meshgrid(*[np.arange(n) + 0.5] * dimension, indexing="ij")
    phi = np.sqrt(sum((x - n / 2) ** 2 for x in grid)) - 2.0
    solid = np.ones((n + 1,) * dimension)
    if dimension == 2:
        from ...pictures.render.plane import draw

        draw({"phi": phi}, solid, 1.0, 16, 16)
    else:
        from ...pictures.render.scenery import Scenery
        from ...pictures.render.space import Studio

        Studio(16, 16).draw(phi, Scenery.of_nodes(solid, 1.0), 1.0)


if __name__ == "__main__":
    compile_solver()
    compile_painter(int(sys.argv[1]))
