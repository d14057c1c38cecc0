"""Energy never grows without input: the largest rise over a substep in every built-in scene nothing is fed into.

Energy is kinetic (with that of the particles' affine parts) and potential; a rise is shown against the energy the
scene loses in all (its range), or, where nothing moves, against 1 % of the energy at first. Also shown: the largest
drift of volume. 2D scenes run at the first number of cells, 3D scenes at the second.
Run: python validation/energy.py [cells [cells3d [frames [scene ...]]]]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from nonstick import Scene, Simulation

SCENES = (
    "circle", "square", "maze", "cm-circle", "rotated-box", "andersen-1", "andersen-2", "andersen-3", "andersen-4",
    "andersen-5", "still", "tilted-tank", "martin-moyce", "slosh", "sphere", "sphere-cuboid", "double-sphere",
    "ball-box", "dam-break-box", "dam-break-sphere", "double-dam-break", "maze-3d", "andersen-3d-1", "andersen-3d-2",
    "ceiling", "martin-moyce-3d",
)  # fmt: skip


def history(name: str, n: int, frames: int = 100, **more: Any) -> tuple[np.ndarray, np.ndarray]:
    """Energy before the first substep and after every substep, in joule; and the drift of the volume."""
    simulation = Simulation(Scene.load(name, {"domain.resolution": n, **more}))
    energy, drift = [sum(simulation.liquid.energy())], [0.0]
    for _ in range(frames):
        for row in simulation.next_frame():
            energy.append(row["kinetic"] + row["potential"])
            drift.append(row["volume_error"])
    return np.array(energy), np.array(drift)


def largest_rise(energy: np.ndarray) -> float:
    """Largest rise over a substep as a share of the range, or of 1 % of the energy at first if it is less."""
    scale = max(float(np.ptp(energy)), 0.01 * abs(float(energy[0])))
    return max(float(np.diff(energy).max()), 0.0) / scale


def main(n: int = 64, n3: int = 24, frames: int = 100, scenes: tuple[str, ...] = SCENES) -> dict[str, float]:
    out = {}
    for name in scenes:
        cells = n if Scene.load(name).dimension == 2 else n3
        energy, drift = history(name, cells, frames)
        out[name] = largest_rise(energy)
        print(
            f"{name:18s} {cells:4d} cells, {energy.size - 1:4d} substeps: largest rise {100 * out[name]:.6f} %, "
            f"volume drift at most {100 * np.abs(drift).max():.2f} %",
            flush=True,
        )
    return out


if __name__ == "__main__":
    numbers, names = map(int, sys.argv[1:4]), tuple(sys.argv[4:])
    main(*numbers, **({"scenes": names} if names else {}))
