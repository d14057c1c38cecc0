"""Archimedes: boxes float at their density ratio, one as dense as water hovers, a denser one sinks.

Floating boxes are released half a cell above their draft and bob; the mean over the last bobs counts, so nothing
but the balance of forces decides. Draft is the height of the water at the sides of the tank above the bottom of
the box. A symmetric box has no reason to turn or to drift.
Run: python validation/archimedes.py [dimension] [cells]
"""

from __future__ import annotations

import sys

import numpy as np

from nonstick import Scene, Simulation

DEPTH, WIDTH, HEIGHT = 0.5, 0.4, 0.16


def tank(dimension: int, ratio: float, n: int) -> Scene:
    """A box in a tank 0.8 m wide and high, at its draft and half a cell up, or in mid-water if it does not float."""
    size = np.full(dimension, 0.8)
    middle = 0.5 * size
    bottom = DEPTH - ratio * HEIGHT * (1.0 - WIDTH ** (dimension - 1) / 0.8 ** (dimension - 1))
    middle[1] = (bottom if ratio < 1.0 else 0.25) + 0.5 * HEIGHT + (0.4 / n if ratio < 1.0 else 0.0)
    half = np.full(dimension, 0.5 * WIDTH)
    half[1] = 0.5 * HEIGHT
    # liquid of the depth DEPTH is laid out first; what the box displaces is missing, as the draft takes into account
    top = size.copy()
    top[1] = DEPTH
    return Scene(
        {
            "name": "archimedes",
            "domain": {"size": size.tolist(), "resolution": n},
            "liquid": [{"shape": {"type": "box", "low": [0.0] * dimension, "high": top.tolist()}}],
            "bodies": [
                {
                    "name": "box",
                    "shape": {"type": "box", "low": (middle - half).tolist(), "high": (middle + half).tolist()},
                    "density": 1000.0 * ratio,
                }
            ],
            "time": {"fps": 60.0},
        }
    )


def water_level(liquid) -> float:
    """Mean height of the surface over the outermost columns of cells."""
    phi = np.moveaxis(liquid.tracker.phi.reshape(liquid.solids.grid.shape), 1, -1)
    edge = np.ones(phi.shape[:-1], bool)
    edge[tuple(slice(2, -2) for _ in edge.shape)] = False
    heights = []
    for column in phi[edge]:
        j = int(np.flatnonzero(column < 0)[-1])
        heights.append(j + 0.5 + column[j] / (column[j] - column[j + 1]))
    return float(np.mean(heights)) * liquid.scene.dx


def release(dimension: int, ratio: float, n: int, seconds: float = 4.0, watch: float = 2.5) -> dict[str, float]:
    """Mean draft over the last `watch` seconds and its error in cells; tilt and drift; where a submerged box goes."""
    simulation = Simulation(tank(dimension, ratio, n))
    body = simulation.liquid.bodies.list[0]
    start = body.centre.copy()
    drafts, tilt, volume = [], 0.0, 0.0
    while simulation.time < seconds - 1e-9:
        rows = simulation.next_frame()
        volume = max(volume, *(abs(r["volume_error"]) for r in rows))
        tilt = max(tilt, float(np.arccos(min(1.0, abs(body.rotation[1, 1])))))
        if simulation.time > seconds - watch:
            drafts.append(water_level(simulation.liquid) - body.centre[1] + 0.5 * HEIGHT)
    sideways = np.delete(body.centre - start, 1)
    return {
        "draft": float(np.mean(drafts)) / HEIGHT,
        "error": (float(np.mean(drafts)) - ratio * HEIGHT) / simulation.scene.dx,
        "tilt": float(np.degrees(tilt)),
        "drift": float(np.abs(sideways).max()) / simulation.scene.dx,
        "rise": float(body.centre[1] - start[1]) / simulation.scene.dx,
        "volume_error": volume,
    }


def main(dimension: int = 2, n: int = 40) -> dict[float, dict[str, float]]:
    out = {}
    for ratio in (0.25, 0.5, 0.75):
        r = out[ratio] = release(dimension, ratio, n)
        print(
            f"{dimension}D {n}: ratio {ratio} floats with draft {r['draft']:.3f} ({r['error']:+.2f} cells), "
            f"tilt at most {r['tilt']:.2f}°, drift {r['drift']:.2f} cells, volume to {100 * r['volume_error']:.2f} %",
            flush=True,
        )
    for ratio in (1.0, 1.1):
        r = out[ratio] = release(dimension, ratio, n, seconds=1.0, watch=0.5)
        print(
            f"{dimension}D {n}: ratio {ratio} has moved by {r['rise']:+.3f} cells after 1 s, tilt at most "
            f"{r['tilt']:.2f}°",
            flush=True,
        )
    return out


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
