"""Pressure problems taken from the run of a scene, each with the policy of the last substep.

A run driven by `auto` makes the motion; every method then gets the same problems. Lai's policy and penalty methods
start from the policy of the previous time step (their §4.1 and §4.2), so a snapshot stores it; x starts at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..discretise.pressure import PressureProblem
from ..problem.box import BoxProblem
from ..scenes.scene import Scene
from ..sim.liquid.simulation import Simulation


@dataclass
class Snapshot:
    """The problem of one substep."""

    problem: PressureProblem
    #: clamped rows of the last substep, as `Start.active`; None in the first substep
    active: np.ndarray | None
    frame: int
    #: 0 for the first substep of the frame
    substep: int
    #: how many substeps the frame has
    substeps: int = 1

    def build(self, walls: str | None = None) -> BoxProblem:
        """A new copy for every measurement, so that no method finds data that another one cached in it."""
        return self.discretise(walls).problem

    def discretise(self, walls: str | None = None) -> PressureProblem:
        p = self.problem
        return PressureProblem(
            phi_liquid=p.phi_liquid, velocity=p.velocity, dt=p.dt, dx=p.dx, rho=p.rho, weights=p.weights,
            walls=p.walls if walls is None else walls, solid_velocity=p.solid_velocity, adhesion=p.adhesion,
            separation=p.separation, source=p.source,
        )  # fmt: skip


def snapshots(scene: str, n: int, frames: int, **keys: Any) -> Iterator[Snapshot]:
    """Every substep of the first frames of a scene at n cells; `keys` change the scene, e.g. `walls.pressure`."""
    simulation = Simulation(Scene.load(scene, {"domain.resolution": n, **keys}))
    last: np.ndarray | None = None
    found: list[Snapshot] = []

    def watch(problem: PressureProblem) -> None:
        nonlocal last
        active = None if last is None else problem.rows.from_grid(last)
        found.append(Snapshot(problem, active, simulation.frame + 1, len(found)))
        last = simulation.liquid.projection.active

    watch_problems(simulation, watch)
    for _ in range(frames):
        found.clear()
        simulation.next_frame()
        for snapshot in found:
            snapshot.substeps = len(found)
            yield snapshot


def watch_problems(simulation: Simulation, watch: Callable[[PressureProblem], object]) -> None:
    """Call `watch` with the pressure problem of every substep, as it was before the solve.

    A step reuses the arrays of the velocity before the pressure acted, so they are copied here and put back. A step
    with viscosity solves again for what is left: its problem is the first one.
    """
    stage = simulation.liquid.projection
    solve = stage.solve
    before: tuple[np.ndarray, ...] = ()

    def solve_copy(phi, velocity, *rest):
        nonlocal before
        before = before or tuple(u.copy() for u in velocity)
        return solve(phi, velocity, *rest)

    def report(found) -> None:
        nonlocal before
        problem = found.outcome.problem
        problem.velocity, before = before, ()
        watch(problem)

    stage.solve = solve_copy  # type: ignore[method-assign]
    simulation.watch = report


def first_of(
    scene: str, n: int, frame: int, progress: Callable[[float], object] = lambda share: None, **keys: Any
) -> Snapshot:
    """The first substep of the named frame."""
    for snapshot in snapshots(scene, n, frame, **keys):
        progress(snapshot.frame / frame)
        if snapshot.frame == frame:
            return snapshot
    raise AssertionError("a frame has a substep")


def spread(scene: str, n: int, frames: int, samples: int, **keys: Any) -> list[Snapshot]:
    """The first substeps of `samples` frames, evenly spread over the run."""
    wanted = sampled_frames(frames, samples)
    return [s for s in snapshots(scene, n, frames, **keys) if s.substep == 0 and s.frame in wanted]


def sampled_frames(frames: int, samples: int) -> list[int]:
    """`samples` numbers of frames, evenly spread from the first to the last."""
    return sorted({round(f) for f in np.linspace(1, frames, min(samples, frames))})
