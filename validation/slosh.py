"""The period of the first sloshing mode: ω² = g k tanh(k h), k = π/L; L = 1 m, h = 0.5 m: 1.1818 s.

Run: python validation/slosh.py [cells]
"""

from __future__ import annotations

import sys

import numpy as np

from nonstick import Scene, Simulation

EXACT = float(2 * np.pi / np.sqrt(9.81 * np.pi * np.tanh(0.5 * np.pi)))


def period(n: int = 128, seconds: float = 3.6) -> float:
    """From the zero crossings of the first mode of the particles' horizontal centre of mass."""
    simulation = Simulation(Scene.load("slosh", {"domain.resolution": n}))
    times, mode = [0.0], [_mode(simulation)]
    while simulation.time < seconds - 1e-9:
        simulation.next_frame()
        times.append(simulation.time)
        mode.append(_mode(simulation))
    t, a = np.array(times), np.array(mode)
    k = np.flatnonzero(a[:-1] * a[1:] < 0)
    zeros = t[k] - a[k] * (t[k + 1] - t[k]) / (a[k + 1] - a[k])
    # a line through all crossings: half a period apart
    return float(2 * np.polyfit(np.arange(zeros.size), zeros, 1)[0])


def _mode(simulation: Simulation) -> float:
    """Mean of cos(π x): moves with the first mode and does not see the others."""
    return float(np.cos(np.pi * simulation.liquid.tracker.cloud.x[1] * simulation.scene.dx).mean())


def main(n: int = 128) -> float:
    found = period(n)
    print(f"{n} cells: period {found:.4f} s, linear theory {EXACT:.4f} s, {100 * (found / EXACT - 1):+.2f} %")
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
