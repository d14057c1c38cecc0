"""Files for programs that show bodies: properties (bodies.json), surfaces (bodies/*.obj), positions (bodies.csv).

A surface is given about the centre of mass as it is at time 0, so that a frame's transform, orientation and then
centre, puts it where the body is. In 2D the surface is an outline of lines in the plane z = 0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..bodies.body import RigidBody
from ..core.guarded import make_folder
from ..core.optional import missing
from .atomic import safe_names, write_text
from .rundir import RunDirectory

#: lattice cells along the longest side
FINE = {2: 256, 3: 64}


def columns(dimension: int) -> tuple[str, ...]:
    """Columns of bodies.csv."""
    if dimension == 2:
        return ("frame", "time", "body", "x", "y", "angle", "vx", "vy", "spin")
    return ("frame", "time", "body", "x", "y", "z", "qw", "qx", "qy", "qz", "vx", "vy", "vz", "wx", "wy", "wz")


def rows(bodies: Sequence[RigidBody], frame: int, time: float) -> list[dict[str, Any]]:
    """The rows of one frame; floats are written so that they read back the same."""
    return [
        dict(zip(columns(b.d), (frame, repr(float(time)), b.name, *(repr(float(v)) for v in b.state()))))
        for b in bodies
    ]


def write_start(run: RunDirectory, bodies: Sequence[RigidBody]) -> None:
    """Write the properties that do not change during a run. Without scikit-image no surfaces are written, and the log
    says so."""
    if not bodies:
        return
    obstacle = missing("mesh", "skimage")
    if obstacle is not None:
        run.log("surfaces", f"the surfaces of the bodies are not written: {obstacle}")
    table = []
    for body, name in zip(bodies, safe_names((b.name for b in bodies), "body")):
        file = f"bodies/{name}.obj"
        if obstacle is None:
            make_folder(run.path / "bodies")
            write_text(run.path / file, obj(body))
        table.append(
            {
                "name": body.name,
                "prescribed": not body.dynamic,
                "density": body.density,
                "mass": body.mass,
                "inertia": body.own_inertia.tolist(),
                "centre": body.origin.tolist(),
                "surface": None if obstacle else file,
                "friction": body.friction,
                "restitution": body.restitution,
            }
        )
    write_text(run.path / "bodies.json", json.dumps(table, indent=1, ensure_ascii=False) + "\n")


def obj(body: RigidBody) -> str:
    """The surface as a Wavefront OBJ file."""
    vertices, faces = surface(body)
    kind = "f" if vertices.shape[1] == 3 else "l"
    flat = vertices if vertices.shape[1] == 3 else np.pad(vertices, ((0, 0), (0, 1)))
    lines = [f"o {body.name}"]
    lines += [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in flat]
    lines += [f"{kind} " + " ".join(str(i + 1) for i in face) for face in faces]
    return "\n".join(lines) + "\n"


def surface(body: RigidBody) -> tuple[np.ndarray, np.ndarray]:
    """Vertices about the centre of mass at time 0, and triangles seen from outside (2D: pieces of the outline)."""
    from skimage.measure import find_contours, marching_cubes

    own = body.shape.triangles()
    if own is not None:
        return own[0] - body.origin, own[1]
    low, high = body.shape.bounds(body.d)
    side = high - low
    h = np.minimum(side.max() / FINE[body.d], side / 8)  # a thin plate is sampled across too
    axes = [a - 2 * step + step * np.arange(int(np.ceil((b - a) / step)) + 5) for a, b, step in zip(low, high, h)]
    phi = body.shape.sample(tuple(np.meshgrid(*axes, indexing="ij", sparse=True)))
    start = np.array([a[0] for a in axes]) - body.origin
    if not phi.min() < 0.0 < phi.max():  # thinner than the samples: there is nothing to draw
        return np.empty((0, body.d)), np.empty((0, body.d), int)
    if body.d == 3:
        vertices, faces, _, _ = marching_cubes(phi, 0.0, spacing=tuple(h))
        return vertices + start, faces
    points: list[np.ndarray] = []
    pieces: list[tuple[int, int]] = []
    for line in find_contours(phi, 0.0):
        first = sum(len(p) for p in points)
        points.append(line[:-1])  # closed: the last point is the first one again
        n = len(line) - 1
        pieces += [(first + k, first + (k + 1) % n) for k in range(n)]
    return np.concatenate(points) * h + start, np.array(pieces)
