"""Every built-in scene of liquid: did all solves converge, did the volume hold, did energy grow?

Energy is kinetic (with that of the particles' affine parts) and potential; rises are shown as a share of the largest
kinetic energy or, where nothing moves, of 1 % of the energy at first. Scenes that are fed energy (inflows, forces,
moving solids, bodies, a separation velocity) are not asked about it. A size of n cells stands for n cells along the
longest side in 2D and 3n/8 in 3D.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...scenes import builtin
from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

FRAMES = 100


def history(name: str, n: int, frames: int = FRAMES, **more: Any) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Energy before the first substep and after every substep, in joule; and the rows of statistics."""
    simulation = Simulation(Scene.load(name, {"domain.resolution": n, **more}))
    energy, rows = [sum(simulation.liquid.energy())], []
    for _ in range(frames):
        for row in simulation.next_frame():
            energy.append(row["kinetic"] + row["potential"])
            rows.append(row)
    return np.array(energy), rows


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


def measure(size: Size, names: Sequence[str] = (), frames: int = FRAMES) -> Measured:
    """The worst of all scenes, or of those of the given names."""
    drift, rise, above, unsolved = 0.0, 0.0, 0.0, 0
    for name in names or builtin("liquid"):
        scene = Scene.load(name)
        cells = size.cells if scene.dimension == 2 else max(3 * size.cells // 8, 8)
        energy, rows = history(name, cells, frames, **{"time.min_substeps": size.steps})
        drift = max(drift, max(abs(float(r["volume_error"])) for r in rows))
        unsolved += sum(not r["converged"] for r in rows)
        if not driven(scene):
            rise, above = map(max, (rise, above), rises(energy, rows))
    return Measured({"drift": drift, "rise": rise, "above": above, "unsolved": unsolved})


#: sizes of a full run, on which all scenes run; and the scenes of a quick run, 30 frames of each
FULL = 32, 40, 48
QUICK = ("circle", "tilted-tank", "rotated-box", "fountain", "dam-break-sphere", "honey", "floating-box")

CASES = (
    Case(
        "scenes",
        "Every built-in scene (quick: seven of them): volume, energy and convergence over 100 frames (quick: 30)",
        "Exact: volume is conserved, energy does not grow without input",
        (
            Published("drift", "largest drift of the volume", 0.0, 0.01, scale=1.0),
            Published("rise", "largest rise of energy in a substep, of the kinetic energy", 0.0, 0.0002, scale=1.0),
            Published("above", "largest rise above the energy at first, likewise", 0.0, 0.001, scale=1.0),
            Published("unsolved", "solves that missed their tolerance", 0.0, 0.0, scale=1.0),
        ),
        lambda size: measure(size, *((QUICK, 30) if size.cells < FULL[0] else ())),
        quick=(Size(20), Size(28)),
        full=(*map(Size, FULL), Size(FULL[0], 2)),
    ),
)
