"""What cases measure that takes more than an expression, and exact solutions: the words of the expressions in `cases/`.

Lines and curves; rigid bodies in liquid; viscous threads and sheets; liquid that turns; waves, bores and fronts under
gravity; solvers alone; whole scenes. `walls.py` has what is about walls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from .. import cases, registry
from ..api import solve_problem
from ..discretise.coupling import Body
from ..discretise.pressure import PressureProblem
from ..errors import NonstickError
from ..files.formats.mesh import of_body
from ..grid.mac import Grid
from ..grid.shapes import Box
from ..scenes import builtin
from ..scenes.scene import Scene
from ..sim.liquid.simulation import Simulation
from .case import Curve, Measured

GRAVITY = 9.81


def slope(x: Any, y: Any) -> float:
    """Of the straight line that fits best."""
    return float(np.polyfit(x, y, 1)[0])


def zeros(t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Where a curve crosses zero, from straight lines between its points."""
    k = np.flatnonzero(y[:-1] * y[1:] < 0)
    return t[k] - y[k] * (t[k + 1] - t[k]) / (y[k + 1] - y[k])


def period(places: np.ndarray) -> float:
    """The period of which places like zeros or maxima are halves apart."""
    return 2 * slope(np.arange(places.size), places)


def curve(f: Callable[[np.ndarray], np.ndarray], low: float, high: float, points: int) -> Curve:
    """A function at places evenly spread."""
    x = np.linspace(low, high, points)
    return x, f(x)


def surface(simulation: Simulation) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    """Columns of cells with a surface (their indices), the highest liquid cell of each, and heights in cells."""
    phi = np.moveaxis(simulation.grid.level_set, 1, -1)
    crossing = (phi[..., :-1] < 0) & (phi[..., 1:] >= 0)
    columns = np.nonzero(crossing.any(axis=-1))
    j = crossing.shape[-1] - 1 - np.argmax(crossing[columns][:, ::-1], axis=-1)
    below, above = phi[(*columns, j)], phi[(*columns, j + 1)]
    return columns, j, j + 0.5 + below / (below - above)


def frames(simulation: Simulation, until: float) -> Iterator[list[dict[str, Any]]]:
    """Run frame by frame up to a time; the rows of statistics of every frame."""
    while simulation.time < until - 1e-9:
        yield simulation.next_frame()


def water_level(simulation: Simulation) -> float:
    """Mean height of the surface over the outermost columns of cells."""
    columns, _, height = surface(simulation)
    edge = np.ones([n for axis, n in enumerate(simulation.grid.level_set.shape) if axis != 1], bool)
    edge[tuple(slice(2, -2) for _ in edge.shape)] = False
    return float(np.mean(height[edge[columns]])) * simulation.grid.dx


# -- bodies dropped into a pool -----------------------------------------------------------------------


def skins(simulation: Simulation) -> list[np.ndarray]:
    """Points on the surface of each body, about its centre."""
    return [of_body(b.shape, b.origin).vertices[:, : b.d] for b in simulation.bodies]


def landed(simulation: Simulation, skins: list[np.ndarray]) -> list[bool]:
    """Which bodies touch the floor; a bounce falls between frames, so near it and on the way up counts as well."""
    low = [(b.rotation @ skin.T)[1].min() + b.centre[1] for b, skin in zip(simulation.bodies, skins)]
    near = [2.5 if b.velocity[1] > 0.1 else 0.5 for b in simulation.bodies]
    return [bool(y < cells * simulation.scene.dx) for y, cells in zip(low, near)]


def buried(simulation: Simulation) -> int:
    """How many particles are more than half a cell inside a body."""
    x, dx = simulation.particles.position, simulation.scene.dx
    return sum(int((np.asarray(b.phi(*x.T)) < -0.5 * dx).sum()) for b in simulation.bodies)


def peaked(speeds: list[float], pause: int, gain: float) -> bool:
    """True if the last `pause` frames have raised the largest speed by less than the share `gain`."""
    if len(speeds) <= 2 * pause:
        return False
    return max(speeds) < (1.0 + gain) * max(speeds[:-pause])


# -- a box pulled up from the surface -----------------------------------------------------------------


def lift(dimension: int, n: int, ratio: float, speed: float = 1.0, dt: float = 0.01) -> dict[str, float]:
    """Velocities of the box after one step: in free flight, with separating walls, with the linear solve."""
    grid, gravity = Grid.unit(n, dimension), 9.81
    low, high = np.full(dimension, 0.3), np.full(dimension, 0.7)
    low[1], high[1] = 0.48, 0.68
    box = Box(tuple(low), tuple(high)).sample(grid.nodes())
    velocity = np.zeros(dimension)
    velocity[1] = speed - gravity * dt
    body = Body(box, 0.5 * (low + high), velocity, 0.0, density=1000.0 * ratio)
    liquid = [np.zeros(grid.face_shape(a)) for a in range(dimension)]
    liquid[1] -= gravity * dt
    phi = np.broadcast_to(grid.cells()[1] - 0.5, grid.shape)
    problem = PressureProblem(phi_liquid=phi, velocity=tuple(liquid), dt=dt, dx=grid.dx, walls="cut", bodies=[body])
    free, held = problem.solve("auto", rtol=1e-9), problem.solve("mg-cg", rtol=1e-9)
    return {
        "flight": velocity[1],
        "separating": float(free.bodies[0].velocity[1]),
        "linear": float(held.bodies[0].velocity[1]),
    }


def stretched(s: np.ndarray, G: float, trouton: float) -> np.ndarray:
    """Speed, over that at the mouth, of a thread (trouton = 6) or a sheet (8) at the share s of its height.

    Without inertia: U = U₁ cos²(c (1 - s)), U₁ = G/(k c²), cos c = c √(k/G), where k is `trouton`, G = g H²/(ν U₀).
    """
    c = brentq(lambda c: np.cos(c) - c * np.sqrt(trouton / G), 1e-9, 0.5 * np.pi)
    return G / (trouton * c**2) * np.cos(c * (1.0 - s)) ** 2


RINGS = 10


def turning(simulation: Simulation, centre: np.ndarray | float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Places relative to a centre, their own if none is given, and angular momentum, of each particle of mass one."""
    found = simulation.particles
    x = found.position - (found.position.mean(axis=0) if centre is None else centre)
    return x, x[:, 0] * found.velocity[:, 1] - x[:, 1] * found.velocity[:, 0]


def rate_of_turning(simulation: Simulation, outside: float = 0.0) -> float:
    """Rate of rotation around the middle in turns, of the liquid outside a radius."""
    x, momentum = turning(simulation, 0.5)
    outer = np.hypot(*x.T) > outside
    return float(momentum[outer].sum()) / float((x[outer] ** 2).sum()) / (2.0 * np.pi)


def heights(simulation: Simulation, middle: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """r² and the height of the surface in all columns that are at least a cell away from the wall."""
    (i, k), _, height = surface(simulation)
    dx = simulation.grid.dx
    r2 = ((i + 0.5) * dx - middle[0]) ** 2 + ((k + 0.5) * dx - middle[2]) ** 2
    inside = r2 < (radius - dx) ** 2
    return r2[inside], (height * dx)[inside]


def couette(r: np.ndarray, time: float = 0.0, inner: float = 0.2, outer: float = 0.45) -> np.ndarray:
    """Steady speed between a cylinder that turns at 1 rad/s and one at rest."""
    a = -(inner**2) / (outer**2 - inner**2)
    return a * (r - outer**2 / r)


def spun_up(r: np.ndarray, time: float, radius: float = 0.4, nu: float = 0.05) -> np.ndarray:
    """Speed in a cylinder that has turned at 1 rad/s since the time 0."""
    from scipy.special import j0, j1, jn_zeros

    out = 1.0 * r
    for zero in jn_zeros(1, 60):
        share = math.exp(-nu * zero**2 * time / radius**2) / (zero * j0(zero))
        out = out + 2.0 * radius * share * j1(zero * r / radius)
    return out


def ring_means(r: np.ndarray, values: np.ndarray, ends: list[float]) -> np.ndarray:
    """Means over rings between two radii."""
    ring = np.clip((RINGS * (r - ends[0]) / (ends[1] - ends[0])).astype(int), 0, RINGS - 1)
    return np.bincount(ring, values, RINGS) / np.maximum(np.bincount(ring, minlength=RINGS), 1)


# -- standing waves: 1 m long, 0.7 m deep -------------------------------------------------------------

NUMBER = 2.0 * np.pi
FREQUENCY = float(np.sqrt(GRAVITY * NUMBER * np.tanh(NUMBER * 0.7)))
PERIOD = 2.0 * np.pi / FREQUENCY


def maxima(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places and heights of the maxima, one a half period: parabolas through seven points around the largest."""
    places, heights = [], []
    for turn in range(1, int(t[-1] / (0.5 * PERIOD)) + 1):
        near = np.flatnonzero(np.abs(t - 0.5 * turn * PERIOD) < 0.15 * PERIOD)
        peak = near[np.argmax(y[near])]
        if 3 <= peak < t.size - 3:
            a, b, c = np.polyfit(t[peak - 3 : peak + 4] - t[peak], y[peak - 3 : peak + 4], 2)
            places.append(t[peak] - b / (2 * a))
            heights.append(c - b * b / (4 * a))
    return np.array(places), np.array(heights)


def prosperetti(t: np.ndarray, speed: float = 0.15, damping: float = 0.02) -> np.ndarray:
    """Height in metres of a small wave in viscous liquid; `damping` is ν k²/ω."""
    from scipy.special import wofz

    c = damping * FREQUENCY / NUMBER**2 * NUMBER**2
    roots = np.roots([1.0, 0.0, 2.0 * c, 4.0 * c**1.5, c * c + FREQUENCY**2])
    out = np.zeros(t.shape, complex)
    for i, z in enumerate(roots):
        others = np.prod(np.delete(roots, i) - z)
        # exp(z² t) erfc(z √t) without overflow
        out -= speed * z / others * np.exp(-c * t) * wofz(1j * z * np.sqrt(t))
    return out.real


# -- a U-tube -----------------------------------------------------------------------------------------

#: T = 2π √(L/2g), for legs of 0.2 m and a bend between the radii 0.2 and 0.35 m
SWING = 2.0 * math.pi * math.sqrt((2.0 * 0.2 + math.pi * (0.35 - 0.2) / math.log(0.35 / 0.2)) / (2.0 * GRAVITY))


# -- dams that break ----------------------------------------------------------------------------------


def reach(simulation: Simulation) -> float:
    """The front: the farthest column whose layer above the floor is half full."""
    dx, shape = simulation.scene.dx, simulation.scene.shape
    x = simulation.particles.position / dx
    low = x[x[:, 1] < 1.0, 0]  # the layer of cells on the floor
    counts = np.bincount(low.astype(int), minlength=shape[0])
    full = simulation.scene.model.particles.per_axis ** len(shape) * int(np.prod(shape[2:]))
    column = int(np.flatnonzero(counts >= 0.5 * full).max())
    # within the next column, as far as it is filled
    part = counts[column + 1] / full if column + 1 < counts.size else 0.0
    return (column + 1 + min(part, 1.0)) * dx


def stoker(deep: float = 0.4, shallow: float = 0.1) -> tuple[float, float]:
    """Speed of a bore into shallow water, and the depth behind it."""

    def speed(h: float) -> float:
        return float(np.sqrt(GRAVITY * h * (h + shallow) / (2 * shallow)))

    def gap(h: float) -> float:
        return speed(h) * (h - shallow) - 2 * h * (np.sqrt(GRAVITY * deep) - np.sqrt(GRAVITY * h))

    depth = float(brentq(gap, shallow, deep))
    return speed(depth), depth


def stoker_profile(time: float) -> Curve:
    """The depth at a time."""
    speed, depth = stoker()
    return np.array([2.2, 2 + speed * time, 2 + speed * time, 4.0]), np.array([depth] * 2 + [0.1] * 2)


def front(simulation: Simulation, dx: float) -> float:
    """The farthest point where the level set above the floor is liquid."""
    phi = simulation.grid.level_set[:, 0]
    i = int(np.flatnonzero(phi < 0.0)[-1])
    ahead = phi[min(i + 1, phi.size - 1)]
    return dx * (i + 0.5 + (phi[i] / (phi[i] - ahead) if ahead > 0.0 else 0.0))


#: the optimality residual that is asked for, and the largest difference from the reference that passes
RTOL, DIFFERENCE = 1e-8, 1e-5


def methods() -> list[str]:
    """Registered methods that solve the complementarity problem."""
    return [name for name, entry in registry.entries().items() if entry.complete]


@lru_cache(maxsize=8)
def reference(name: str, n: int, rtol: float) -> np.ndarray:
    """The pressure by projected SOR."""
    solution = solve_problem(cases.build(name, n).problem, "psor", rtol=rtol)
    # On the largest grids rounding may end the sweeps a little above a very small tolerance.
    if not solution.converged and solution.kkt() > 10 * rtol:
        raise RuntimeError(f"no reference for {name} at {n}: {solution.message}")
    return solution.x


def compare(name: str, n: int, method: str) -> tuple[float, str]:
    """max|x - reference| / max|reference| of one method on one case, built again; and why it failed, if it did.

    The difference is NaN if the method refuses the case.
    """
    expected = reference(name, n, 1e-2 * RTOL)
    try:
        s = solve_problem(cases.build(name, n).problem, method, rtol=RTOL)
    except NonstickError as error:
        return float("nan"), f"{method} on {name} at {n}: {error}"
    difference = float(np.abs(s.x - expected).max(initial=0.0) / (np.abs(expected).max(initial=0.0) or 1.0))
    passed = s.converged and difference <= DIFFERENCE
    return difference, "" if passed else f"{method} on {name} at {n}: {difference:.1e}, {s.message}"


def agree(cells: int) -> dict[str, float]:
    """The largest difference from the reference, and how many solves failed."""
    rows = [
        compare(name, cells * (2 if name in cases.names(2) else 1), method)
        for name in cases.names()
        for method in methods()
    ]
    worst = max((difference for difference, _ in rows if not np.isnan(difference)), default=np.inf)
    return {"difference": worst, "failed": sum(bool(why) for _, why in rows), "solves": len(rows)}


def _seconds(scene: Scene, count: int) -> float:
    return count / float(scene.model.time.fps)


# -- every built-in scene -----------------------------------------------------------------------------


def history(scene: Scene, count: int) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Energy before the first substep and after every substep, in joule; and the rows of statistics."""
    simulation = Simulation(scene)
    first = sum(simulation.liquid.energy())
    rows = [row for frame in frames(simulation, _seconds(scene, count)) for row in frame]
    return np.array([first, *(row["kinetic"] + row["potential"] for row in rows)]), rows


def rises(energy: np.ndarray, rows: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Largest rise over a substep, and above the energy at first.

    They are shares of the largest kinetic energy, or of 1 % of the energy at first if that is more.
    """
    scale = max(*(float(row["kinetic"]) for row in rows), 0.01 * abs(float(energy[0])))
    return max(float(np.diff(energy).max()), 0.0) / scale, float(energy.max() - energy[0]) / scale


def driven(scene: Scene) -> bool:
    """Does something outside the liquid do work on it?"""
    model = scene.model
    moved = any(s.motion is not None or s.separation for s in model.solid)
    return bool(moved or model.inflow or model.force or model.walls.separation or model.bodies)


def every_scene(size: int, steps: int, few: list[str], coarse: int) -> dict[str, float]:
    """The worst of all scenes over 100 frames; on grids coarser than `coarse`, of a few scenes over 30 frames."""
    quick = size < coarse
    drift, rise, above, unsolved = 0.0, 0.0, 0.0, 0
    for name in few if quick else builtin("liquid"):
        flat = Scene.load(name).dimension == 2
        cells = size if flat else max(3 * size // 8, 8)
        scene = Scene.load(name, {"domain.resolution": cells, "time.min_substeps": steps})
        energy, rows = history(scene, 30 if quick else 100)
        drift = max(drift, max(abs(float(r["volume_error"])) for r in rows))
        unsolved += sum(not r["converged"] for r in rows)
        if not driven(scene):
            rise, above = map(max, (rise, above), rises(energy, rows))
    return {"drift": drift, "rise": rise, "above": above, "unsolved": unsolved}


# -- what users complain about ------------------------------------------------------------------------


def suffer(scene: Scene, count: int = 100) -> dict[str, Any]:
    """Drift, unsolved steps, liquid in solids, and what was logged."""
    simulation = Simulation(scene)
    told: set[str] = set()
    simulation.tell = lambda kind, message: told.add(kind)
    rows = [row for frame in frames(simulation, _seconds(scene, count)) for row in frame]
    liquid, x = simulation.liquid, simulation.particles.position
    inside = [np.asarray(liquid.solids.placed(w)(*x.T)).min(initial=np.inf) for w in liquid.solids.list]
    first = liquid.ledger.initial * scene.dx**2
    return {
        # the last drops in a drain are left out: there the share of their own volume says nothing
        "drift": max(abs(float(r["volume_error"])) for r in rows if r["volume"] > 0.01 * first),
        "unsolved": sum(not r["converged"] for r in rows),
        "inside": max(0.0, -min(inside, default=0.0)) / scene.dx,
        "told": told,
    }


def complaints(scene: Callable[..., Scene], scenarios: dict[str, dict[str, Any]], apart: list[str]) -> dict[str, float]:
    """The worst of all scenarios, which are tables of the scene; drift and unsolved steps without some of them."""
    found = {name: suffer(scene({"name": name, **tables})) for name, tables in scenarios.items()}
    fair = [r for name, r in found.items() if name not in apart]
    return {
        "drift": max(r["drift"] for r in fair),
        "unsolved": sum(r["unsolved"] for r in fair),
        "inside": max(r["inside"] for r in found.values()),
        "reported": float("unconverged" in found["squeezed"]["told"]),
        **{f"{name}-drift": r["drift"] for name, r in found.items()},
    }


# -- particles at a floor -----------------------------------------------------------------------------

#: layers of a cell: as many as particles lie above each other in a full one; thinner layers show how their lattice lies
LAYERS = 2


def densities(simulation: Simulation, t: np.ndarray, found: list[tuple[np.ndarray, int]], enough: int) -> Measured:
    """The largest deviation of the density from 1, of the mean over all frames, and of single frames.

    Frames are counted together until a layer of a cell holds `enough` particles.
    """
    per_cell = simulation.scene.model.particles.per_axis**simulation.scene.dimension
    times, history = [], []
    since, room = np.zeros(LAYERS), 0
    for time, (count, columns) in zip(t, found):
        since, room = since + count, room + columns
        if room * per_cell >= enough:
            times.append(time)
            history.append(LAYERS * since / (room * per_cell))
            since, room = np.zeros(LAYERS), 0
    total, columns = (sum(part) for part in zip(*found))
    mean, dense = LAYERS * total / (max(columns, 1) * per_cell), np.array(history)
    curves = {f"layer {q + 1}": (np.array(times), dense[:, q]) for q in range(LAYERS)} if times else {}
    worst = float(np.abs(dense - 1.0).max()) if times else float("nan")
    return Measured({"mean": float(np.abs(mean - 1.0).max()), "worst": worst}, curves)


def layers_above_floor(simulation: Simulation) -> tuple[np.ndarray, int]:
    """Particles in the layers of cells above the floor, in columns that are deep, and the number of these columns."""
    grid, position = simulation.grid, simulation.particles.position
    open_and_wet = np.logical_and(grid.level_set < 0.0, grid.solid > grid.dx)
    deep = np.asarray(np.moveaxis(open_and_wet, 1, -1)[..., :4].all(axis=-1))
    cells = np.minimum((position / grid.dx).astype(int), np.array(grid.level_set.shape) - 1)
    mine = deep[tuple(np.delete(cells, 1, axis=1).T)]
    layer = (LAYERS * position[mine, 1] / grid.dx).astype(int)
    return np.bincount(layer, minlength=LAYERS)[:LAYERS].astype(float), int(deep.sum())
