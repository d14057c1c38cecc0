"""Density of particles by distance to a flat wall: mean over the run of quarter cells above the floor.

Counted are columns in which the first four cells above the floor are liquid. 1 is the density of a full cell. `worst`
is the largest deviation in a frame with at least 2000 particles in the layer, where chance alone gives about 4 %.
Run: python validation/floors.py [cells [cells3d [frames [scene ...]]]]
"""

from __future__ import annotations

import sys

import numpy as np

from nonstick import Scene, Simulation

QUARTERS = 8
#: particles in the layer that a frame needs to be judged alone
ENOUGH = 2000
#: a bore that runs over an obstacle
BORE = {
    "name": "bore",
    "domain": {"size": [2.0, 1.0], "resolution": 128},
    "liquid": [{"shape": {"type": "box", "low": [0.0, 0.0], "high": [0.6, 0.3]}}],
    "solid": [{"shape": {"type": "box", "low": [1.2, -1.0], "high": [1.35, 0.15]}}],
}
SCENES = ("bore", "dam-break-box", "slosh", "sphere")


def histogram(simulation: Simulation) -> tuple[np.ndarray, int]:
    """Particles in quarter cells above the floor (or the lowest point of a round wall), and deep columns."""
    tracker = simulation.liquid.tracker
    cloud, layout, solids = tracker.cloud, tracker.layout, simulation.liquid.solids
    wet = np.moveaxis(tracker.phi < 0.0, layout.first + 1, -1)  # the user's y axis last
    deep = wet[..., :4].all(axis=-1)
    room = np.moveaxis(solids.space, layout.first + 1, -1)[..., :4]
    deep &= (room == 1.0).all(axis=-1)
    index = [cloud.x[a].astype(int) for a in range(3) if a != layout.first + 1]
    mine = deep[tuple(index)]
    quarter = (4.0 * cloud.x[layout.first + 1][mine]).astype(int)
    return np.bincount(quarter, minlength=QUARTERS)[:QUARTERS].astype(float), int(deep.sum())


def near_walls(simulation: Simulation) -> tuple[np.ndarray, float]:
    """The same for the walls of a solid: particles by their distance, and the space there in cells."""
    from nonstick.sim.liquid.seeding import wall_distance

    tracker = simulation.liquid.tracker
    layout, solids = tracker.layout, simulation.liquid.solids
    rng = np.random.default_rng(0)
    probes = rng.random((len(solids.grid.shape), 200_000)) * np.array(solids.grid.shape)[:, None]
    cells = tuple(probes.astype(int))
    # liquid two cells away from the surface, so that the layer is full
    probes = probes[:, layout.drop(tracker.phi)[cells] <= -1.0]
    space = np.histogram(wall_distance(solids, probes), np.arange(QUARTERS + 1) / 4)[0]
    x = layout.drop_points(tracker.cloud.x)
    x = x[:, layout.drop(tracker.phi)[tuple(x.astype(int))] <= -1.0]
    count = np.histogram(wall_distance(solids, x), np.arange(QUARTERS + 1) / 4)[0]
    return count / np.maximum(space * float(np.prod(solids.grid.shape)) / 200_000 * tracker.per_cell, 1e-9), 1.0


def densities(name: str, cells: int, frames: int) -> tuple[np.ndarray, float]:
    """Mean density in quarter cells from the wall on, and the worst of the first four in a frame."""
    scene = Scene({**BORE, "domain": {**BORE["domain"], "resolution": cells}}) if name == "bore" else None
    simulation = Simulation(scene or Scene.load(name, {"domain.resolution": cells}))
    count, room, worst = np.zeros(QUARTERS), 0.0, 0.0
    for _ in range(frames):
        simulation.next_frame()
        if name == "sphere":
            here, columns = near_walls(simulation)
        else:
            here, columns = histogram(simulation)
            here = here * 4.0 / simulation.liquid.tracker.per_cell
        count, room = count + here, room + columns
        if columns * simulation.liquid.tracker.per_cell >= ENOUGH:
            worst = max(worst, float(np.abs(here[:4] / columns - 1.0).max()))
    return count / max(room, 1.0), worst


def main(n: int = 96, n3: int = 32, frames: int = 100, scenes: tuple[str, ...] = SCENES) -> dict[str, np.ndarray]:
    out = {}
    for name in scenes:
        cells = n if name in ("bore", "slosh") else n3
        out[name], worst = densities(name, cells, frames)
        shown = " ".join(f"{d:.2f}" for d in out[name])
        print(f"{name:14s} {cells:4d} cells: {shown}; worst {100 * worst:.0f} %", flush=True)
    return out


if __name__ == "__main__":
    numbers, names = map(int, sys.argv[1:4]), tuple(sys.argv[4:])
    main(*numbers, **({"scenes": names} if names else {}))
