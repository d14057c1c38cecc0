"""Meshes sampled once against meshes measured in every step: processor time of a substep, and the error of the samples.

The same scene, a pool with a ring of 4096 triangles, runs twice in turns: with samples, and with the exact distance
wherever samples would be read. Times are of the process, the first frame is left out.
Run: python benchmarks/meshes.py [cells ...]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
import trimesh

from nonstick import Scene, Simulation
from nonstick.grid import Mesh, sample_meshes
from nonstick.sim.liquid.particles import seeding
from nonstick.sim.liquid.solids import solid

FRAMES = 4
ROLES = ("at rest", "driven", "body", "inflow", "outflow")


def scene(role: str, n: int, folder: Path) -> Scene:
    ring = {"type": "mesh", "file": "ring.stl", "move": [0.5, 0.35, 0.5]}
    above = {**ring, "move": [0.5, 0.75, 0.5]}
    more = {
        "at rest": {"solid": [{"shape": ring}]},
        "driven": {"solid": [{"shape": ring, "motion": {"spin": 90.0, "axis": [1.0, 0.0, 0.0]}}]},
        "body": {"bodies": [{"shape": ring, "density": 400.0}]},
        "inflow": {"inflow": [{"shape": above, "velocity": [0.0, -1.0, 0.0]}]},
        "outflow": {"outflow": [{"shape": ring}]},
    }[role]
    pool = {"shape": {"type": "box", "low": [0.0, 0.0, 0.0], "high": [1.0, 0.4, 1.0]}}
    return Scene({"domain": {"size": [1.0, 1.0, 1.0], "resolution": n}, "liquid": [pool], **more}, folder=folder)


def seconds(made: Scene, exact: bool) -> tuple[float, float]:
    """Processor time of the start and of a substep."""
    patches = [patch.object(module, "sample_meshes", _unchanged) for module in (seeding, solid) if exact]
    for one in patches:
        one.start()
    began = time.process_time()
    simulation = Simulation(made)
    simulation.next_frame()
    start, began = time.process_time() - began, time.process_time()
    substeps = sum(len(simulation.next_frame()) for _ in range(FRAMES))
    for one in patches:
        one.stop()
    return start, (time.process_time() - began) / substeps


def _unchanged(shape, width):
    return shape


def error(mesh: Mesh, n: int) -> tuple[float, float, float]:
    """Of the nodes of a turned grid within a cell of the surface: rms, 99 % and largest error, in cells."""
    turn = trimesh.transformations.rotation_matrix(0.7, [1.0, 2.0, 0.5])[:3, :3]
    nodes = np.stack(np.meshgrid(*[np.arange(n + 1) / n - 0.5] * 3, indexing="ij"), -1).reshape(-1, 3) @ turn
    exact = mesh(*nodes.T)
    near = np.abs(exact) < 1.0 / n
    off = n * np.abs(sample_meshes(mesh, 1.0 / n)(*nodes[near].T) - exact[near])
    return float(np.sqrt((off**2).mean())), float(np.quantile(off, 0.99)), float(off.max())


def main(*sizes: int) -> None:
    made = {
        "ring": trimesh.creation.torus(0.16, 0.07, major_sections=64, minor_sections=32),
        "box": trimesh.creation.box((0.4, 0.3, 0.35)),
        "cone": trimesh.creation.cone(0.2, 0.4),
        "plate": trimesh.creation.box((0.5, 0.02, 0.5)),
    }
    with tempfile.TemporaryDirectory() as folder:
        made["ring"].export(Path(folder) / "ring.stl")
        for n in sizes or (32, 64):
            for name, one in made.items():
                mesh = Mesh(np.ascontiguousarray(one.vertices, float), np.ascontiguousarray(one.faces, np.int64))
                print(f"{n} {name}: error " + ", ".join(f"{e:.3f}" for e in error(mesh, n)) + " cells", flush=True)
            seconds(scene("at rest", n, Path(folder)), False)  # loads the compiled code
            for role in ROLES:
                runs = [seconds(scene(role, n, Path(folder)), exact) for exact in (True, False)]
                shown = "; ".join(f"start {a:.2f} s, substep {b:.3f} s" for a, b in runs)
                print(f"{n} {role}: exact, then sampled: {shown}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
