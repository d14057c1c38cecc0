"""The problems of the tables: mazes, a bounded source, a ball in viscous liquid, and problems taken from runs.

A run driven by `auto` (or `visc-auto`) makes the motion; every method then gets the same problems. Lai's policy and
penalty methods start from the policy of the previous time step (their §4.1 and §4.2), so a snapshot stores it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import cases, compositions
from ..discretise.fields import fluid_faces
from ..discretise.pressure import PressureProblem
from ..discretise.viscosity import ViscosityProblem, ViscousBox
from ..discretise.viscosity_bodies import ViscosityWithBodies
from ..grid.box import IndexBox
from ..grid.shapes.maze import doors
from ..inverse.krylov.cg import CG
from ..operators.base import Operator
from ..operators.faces import FaceGrid, ViscosityOperator
from ..operators.rows import Rows
from ..operators.saddle import Bordered
from ..operators.stencil import StencilOperator
from ..problem.box import BoxProblem
from ..scenes.scene import Scene
from ..sim.liquid.simulation import Simulation

# -- Takahashi–Batty: mazes and a source --------------------------------------------------------------------


def maze(n: int, corridor: int, wall: int, loops: float = 0.15, door: int | None = None, seed: int = 1) -> np.ndarray:
    """Rooms of `corridor`³ cells behind walls of `wall` cells, joined by a random tree and some loops.

    A door is as wide as the room (corridors), or `door` cells somewhere in the wall. `loops` is the probability that a
    wall which the tree does not open is opened too. There are as many rooms as fit into n cells per side.
    """
    pitch, count = corridor + wall, (n + wall) // (corridor + wall)
    cells = np.zeros((count * pitch - wall,) * 3, bool)
    for room in itertools.product(range(count), repeat=3):
        cells[tuple(slice(k * pitch, k * pitch + corridor) for k in room)] = True
    width = door or corridor
    for below, axis, place in doors(count, loops, corridor - width, seed):
        corner = [int(i) * pitch for i in np.unravel_index(below, (count,) * 3)]
        opening = [slice(low + c, low + c + width) for low, c in zip(corner, place)]
        start = corner[axis] + corridor
        opening[axis] = slice(start, start + wall)
        cells[tuple(opening)] = True
    return cells


def open_faces(cells: np.ndarray) -> tuple[np.ndarray, ...]:
    """Face weights of a maze: 1 between two open cells, 0 elsewhere and on the edge."""
    out = []
    for axis in range(cells.ndim):
        first = np.moveaxis(cells, axis, 0)
        inner = (first[:-1] & first[1:]).astype(float)
        pad = [(1, 1)] + [(0, 0)] * (cells.ndim - 1)
        out.append(np.moveaxis(np.pad(inner, pad), 0, axis))
    return tuple(out)


def neumann_maze(n: int, corridor: int = 12, wall: int = 3, door: int | None = None) -> BoxProblem:
    """Liquid fills a closed maze; a force field stirs it. No bounds, no free surface: A is singular."""
    cells = maze(n, corridor, wall, door=door)
    weights = open_faces(cells)
    velocity = []
    for axis, w in enumerate(weights):
        i = np.indices(w.shape, sparse=True)
        x, y, z = (np.add(i[a], 0.5 * (a != axis)) / n for a in range(3))
        swirl = (np.sin(5 * y) + 0.3, -1.0 + np.cos(4 * z) * np.sin(3 * x), np.sin(6 * x) * np.cos(5 * y))
        velocity.append(np.broadcast_to(swirl[axis], w.shape))
    problem = PressureProblem(
        phi_liquid=np.where(cells, -1.0, 1.0),
        velocity=tuple(velocity),
        dt=1.0,
        dx=1.0 / n,
        rho=1.0,
        weights=weights,
        walls="none",
    )
    return problem.problem


def liquid_maze(n: int, corridor: int = 12, wall: int = 3, door: int | None = None) -> BoxProblem:
    """The left half of a maze full of liquid that starts to fall; every pressure is bounded below by zero."""
    cells = maze(n, corridor, wall, door=door)
    weights = open_faces(cells)
    size = cells.shape[0]
    distance = (np.arange(size) + 0.5 - size / 2) / n
    phi = np.broadcast_to(distance[:, None, None], cells.shape)
    velocity = tuple(
        np.full(w.shape, -cases.GRAVITY * cases.DT if axis == 1 else 0.0) for axis, w in enumerate(weights)
    )
    problem = PressureProblem(
        phi_liquid=phi, velocity=velocity, dt=cases.DT, dx=1.0 / n, rho=cases.DENSITY, weights=weights, walls="all"
    )
    return problem.problem


def bounded_source(n: int, block: int = 4, share: float | None = None, fraction: float = 0.2) -> BoxProblem:
    """Poisson in a cube, zero outside, with a source in the middle: block³ cells, or a `share` of each side.

    x is bounded above, by `fraction` of the unbounded maximum. The paper says "a source term is placed on the domain
    center".
    """
    rows = Rows.from_mask(np.ones((n, n, n), bool))
    right = rows.neighbours()
    wx, wy, wz = (np.where(right[:, axis] >= 0, 1.0, 0.0) for axis in range(3))
    A = StencilOperator(rows, (wx, wy, wz), np.full(rows.n, 6.0))
    block = block if share is None else int(share * n)
    low = (n - block) // 2
    b = np.all((A.cells >= low) & (A.cells < low + block), axis=1).astype(float)
    x = np.zeros(A.n)
    CG(compositions.tagiaamg()).setup(A).solve(b, x, rtol=1e-8)
    return BoxProblem(A, b, -np.inf, fraction * float(x.max()))


# -- Aanjaneya: a ball in viscous liquid ----------------------------------------------------------------------

#: the paper gives no radius; this one comes within 0.3 % of its number of unknowns in 2D
RADIUS = 0.119


def ball(n: int, d: int, **options: Any) -> ViscousBox:
    """The system of `ball_in_a_box`."""
    return ball_in_a_box(n, d, **options).problem


def ball_in_a_box(
    n: int, d: int, strength: float = 1e-3, jump: float = 1.0, layout: str = "halves", walls: bool = True
) -> ViscosityProblem:
    """The test problem on n cells per side; `strength` is μΔt/ρ, divided by `jump` in a part of the liquid.

    `walls`: by their true distance. Without it solid faces hold their velocity and nothing else does, as in the paper.
    """
    h = 1.0 / n
    centres = np.meshgrid(*[(np.arange(n) + 0.5) * h] * d, indexing="ij", sparse=True)
    nodes = np.meshgrid(*[np.arange(n + 1) * h] * d, indexing="ij", sparse=True)
    phi = centres[0] * centres[1] * (centres[2] if d == 3 else 1.0)
    np.sin(phi, out=phi)  # in place: at 512³ every field takes a gigabyte
    phi *= 0.25
    phi += centres[0] - 0.5
    solid = np.sqrt(sum((x - 0.5) ** 2 for x in nodes)) - RADIUS
    velocity = []
    for a in range(d):
        v = np.zeros([n + (axis == a) for axis in range(d)])
        v[tuple(round(0.1 * n) if axis == a else int(0.1 * n) for axis in range(d))] = 1.0
        velocity.append(v)
    mu = np.broadcast_to(np.where(_thin(layout, centres), strength / jump, strength), phi.shape)
    solids = {"phi_solid": solid} if walls else {"fluid": fluid_faces(FaceGrid.of(phi.shape), solid, None)}
    return ViscosityProblem(velocity=velocity, viscosity=mu, dt=1.0, dx=h, rho=1.0, phi_liquid=phi, **solids)


def _thin(layout: str, centres) -> np.ndarray:
    """The cells in which the viscosity is divided by the jump."""
    if layout == "halves":
        return centres[1] > 0.5
    if layout == "layers":
        return (np.arange(centres[1].size).reshape(centres[1].shape) // 4) % 2 == 1
    drops = np.random.default_rng(0).random((40, len(centres)))
    inside = [sum((x - c) ** 2 for x, c in zip(centres, drop)) < 0.06**2 for drop in drops]
    return np.logical_or.reduce(inside)


# -- problems of a run ----------------------------------------------------------------------------------------


@dataclass
class Snapshot:
    """The pressure problem of one substep."""

    problem: PressureProblem
    #: clamped rows of the last substep, as `Start.active`; None in the first substep
    active: np.ndarray | None
    frame: int
    #: 0 for the first substep of the frame
    substep: int
    #: how many substeps the frame has
    substeps: int = 1
    #: where a solve starts (None: at zero), and its tolerance, if it is not the one asked for
    x0: np.ndarray | None = None
    rtol: float | None = None

    def build(self, walls: str | None = None) -> BoxProblem:
        """A new copy for every measurement, so that no method finds data that another one cached in it."""
        return self.discretise(walls).problem

    def discretise(self, walls: str | None = None) -> PressureProblem:
        return as_printed(self.problem, walls)


def as_printed(problem: PressureProblem, walls: str | None = None) -> PressureProblem:
    """The pressure problem of the papers, without masses: the surface by the ghost-fluid method."""
    fields = ("phi_liquid", "velocity", "solid_velocity", "weights", "adhesion", "separation", "source")
    given = {name: getattr(problem, name) for name in ("dt", "dx", "rho", "walls", *fields)}
    return PressureProblem(**given if walls is None else given | {"walls": walls})


#: part of the residual of the velocity before the step that a viscosity solve of Aanjaneya's table 3 leaves (§7.1)
REDUCTION = 1e-2
#: a residual below this counts as zero: a step of liquid in free fall needs no solve
SOLVED = 1e-8


@dataclass
class ViscousSnapshot:
    """The viscosity problem of one substep, solved from the velocity before the step."""

    problem: ViscosityProblem | ViscosityWithBodies
    frame: int
    substep: int
    substeps: int = 1
    active: None = None

    @property
    def x0(self) -> np.ndarray:
        return self.problem.first_guess()

    @property
    def rtol(self) -> float:
        return min(REDUCTION * self.problem.problem.kkt(self.x0), 0.5)

    def needs_a_solve(self) -> bool:
        return bool(self.problem.n) and self.problem.problem.kkt(self.x0) > SOLVED

    def build(self) -> ViscousBox:
        given = self.problem.problem
        return ViscousBox(_again(given.A), given.b, given.scale)


def _again(A: Operator) -> Operator:
    """The operator is made again for every measurement, because it stores its matrix after first use."""
    if isinstance(A, Bordered):
        return Bordered(_again(A.A), A.touched, A.C, A.D, A.own)
    assert isinstance(A, ViscosityOperator)
    return ViscosityOperator(A.system)


def snapshots(scene: str, n: int, frames: int, **keys: Any) -> Iterator[Snapshot]:
    """The pressure problem of every substep of the first frames of a scene at n cells.

    `keys` change the scene, e.g. `walls.pressure`.
    """
    simulation = Simulation(Scene.load(scene, {"domain.resolution": n, **keys}))
    liquid = simulation.liquid
    #: the contact set of the last substep, and the box of cells that it covers
    last: tuple[IndexBox, np.ndarray] | None = None
    found: list[Snapshot] = []

    def watch(problem: PressureProblem) -> None:
        nonlocal last
        box = liquid.partition.held.three()
        active = None if last is None else problem.rows.from_grid(last[0].moved(last[1], box))
        found.append(Snapshot(problem, active, simulation.frame + 1, len(found)))
        last = box, liquid.projection.active

    watch_problems(simulation, watch)
    return _frame_by_frame(simulation, frames, found)


def viscous_snapshots(scene: str, n: int, frames: int, **keys: Any) -> Iterator[ViscousSnapshot]:
    """The viscosity problem of every substep that has one and needs a solve."""
    simulation = Simulation(Scene.load(scene, {"domain.resolution": n, "solver.viscous": "split", **keys}))
    found: list[ViscousSnapshot] = []

    def watch(report) -> None:
        if report.viscosity is not None:
            found.append(ViscousSnapshot(report.viscosity.source, simulation.frame + 1, len(found)))

    simulation.watch = watch
    return (snapshot for snapshot in _frame_by_frame(simulation, frames, found) if snapshot.needs_a_solve())


def _frame_by_frame(simulation: Simulation, frames: int, found: list) -> Iterator[Any]:
    """Advance, and pass on what was found in each frame."""
    for _ in range(frames):
        found.clear()
        simulation.next_frame()
        for snapshot in found:
            snapshot.substeps = len(found)
            yield snapshot


class _BeforePressure:
    """The observer of a liquid that copies the velocity on which the first pressure of a step acts.

    A step with viscosity has further pressures, and a step reuses the arrays of its velocity.
    """

    def __init__(self, watched: Any):
        self.watched = watched
        self.velocity: tuple[np.ndarray, ...] = ()

    def projected(self, outcome, masses) -> None:
        self.velocity = self.velocity or tuple(u.copy() for u in outcome.problem.velocity)
        if self.watched is not None:
            self.watched.projected(outcome, masses)

    def moving(self, fields) -> None:
        if self.watched is not None:
            self.watched.moving(fields)

    def moved(self) -> None:
        if self.watched is not None:
            self.watched.moved()


def watch_problems(simulation: Simulation, watch: Callable[[PressureProblem], object]) -> None:
    """Call `watch` after every substep with its pressure problem, as it was before the solve."""
    before = simulation.liquid.observer = _BeforePressure(simulation.liquid.observer)

    def report(found) -> None:
        problem = found.outcome.problem
        problem.velocity, before.velocity = before.velocity, ()
        watch(as_printed(problem))

    simulation.watch = report


def first_of(scene: str, n: int, frame: int, **keys: Any) -> Snapshot:
    """The first substep of the named frame."""
    return next(snapshot for snapshot in snapshots(scene, n, frame, **keys) if snapshot.frame == frame)


def sampled(found: Iterator[Any], frames: int, samples: int) -> list[Any]:
    """Of the snapshots of a run, the first substeps of `samples` frames, evenly spread."""
    wanted = sampled_frames(frames, samples)
    return [snapshot for snapshot in found if snapshot.substep == 0 and snapshot.frame in wanted]


def sampled_frames(frames: int, samples: int) -> list[int]:
    """`samples` numbers of frames, evenly spread from the first to the last."""
    return sorted({round(f) for f in np.linspace(1, frames, min(samples, frames))})
