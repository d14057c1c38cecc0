"""Files for programs that show bodies: properties (bodies.json), surfaces (bodies/*.obj), positions (bodies.csv).

A surface is given about the centre of mass as it is at time 0, so that a frame's transform, orientation and then
centre, puts it where the body is. In 2D it is flat triangles in the plane z = 0.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..bodies.body import RigidBody
from ..core.guarded import make_folder
from .atomic import replacing, safe_names, write_text
from .rundir import RunDirectory


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
    """Write the properties that do not change during a run."""
    if not bodies:
        return
    from .formats import mesh, obj  # slow to load

    table = []
    make_folder(run.path / "bodies")
    for body, name in zip(bodies, safe_names((b.name for b in bodies), "body")):
        file = f"bodies/{name}.obj"
        with replacing(run.path / file) as partial:
            obj.write(partial, mesh.of_body(body.shape, body.origin), body.name)
        table.append(
            {
                "name": body.name,
                "prescribed": not body.dynamic,
                "density": body.density,
                "mass": body.mass,
                "inertia": body.own_inertia.tolist(),
                "centre": body.origin.tolist(),
                "surface": file,
                "friction": body.friction,
                "restitution": body.restitution,
            }
        )
    write_text(run.path / "bodies.json", json.dumps(table, indent=1, ensure_ascii=False) + "\n")
