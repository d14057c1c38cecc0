"""A record of what the program computes, to compare two versions: the motion of every built-in scene, the counts of
every method on every static case.

A scene is run for five frames; its line holds a digest of the positions and velocities of all particles (of all fields
for heat) and the iterations of its solves. A case is solved by every method; its line holds the iterations, the outer
iterations, the status and a digest of the solution. Two versions that compute the same have the same lines to the bit.

Run: python benchmarks/record.py FILE.json [--cells N] [--only NAME…]      write a record
     python benchmarks/record.py FILE.json --against OLDER.json            and say what changed since the older one
`--cells 0` takes the resolution that each scene asks for, which takes long.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import nonstick
from nonstick import Scene, Simulation, cases, scenes
from nonstick.api import solve_problem

FRAMES = 5
CELLS = {2: 32, 3: 14}
MOTION = ("position", "velocity", "phi", "temperature")


def digest(arrays: dict[str, np.ndarray]) -> str:
    whole = hashlib.sha256()
    for name in sorted(arrays):
        whole.update(name.encode())
        whole.update(np.ascontiguousarray(arrays[name]).tobytes())
    return whole.hexdigest()[:16]


def motion(name: str, cells: int | None) -> dict[str, object]:
    scene = Scene.load(name)
    if cells != 0:
        scene = Scene.load(name, {"domain.resolution": cells or CELLS[len(scene.shape)]})
    simulation = Simulation(scene)
    rows = [row for _ in range(FRAMES) for row in simulation.next_frame()]
    arrays = {k: np.asarray(v) for k, v in simulation.frame_arrays().items() if k in MOTION}
    return {
        "steps": len(rows),
        "iterations": int(sum(row.get("iterations", 0) for row in rows)),
        "motion": digest(arrays),
        "centre": [round(float(v), 9) for v in np.ravel(arrays["position"].mean(0))] if "position" in arrays else [],
    }


def counts(name: str, method: str, cells: int | None) -> dict[str, object]:
    n = cells or (32 if "2d" in name else 16)
    problem = cases.build(name, n).problem
    limit = 400 if method in ("pgs", "psor") else None
    try:
        solution = solve_problem(problem, method, maxiter=limit)
    except nonstick.NonstickError as error:
        return {"refused": str(error)[:60]}
    return {
        "iterations": int(solution.iterations),
        "outer": int(solution.outer_iterations),
        "status": str(solution.status),
        "x": digest({"x": solution.x}),
        "norm": float(f"{np.linalg.norm(solution.x):.9g}"),
    }


def record(cells: int | None, only: list[str], part: str) -> dict[str, dict[str, object]]:
    lines: dict[str, dict[str, object]] = {}

    def note(key: str, measure: Callable[[], dict[str, object]]) -> None:
        began = time.perf_counter()
        lines[key] = line = measure()
        print(f"{key:48} {time.perf_counter() - began:6.1f} s  {line}", flush=True)

    wanted = [m for m in nonstick.methods() if not m.startswith(("visc-", "stokes-"))]
    for name in sorted(cases.names()):
        if part != "scenes" and (not only or name in only):
            for method in wanted:
                note(f"{name} {method}", partial(counts, name, method, cells))
    for name in sorted(scenes.builtin()):
        if part != "cases" and (not only or name in only):
            note(f"scene {name}", partial(motion, name, cells))
    return lines


def compare(old: dict[str, dict[str, object]], new: dict[str, dict[str, object]]) -> int:
    changed = 0
    for key in sorted(old.keys() & new.keys()):
        differences = {k: (old[key].get(k), new[key].get(k)) for k in old[key] if old[key].get(k) != new[key].get(k)}
        if differences:
            changed += 1
            print(f"{key}: " + ", ".join(f"{k} {a} -> {b}" for k, (a, b) in differences.items()))
    for key in sorted(old.keys() - new.keys()):
        print(f"{key}: not in the new record")
    print(f"{len(old.keys() & new.keys())} lines compared, {changed} changed")
    return changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--cells", type=int, default=None)
    parser.add_argument("--part", choices=("all", "cases", "scenes"), default="all")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--against", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = record(options.cells, options.only, options.part)
    options.file.write_text(json.dumps(lines, indent=1))
    return min(compare(json.loads(options.against.read_text()), lines), 1) if options.against else 0


if __name__ == "__main__":
    sys.exit(main())
