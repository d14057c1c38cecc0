"""Elasticity in contact: iterations, set changes, processor seconds and memory over sizes, ν, aspect and jumps.

Signorini's beam (2D) of size n has 40 n × 10 n cells, or 160 n × 3 n where it is 50 times as long as high; with jumps E
is 1 to 10⁴ at random. The cube (3D), clamped at one side and pressed onto a floor, has (7 n)³ cells. Each solve is a
process of its own; the peak of memory is that of the whole process, in which the matrix is assembled too.
"""

from __future__ import annotations

import multiprocessing
import resource
import time

import numpy as np
from common import Rows, options, progress, show
from gallery import beam, elasticity, pressed_cube

import nonstick

BEAMS = {
    "beam": {},
    "beam, ν = 0.45": {"nu": 0.45},
    "beam, ν = 0.499": {"nu": 0.499},
    "beam, jumps": {"jump": 1e4},
    "beam, 1 : 50": {"length": 50.0},
}
CUBES = {"cube": 0.3, "cube, ν = 0.45": 0.45, "cube, ν = 0.49": 0.49}


def problem(name: str, size: int):
    """A, b, lower, upper and the places of the nodes."""
    if name in CUBES:
        return pressed_cube(7 * size, CUBES[name])
    nx, ny = (160 * size, 3 * size) if "length" in BEAMS[name] else (40 * size, 10 * size)
    _, place, node = elasticity(nx, ny, **BEAMS[name])
    return *beam(nx, ny, **BEAMS[name])[:4], np.delete(place, node[0], axis=0)


def _solve(name: str, size: int, method: str, pipe) -> None:
    *small, places = problem(name, 1)
    nonstick.solve(*small, nodes=places, method=method)  # so that kernels are loaded
    A, b, lower, upper, nodes = problem(name, size)
    begun = time.process_time()
    solution = nonstick.solve(A, b, lower, upper, nodes=nodes, method=method)
    seconds = time.process_time() - begun
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts = {"iterations": solution.iterations, "outer_iterations": solution.outer_iterations}
    end = {"kkt": solution.kkt(), "converged": solution.converged, "path": solution.path}
    pipe.send({"unknowns": A.shape[0], **counts, "seconds": seconds, "peak_bytes": peak, **end})


def main(out="benchmarks/results", sizes=(1, 2), only=(*BEAMS, *CUBES), method="auto"):
    rows = Rows(out, "elasticity", ("case", "size", "method"))
    with progress("elasticity", len(sizes) * len(only)) as step:
        for name in only:
            for size in sizes:
                step(f"{name} at {size}")
                receiver, sender = multiprocessing.Pipe(False)
                child = multiprocessing.get_context("fork").Process(target=_solve, args=(name, size, method, sender))
                child.start()
                sender.close()
                try:
                    rows.add({"case": name, "size": size, "method": method, **receiver.recv()})
                except EOFError:
                    rows.add({"case": name, "size": size, "method": method, "converged": False, "path": "no answer"})
                child.join()
    heads = ["case", "unknowns", "iterations", "set changes", "s", "MB", "converged", "path"]
    lines = [
        [r["case"], r.get("unknowns"), r.get("iterations"), r.get("outer_iterations"), r.get("seconds"),
         r.get("peak_bytes", 0) / 1e6, r["converged"], r["path"][:60]]
        for r in rows if r["method"] == method
    ]  # fmt: skip
    show(f"{method}: elasticity in contact", heads, lines)
    return rows


if __name__ == "__main__":
    main(**options(__doc__, sizes=(2, 4, 8), only=(*BEAMS, *CUBES), method="auto"))
