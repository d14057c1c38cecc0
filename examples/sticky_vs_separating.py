"""The same liquid in a round tank, first step from rest: walls that hold on to it, and walls that let go.

    python examples/sticky_vs_separating.py [cells per side] [picture]

Sticky walls forbid any motion across them, so near the top of the tank they pull: the pressure there is negative
and the liquid hangs on the wall. With separating walls the pressure is at least zero there, and the liquid falls.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nonstick import cases
from nonstick.pictures.render.charts import compare, middle_slice


def main(n: int = 64, path: str | Path = "demo/sticky_vs_separating.png", method: str = "auto") -> dict[str, float]:
    """Solve both, write the picture, return what sets them apart."""
    slices, found = [], {}
    for key, walls, title in (("sticky", "none", "sticky walls"), ("separating", "cut", "separating walls")):
        case = cases.build("sphere3d", n, walls=walls)
        problem = case.pressure_problem
        assert problem is not None
        solution = problem.solve(method, rtol=1e-7)
        if not solution.converged:
            raise SystemExit(f"{title}: {solution.message}")
        slices.append(middle_slice(title, problem, solution))
        found[f"{key} smallest pressure"] = float(solution.x.min())
        found[f"{key} cells that let go"] = int(np.count_nonzero(solution.active))
        found[f"{key} unknowns"] = case.problem.n
    found["picture"] = str(compare(slices, path, zoom=(0.12, 0.52, 0.6, 1.0)))
    return found


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    for name, value in main(size, *sys.argv[2:3]).items():
        print(f"{name:32} {value}")
