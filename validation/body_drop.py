"""What happened to the bodies of a run: when each came down, how high it went again, what leaked into it, and volume.

Made for Aanjaneya et al., figure 13 (`nonstick run body-drop --out runs/body-drop`): the heaviest must come down first,
rebound, and the lighter ones follow; no liquid in bodies, volume within 2 %.
Run: python validation/body_drop.py RUN
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from nonstick import Scene
from nonstick.bodies import rotation
from nonstick.io.body_files import surface
from nonstick.io.rundir import RunDirectory
from nonstick.sim.liquid.bodies import make


def story(path: str | Path) -> dict:
    """Per body: density, frame of the first touch of the floor, height it rose to after it; then leaks and volume."""
    run = RunDirectory.open(path)
    scene = Scene.load(run.path / "scene.toml")
    scene.folder = Path(run.meta().get("folder", "."))
    bodies = make(scene)
    skins = [surface(b)[0] for b in bodies]
    frames = run.frames()
    low, up = np.empty((2, len(frames), len(bodies)))
    deepest, deep, count = 0.0, 0, 0
    for row, frame in enumerate(frames):
        data = run.read_frame(frame)
        x = data.get("position", np.empty((0, scene.dimension))).astype(float)
        for k, body in enumerate(bodies):
            body.centre, body.orientation = data["body_centre"][k], data["body_orientation"][k]
            turned = rotation.matrix(body.orientation) @ skins[k].T
            low[row, k], up[row, k] = turned[1].min() + body.centre[1], data["body_velocity"][k, 1]
            a, b = body.box()
            near = x[((x > a) & (x < b)).all(axis=1)]
            if len(near):
                phi = np.asarray(body.phi(*near.T)) / scene.dx
                deepest = min(deepest, float(phi.min()))
                deep += int((phi < -0.5).sum())
        count += len(x)
    out: dict = {"frames": frames[-1], "bodies": []}
    for k, body in enumerate(bodies):
        # a bounce falls between frames: near the floor and already on the way up counts as well
        down = np.flatnonzero((low[:, k] < 0.5 * scene.dx) | ((low[:, k] < 2.5 * scene.dx) & (up[:, k] > 0.1)))
        first = int(frames[down[0]]) if down.size else None
        rose = float(low[down[0] :, k].max()) if down.size else 0.0
        out["bodies"].append({"name": body.name, "density": body.density, "floor at frame": first, "rose to": rose})
    errors = [abs(float(r["volume_error"])) for r in run.rows()]
    out |= {"deepest": -deepest, "deep share": deep / max(count, 1), "volume": max(errors, default=0.0)}
    return out


def main(path: str) -> None:
    told = story(path)
    for body in told["bodies"]:
        when = "not in this run" if body["floor at frame"] is None else f"frame {body['floor at frame']}"
        print(
            f"{body['name']:10s} {body['density']:6.0f} kg/m³: on the floor {when}, then up to {body['rose to']:.3f} m"
        )
    print(
        f"{told['frames']} frames; deepest particle in a body {told['deepest']:.2f} cells, deeper than half a cell "
        f"{100 * told['deep share']:.4f} % of particles; largest volume drift {100 * told['volume']:.3f} %"
    )


if __name__ == "__main__":
    main(*sys.argv[1:2])
