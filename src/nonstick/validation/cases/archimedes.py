"""Archimedes: boxes float at their density ratio, one as dense as water hovers, a denser one sinks.

Floating boxes are released half a cell above their draft and bob; the mean over the last bobs counts, so nothing but
the balance of forces decides. Draft is the height of the water at the sides of the tank above the bottom of the box.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

DEPTH, WIDTH, HEIGHT = 0.5, 0.4, 0.16
#: density ratios of boxes that float
FLOATING = (0.25, 0.5, 0.75)


def tank(dimension: int, ratio: float, size: Size) -> Scene:
    """A box in a tank 0.8 m wide and high, at its draft and half a cell up, or in mid-water if it does not float."""
    n = size.cells
    wide = np.full(dimension, 0.8)
    middle = 0.5 * wide
    # liquid is laid out to the depth DEPTH beside the box, and none of it where the box is
    bottom = DEPTH - ratio * HEIGHT + 0.4 / n if ratio < 1.0 else 0.25
    middle[1] = bottom + 0.5 * HEIGHT
    half = np.full(dimension, 0.5 * WIDTH)
    half[1] = 0.5 * HEIGHT
    top = wide.copy()
    top[1] = DEPTH
    return Scene(
        {
            "name": "archimedes",
            "domain": {"size": wide.tolist(), "resolution": n},
            "liquid": [{"shape": {"type": "box", "low": [0.0] * dimension, "high": top.tolist()}}],
            "bodies": [
                {
                    "name": "box",
                    "shape": {"type": "box", "low": (middle - half).tolist(), "high": (middle + half).tolist()},
                    "density": 1000.0 * ratio,
                }
            ],
            "time": {"fps": 60.0, "min_substeps": size.steps},
        }
    )


def water_level(simulation: Simulation) -> float:
    """Mean height of the surface over the outermost columns of cells."""
    grid = simulation.grid
    phi = np.moveaxis(grid.level_set, 1, -1)
    edge = np.ones(phi.shape[:-1], bool)
    edge[tuple(slice(2, -2) for _ in edge.shape)] = False
    heights = []
    for column in phi[edge]:
        j = int(np.flatnonzero(column < 0)[-1])
        heights.append(j + 0.5 + column[j] / (column[j] - column[j + 1]))
    return float(np.mean(heights)) * grid.dx


def release(dimension: int, ratio: float, size: Size, seconds: float = 4.0, watch: float = 2.5) -> dict[str, float]:
    """Mean draft over the last `watch` seconds and its error in cells; tilt and drift; where a submerged box goes."""
    simulation = Simulation(tank(dimension, ratio, size))
    body = simulation.bodies[0]
    start = body.centre.copy()
    drafts, tilt, volume = [], 0.0, 0.0
    while simulation.time < seconds - 1e-9:
        rows = simulation.next_frame()
        volume = max(volume, *(abs(r["volume_error"]) for r in rows))
        tilt = max(tilt, float(np.arccos(min(1.0, abs(body.rotation[1, 1])))))
        if simulation.time > seconds - watch:
            drafts.append(water_level(simulation) - body.centre[1] + 0.5 * HEIGHT)
    sideways = np.delete(body.centre - start, 1)
    return {
        "draft": float(np.mean(drafts)) / HEIGHT,
        "error": (float(np.mean(drafts)) - ratio * HEIGHT) / simulation.scene.dx,
        "tilt": float(np.degrees(tilt)),
        "drift": float(np.abs(sideways).max()) / simulation.scene.dx,
        "rise": float(body.centre[1] - start[1]) / simulation.scene.dx,
        "volume_error": volume,
    }


def measure(size: Size, dimension: int) -> Measured:
    """Drafts of three boxes, and how far one as dense as water moves in a second."""
    values = {f"draft-{ratio}": release(dimension, ratio, size)["draft"] for ratio in FLOATING}
    values["hovers"] = release(dimension, 1.0, size, seconds=1.0, watch=0.5)["rise"]
    return Measured(values)


def _case(dimension: int, quick: tuple[Size, ...], full: tuple[Size, ...]) -> Case:
    return Case(
        f"archimedes-{dimension}d",
        f"Boxes float at their density ratio, and one as dense as water hovers, {dimension}D",
        "Archimedes, On Floating Bodies: draft / height = density ratio",
        (
            *(
                Published(f"draft-{r}", f"draft of a box of ratio {r}", r, 0.02, quick=0.03, scale=1.0)
                for r in FLOATING
            ),
            Published("hovers", "way of a box of ratio 1 in 1 s, in cells", 0.0, 0.1, scale=1.0),
        ),
        partial(measure, dimension=dimension),
        quick,
        full,
    )


CASES = (
    _case(2, (Size(20), Size(24), Size(32)), (Size(20), Size(40), Size(60), Size(40, 2))),
    _case(3, (Size(10), Size(12)), (Size(12), Size(16), Size(20), Size(16, 2))),
)
