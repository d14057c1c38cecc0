"""The first run compiles over a hundred kernels: a second process compiles some of them at the same time.

The simulation needs the kernels of the particles first, so the second process begins with the kernels of the solver and
of the pictures. Each process finds the kernels of the other one in the cache on disk. If the second process fails, only
time is lost: the simulation compiles all kernels that it needs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
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
    """One small picture of a run that has one frame: a ball of particles above a block."""
    from ...files.rundir import RunDirectory
    from ...scenes import Scene
    from ..kinds import kind_of
    from .loop import new_meta

    n, block = 8, {"type": "box", "low": [0.1] * dimension, "high": [0.4] * dimension}
    look = {"width": 64, "height": 64, "labels": False}
    scene: Scene = Scene(
        {"domain": {"size": [1.0] * dimension, "resolution": n}, "camera": look, "solid": [{"shape": block}]}
    )
    position = np.stack(np.meshgrid(*[(np.arange(2 * n) + 0.5) / (2 * n)] * dimension, indexing="ij"), axis=-1)
    away = np.linalg.norm(position - 0.5, axis=-1) - 0.3
    phi = away[(slice(None, None, 2),) * dimension]
    with tempfile.TemporaryDirectory() as folder:
        made = RunDirectory.create(Path(folder) / "run", scene.to_toml(), new_meta(scene))
        frame = {"phi": phi, "position": position[away < 0.0]}
        made.write_frame(0, {name: array.astype(np.float32) for name, array in frame.items()})
        for _ in kind_of(scene).film(made.path).images():
            pass


if __name__ == "__main__":
    compile_solver()
    compile_painter(int(sys.argv[1]))
