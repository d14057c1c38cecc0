"""What users of other simulators complain about, one small scenario each, with a number that says whether it is over.

Run: python validation/pains.py [NAME ...]      (2D, half a minute in all)
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from nonstick import Scene, Simulation

N = 48
DOMAIN = {"size": [1.0, 1.0], "resolution": N}


def box(low: list[float], high: list[float], **more: Any) -> dict[str, Any]:
    return {"shape": {"type": "box", "low": low, "high": high, **more}}


POOL = box([0.0, 0.0], [1.0, 0.5])
FULL = box([0.0, 0.0], [1.0, 1.0])
PISTON = {**box([-1.0, -0.5], [0.13, 1.5], rotate=7.0), "motion": {"velocity": [0.15, 0.0], "stop": 1.2}}
PADDLE = {
    "shape": {"type": "capsule", "start": [0.5, 0.15], "end": [0.5, 0.45], "radius": 0.035, "rotate": 10.0},
    "motion": {"amplitude": [0.15, 0.0], "frequency": 1.0, "stop": 1.0},
}
BALL = {
    "shape": {"type": "ball", "centre": [0.3, 0.25], "radius": 0.1},
    "motion": {"velocity": [0.3, 0.0], "start": 0.2, "stop": 1.2},
}
SOURCE = {"shape": {"type": "ball", "centre": [0.5, 0.2], "radius": 0.06}, "velocity": [0.0, 1.0], "stop": 1.0}

SCENES: dict[str, dict[str, Any]] = {
    "ceiling": {"liquid": [box([0.0, 0.8], [1.0, 1.0])]},
    "slope": {
        "liquid": [POOL],
        "solid": [{"shape": {"type": "halfspace", "point": [0.5, 0.1], "normal": [-0.4, 1.0]}}],
    },
    "piston": {"liquid": [POOL], "solid": [PISTON]},
    "paddle": {"liquid": [POOL], "solid": [PADDLE]},
    "ball": {"liquid": [POOL], "solid": [BALL]},
    "sealed": {"liquid": [FULL], "force": [{"acceleration": [3.0, 0.0], **box([0.0, 0.5], [1.0, 1.0])}]},
    "inflow-under-water": {"liquid": [POOL], "inflow": [SOURCE]},
    "inflow-sealed": {"liquid": [FULL], "inflow": [{**box([0.4, 0.4], [0.6, 0.6]), "velocity": [1.0, 0.0]}]},
    "squeezed": {"liquid": [FULL], "solid": [PISTON]},
    "drain": {"liquid": [POOL], "outflow": [box([0.45, 0.0], [0.55, 0.06])]},
    "open": {"liquid": [box([0.2, 0.3], [0.8, 0.7])], "outflow": [box([-1.0, -1.0], [2.0, 0.05])]},
    "thin-wall": {"liquid": [box([0.0, 0.0], [0.49, 0.8])], "solid": [box([0.496, 0.0], [0.504, 1.0])]},
}


def measure(name: str, frames: int = 100, cells: int = N) -> dict[str, Any]:
    """Drift, unsolved steps, the ledger, what was logged, the last speed, and liquid in solids."""
    simulation = Simulation(Scene({"name": name, "domain": {**DOMAIN, "resolution": cells}, **SCENES[name]}))
    told: list[str] = []
    simulation.tell = lambda kind, message: told.append(kind)
    rows: list[dict[str, Any]] = []
    cleared = np.inf
    while simulation.frame < frames:
        rows += simulation.next_frame()
        x = simulation.liquid.tracker.cloud.x
        if np.isinf(cleared) and x.size and x[2].max() < cells - 1.5:
            cleared = simulation.time
    liquid, cell = simulation.liquid, (1 / cells) ** 2
    ledger, points = liquid.ledger, liquid.tracker.points(liquid.tracker.cloud.x)
    inside = [np.asarray(liquid.solids.placed(w)(*points)).min(initial=np.inf) for w in liquid.solids.list]
    return {
        "drift": max(abs(float(r["volume_error"])) for r in rows),
        "unsolved": sum(not r["converged"] for r in rows),
        "steps": len(rows),
        "in": ledger.inflow * cell,
        "out": ledger.outflow * cell,
        "first": ledger.initial * cell,
        "particles": liquid.count,
        "fastest": max(float(r["max_speed"]) for r in rows),
        "speed": float(rows[-1]["max_speed"]),
        "highest": float(liquid.tracker.cloud.x[2].max(initial=0.0)) / cells,
        "depth_in_solids": max(0.0, -min(inside, default=0.0)) * cells,
        "past_the_middle": int(np.count_nonzero(liquid.tracker.cloud.x[1] > 0.5 * cells)),
        "cleared": cleared,
        "told": {kind: told.count(kind) for kind in dict.fromkeys(told)},
    }


def main(names: list[str] | None = None) -> dict[str, dict[str, Any]]:
    out = {name: measure(name) for name in names or SCENES}
    for name, r in out.items():
        print(
            f"{name:18} drift {100 * r['drift']:6.3f} %  unsolved {r['unsolved']}/{r['steps']}  first {r['first']:.3f} "
            f"in {r['in']:.3f} out {r['out']:.3f} m²  last speed {r['speed']:.3g} (most {r['fastest']:.3g}) m/s  "
            f"in solids {r['depth_in_solids']:.2f} cells  told {r['told'] or 'nothing'}"
        )
    return out


if __name__ == "__main__":
    main(sys.argv[1:])
