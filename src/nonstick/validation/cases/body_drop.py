"""Four bodies of rising density dropped into a viscous pool (Aanjaneya et al. 2019, figure 13).

The heaviest must come down first, and the lighter ones follow; no liquid gets into bodies.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from ...bodies import rotation
from ...io.body_files import surface
from ...io.rundir import RunDirectory
from ...scenes.scene import Scene
from ...sim.liquid.bodies import make
from ...sim.run import run
from ..case import Case, Measured, Published, Size


def story(path: str | Path) -> dict:
    """Per body: density, frame of the first touch of the floor, height it rose to after it; then leaks and volume."""
    opened = RunDirectory.open(path)
    scene = Scene.load(opened.path / "scene.toml")
    scene.folder = Path(opened.meta().get("folder", "."))
    bodies = make(scene)
    skins = [surface(b)[0] for b in bodies]
    frames = opened.frames()
    low, up = np.empty((2, len(frames), len(bodies)))
    deepest, deep, count = 0.0, 0, 0
    for row, frame in enumerate(frames):
        data = opened.read_frame(frame)
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
    errors = [abs(float(r["volume_error"])) for r in opened.rows()]
    out |= {"deepest": -deepest, "deep share": deep / max(count, 1), "volume": max(errors, default=0.0)}
    return out


def measure(size: Size) -> Measured:
    """Whether bodies reach the floor in the order of their density; liquid in bodies; drift of the volume."""
    changes = {"domain.resolution": size.cells, "time.min_substeps": size.steps, "output.movie": False}
    with tempfile.TemporaryDirectory() as folder:
        run(Scene.load("body-drop", changes), Path(folder) / "run")
        told = story(Path(folder) / "run")
    order = sorted(told["bodies"], key=lambda b: -b["density"])
    landed = [np.inf if b["floor at frame"] is None else b["floor at frame"] for b in order]
    return Measured(
        {
            "first": float(landed[0] == min(landed) < np.inf),
            "leaked": told["deep share"],
            "volume": told["volume"],
        }
    )


CASES = (
    Case(
        "body-drop",
        "Four bodies of rising density fall into a viscous pool: the heaviest comes down first",
        "Aanjaneya, Han, Goldade, Batty 2019, figure 13",
        (
            Published("first", "1 if the heaviest reaches the floor first", 1.0, 0.0),
            Published("leaked", "share of particles more than half a cell inside a body", 0.0, 1e-3, scale=1.0),
            Published("volume", "largest drift of the volume", 0.0, 0.02, scale=1.0),
        ),
        measure,
        quick=(Size(18), Size(24)),
        full=(Size(24), Size(36), Size(48), Size(36, 2)),
    ),
)
