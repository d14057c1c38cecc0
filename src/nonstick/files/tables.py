"""Tables of a run: its bodies (bodies.json, bodies.csv, and bodies/*.obj for programs that show them), and probes.csv.

A surface of a body is given about the centre of mass as it is at time 0, so that a frame's transform, orientation and
then centre, puts it where the body is. In 2D it is flat triangles in the plane z = 0.

probes.csv has the numbers that the probes of a scene measured, a row per step; the header names the units.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..bodies.body import RigidBody
from ..core.guarded import make_folder
from ..errors import NonstickError
from .atomic import replacing, safe_names, write_text
from .rundir import PROBES, RunDirectory


def body_columns(dimension: int) -> tuple[str, ...]:
    """Columns of bodies.csv."""
    if dimension == 2:
        return ("frame", "time", "body", "x", "y", "angle", "vx", "vy", "spin")
    return ("frame", "time", "body", "x", "y", "z", "qw", "qx", "qy", "qz", "vx", "vy", "vz", "wx", "wy", "wz")


def body_rows(bodies: Sequence[RigidBody], frame: int, time: float) -> list[dict[str, Any]]:
    """The rows of one frame; floats are written so that they read back the same."""
    return [
        dict(zip(body_columns(b.d), (frame, repr(float(time)), b.name, *(repr(float(v)) for v in b.state()))))
        for b in bodies
    ]


def write_bodies(run: RunDirectory, bodies: Sequence[RigidBody]) -> None:
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


#: columns before those of the probes
FIRST = ("step", "frame", "time")
_UNIT = re.compile(r"(.*) \[([^\[\]]*)\]")


class ProbeTable(Mapping[str, np.ndarray]):
    """The numbers of probes as arrays: `table["gauge.height"]`, with one entry per step.

    Attributes
    ----------
    time : ndarray
        Seconds at the end of each step.
    units : dict
        Column to unit.

    Examples
    --------
    >>> from nonstick import Scene, Simulation
    >>> gauge = {"name": "gauge", "type": "height", "at": [0.5, 0.0]}
    >>> simulation = Simulation(Scene.load("still", {"domain.resolution": 16, "probe": [gauge]}))
    >>> _ = simulation.next_frame()
    >>> table = simulation.probe_table()
    >>> list(table), table.units["gauge.height"], bool(abs(table["gauge.height"][-1] - 0.5) < 0.01)
    (['gauge.height'], 'm', True)
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]], units: Mapping[str, str]):
        self.units = dict(units)
        self.time = np.array([float(row["time"]) for row in rows])
        self._values = {name: np.array([float(row[name]) for row in rows]) for name in units}

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._values:
            raise KeyError(f"there is no column {name!r}; there are {', '.join(self._values) or 'none'}")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"ProbeTable({', '.join(self._values)}; {self.time.size} steps)"


def write_rows(run: RunDirectory, rows: Sequence[Mapping[str, Any]], units: Mapping[str, str], frame: int) -> None:
    """Append the rows of a frame; numbers are written so that they read back the same."""
    names = {name: f"{name} [{unit}]" for name, unit in units.items()}
    lines = [
        {"step": row["step"], "frame": frame, "time": repr(float(row["time"]))}
        | {names[k]: repr(float(row[k])) for k in units}
        for row in rows
    ]
    run.append_rows(lines, (*FIRST, *names.values()), PROBES)


def read_probes(run: str | Path | RunDirectory) -> ProbeTable:
    """The numbers that the probes of a run measured.

    Parameters
    ----------
    run : str, Path or RunDirectory
        A run directory, finished or not.

    Returns
    -------
    ProbeTable
        Columns as arrays, the times and the units. Steps that a probe did not see are NaN.

    Examples
    --------
    >>> import tempfile
    >>> from nonstick import Scene, read_probes
    >>> from nonstick.sim.run.loop import run
    >>> probe = {"name": "floor", "type": "pressure", "on": "bottom"}
    >>> scene = Scene.load("still", {"domain.resolution": 16, "time.frames": 2, "probe": [probe]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = read_probes(run(scene, folder).path)
    >>> table
    ProbeTable(floor.pressure; 2 steps)
    """
    directory = run if isinstance(run, RunDirectory) else RunDirectory.open(run)
    rows = directory.rows(PROBES)
    if not rows:
        raise NonstickError(
            f"{directory.path} has no {PROBES}: its scene has no [[probe]], or the run has made no step yet"
        )
    units, read = {}, {}
    for column in rows[0]:
        match = _UNIT.fullmatch(column)
        if match is not None:
            units[match[1]] = match[2]
            read[match[1]] = column
    plain = [{"time": row["time"]} | {name: row[column] or "nan" for name, column in read.items()} for row in rows]
    return ProbeTable(plain, units)
