"""A sphere sinking in silicone oil: peak speed against ten Cate, Nieuwstad, Derksen, Van den Akker (Phys. Fluids 2002).

Sphere of 15 mm and 1120 kg/m³ in a tank of 100 × 160 × 100 mm full of liquid, released at rest with its centre
127.5 mm above the floor. Pressure and viscosity are both solved with the body's velocity as an unknown. Experiments
E2 (Re 4.1) and E4 (Re 31.8); their reference is the terminal velocity of the sphere in unbounded liquid.
Run: python validation/ten_cate.py [E2|E4] [cells per diameter]
"""

from __future__ import annotations

import sys

from nonstick import Scene, Simulation

DIAMETER, SOLID, START = 0.015, 1120.0, 0.1275
#: liquid density, viscosity, reference velocity, seconds after which to stop at the latest
CASES = {"E2": (965.0, 0.212, 0.060, 1.2), "E4": (960.0, 0.058, 0.128, 0.9)}
#: the peak is reached when this many frames have brought no more than GAIN
FRAMES, GAIN = 9, 0.003


def tank(case: str, cells: float, size=(0.1, 0.16, 0.1), **overrides) -> Scene:
    rho, mu, _, _ = CASES[case]
    centre = [0.5 * size[0], START - 0.16 + size[1], 0.5 * size[2]]
    scene = Scene(
        {
            "name": "ten-cate",
            "domain": {"size": list(size), "resolution": round(cells * max(size) / DIAMETER)},
            "physics": {"density": rho, "viscosity": mu},
            "liquid": [{"shape": {"type": "box", "low": [-1.0] * 3, "high": [1.0] * 3}}],
            "bodies": [
                {
                    "name": "sphere",
                    "shape": {"type": "ball", "centre": centre, "radius": 0.5 * DIAMETER},
                    "density": SOLID,
                }
            ],
            # liquid and sphere hold on to each other: no surface, nothing to let go
            "walls": {"pressure": "none", "viscous": "no-slip"},
            "time": {"fps": 60.0, "cfl": 2.0},
        }
    )
    return scene.replace(overrides) if overrides else scene


def sink(case: str, cells: float, watch=lambda time, speed: None, **options) -> dict[str, float]:
    """Largest speed on the way down, and where the sphere was then."""
    simulation = Simulation(tank(case, cells, **options))
    body = simulation.liquid.bodies.list[0]
    _, _, reference, seconds = CASES[case]
    peak, at = 0.0, 0.0
    history = [0.0]
    while simulation.time < seconds - 1e-9 and body.centre[1] > 1.5 * DIAMETER:
        simulation.next_frame()
        speed = -float(body.velocity[1])
        watch(simulation.time, speed)
        if speed > peak:
            peak, at = speed, simulation.time
        history.append(peak)
        if len(history) > 2 * FRAMES and peak < (1.0 + GAIN) * history[-1 - FRAMES]:
            break
    return {"peak": peak, "ratio": peak / reference, "time": at, "cells": DIAMETER / simulation.scene.dx}


def main(case: str = "E4", cells: str = "10") -> dict[str, float]:
    def watch(time: float, speed: float) -> None:
        print(f"  {time:.3f} s: {1000 * speed:.2f} mm/s", flush=True)

    r = sink(case, float(cells), watch)
    print(
        f"{case} at {r['cells']:.1f} cells per diameter: peak {1000 * r['peak']:.1f} mm/s after {r['time']:.2f} s, "
        f"{100 * r['ratio']:.1f} % of the reference {1000 * CASES[case][2]:.0f} mm/s"
    )
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
