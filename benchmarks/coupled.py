"""What rigid bodies cost: the coupled solve against the same liquid around the same solids, not moved by it.

A tank of water with tilted boxes below and through the surface, first step of gravity. Both problems have the same
unknowns, the same open faces and the same right-hand side up to the bodies' reaction. Best of several runs.
With the name of a scene: the problems of its steps, once with bodies and once with solids in their place.
Run: python benchmarks/coupled.py [cells] [runs]
     python benchmarks/coupled.py SCENE [resolution] [frames before] [steps]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from nonstick import PressureProblem, Scene, Simulation
from nonstick.bench.problems import watch_problems
from nonstick.discretise.coupling import Body
from nonstick.grid.mac import Grid
from nonstick.grid.shapes import Box

G, DT = 9.81, 0.01
METHODS = ("mg-cg", "auto")


def problems(n: int, count: int, ratio: float, size: float = 0.25) -> tuple[PressureProblem, PressureProblem]:
    """(with bodies, with solids in their place) in a cube of n³ cells, filled to 0.7."""
    grid = Grid.unit(n, 3)
    nodes = grid.nodes()
    bodies = []
    for x, y, z in ((0.3, 0.35, 0.3), (0.7, 0.45, 0.3), (0.3, 0.55, 0.7), (0.7, 0.65, 0.7))[:count]:
        c = np.array([x, y, z])
        box = Box(tuple(c - size / 2), tuple(c + size / 2)).rotate(0.3, (1.0, 2.0, 0.5), tuple(c))
        bodies.append(Body(box.sample(nodes), c, np.array([0.0, -G * DT, 0.0]), np.zeros(3), 1000.0 * ratio))
    velocity = [np.zeros(grid.face_shape(a)) for a in range(3)]
    velocity[1] -= G * DT
    fields = {
        "phi_liquid": np.broadcast_to(grid.cells()[1] - 0.7, grid.shape).copy(),
        "velocity": velocity,
        "dt": DT,
        "dx": grid.dx,
    }
    coupled = PressureProblem(**fields, bodies=bodies)
    solid = PressureProblem(**fields, weights=coupled.weights, solid_velocity=coupled.solid_velocity)
    return coupled, solid


def best(problem: PressureProblem, method: str, runs: int) -> tuple[float, int]:
    """Seconds of the fastest of several cold solves, and iterations."""
    seconds, iterations = np.inf, 0
    for _ in range(runs + 1):  # the first one compiles
        began = time.perf_counter()
        solution = problem.solve(method, rtol=1e-6)
        seconds = min(seconds, time.perf_counter() - began) if _ else np.inf
        iterations = solution.iterations
        assert solution.converged, solution.message
    return seconds, iterations


def main(n: int = 64, runs: int = 3) -> list[dict]:
    out = []
    for count in (1, 4):
        for ratio in (0.01, 0.3, 3.0):
            coupled, solid = problems(n, count, ratio)
            for method in METHODS:
                (a, i), (b, j) = best(coupled, method, runs), best(solid, method, runs)
                row = {"n": n, "bodies": count, "ratio": ratio, "method": method, "unknowns": coupled.rows.n}
                out.append(row | {"coupled": a, "uncoupled": b, "iterations": i, "uncoupled_iterations": j})
                print(
                    f"{n}³, {count} bodies of density ratio {ratio}, {method}: {a:.3f} s and {i} iterations, without "
                    f"bodies {b:.3f} s and {j}: {a / b:.2f} times as long",
                    flush=True,
                )
    return out


def scene(name: str, resolution: int = 48, frames: int = 20, steps: int = 10) -> float:
    """Seconds of the coupled solves over those with solids in place of the bodies, cold, over steps of a scene."""
    simulation = Simulation(Scene.load(name, {"domain.resolution": resolution}))
    for _ in range(frames):
        simulation.next_frame()
    total = np.zeros(2)
    found: list[PressureProblem] = []
    watch_problems(simulation, found.append)
    while len(found) < steps:
        simulation.next_frame()
    for coupled in found[:steps]:
        solid = PressureProblem(
            phi_liquid=coupled.phi_liquid, velocity=coupled.velocity, dt=coupled.dt, dx=coupled.dx, rho=coupled.rho,
            weights=coupled.weights, solid_velocity=coupled.solid_velocity, walls=coupled.walls,
        )  # fmt: skip
        one, two = best(coupled, "auto", 2), best(solid, "auto", 2)
        total += one[0], two[0]
        print(f"{coupled.rows.n} unknowns: {one[0]:.3f} s, {one[1]} iterations; {two[0]:.3f} s, {two[1]}", flush=True)
    print(f"{name} at {resolution}: with bodies {total[0] / total[1]:.2f} times as long")
    return float(total[0] / total[1])


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].isdigit():
        scene(sys.argv[1], *map(int, sys.argv[2:]))
    else:
        main(*map(int, sys.argv[1:]))
