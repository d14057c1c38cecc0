"""What users of other simulators complain about, one small scenario each, with numbers that say whether it is over."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...scenes.scene import Scene
from ...sim.liquid.simulation import Simulation
from ..case import Case, Measured, Published, Size

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


def suffer(name: str, frames: int = 100, cells: int = N, steps: int = 1) -> dict[str, Any]:
    """Drift, unsolved steps, the ledger, what was logged, the last speed, and liquid in solids."""
    simulation = Simulation(
        Scene(
            {
                "name": name,
                "domain": {**DOMAIN, "resolution": cells},
                "time": {"min_substeps": steps},
                **SCENES[name],
            }
        )
    )
    told: list[str] = []
    simulation.tell = lambda kind, message: told.append(kind)
    rows: list[dict[str, Any]] = []
    cleared = np.inf
    while simulation.frame < frames:
        rows += simulation.next_frame()
        height = simulation.particles.position[:, 1]
        if np.isinf(cleared) and height.size and height.max() < 1.0 - 1.5 / cells:
            cleared = simulation.time
    liquid, cell = simulation.liquid, (1 / cells) ** 2
    ledger, x = liquid.ledger, simulation.particles.position
    inside = [np.asarray(liquid.solids.placed(w)(*x.T)).min(initial=np.inf) for w in liquid.solids.list]
    return {
        # the last drops in a drain are left out: there the share of their own volume says nothing
        "drift": max(abs(float(r["volume_error"])) for r in rows if r["volume"] > 0.01 * ledger.initial * cell),
        "unsolved": sum(not r["converged"] for r in rows),
        "steps": len(rows),
        "in": ledger.inflow * cell,
        "out": ledger.outflow * cell,
        "first": ledger.initial * cell,
        "particles": liquid.count,
        "fastest": max(float(r["max_speed"]) for r in rows),
        "speed": float(rows[-1]["max_speed"]),
        "highest": float(x[:, 1].max(initial=0.0)),
        "depth_in_solids": max(0.0, -min(inside, default=0.0)) * cells,
        "past_the_middle": int(np.count_nonzero(x[:, 0] > 0.5)),
        "cleared": cleared,
        "told": {kind: told.count(kind) for kind in dict.fromkeys(told)},
    }


#: looked at apart: no liquid can obey `squeezed`, which must be reported, and in `sealed` small gaps open where walls
#: may not pull, about 1 % of the volume
APART = ("squeezed", "sealed")


def measure(size: Size) -> Measured:
    """The worst of all scenarios."""
    found = {name: suffer(name, cells=size.cells, steps=size.steps) for name in SCENES}
    fair = [r for name, r in found.items() if name not in APART]
    return Measured(
        {
            "drift": max(r["drift"] for r in fair),
            "unsolved": sum(r["unsolved"] for r in fair),
            "inside": max(r["depth_in_solids"] for r in found.values()),
            "reported": float("unconverged" in found["squeezed"]["told"]),
            **{f"{name}-drift": r["drift"] for name, r in found.items()},
        }
    )


CASES = (
    Case(
        "pains",
        "What users of other simulators complain about: moving walls, inflows under water, drains, sealed boxes",
        "Exact: conservation of volume, no liquid in solids",
        (
            Published("drift", "largest drift (not: sealed, squeezed, last 1 % of a drain)", 0.0, 0.01, scale=1.0),
            Published("unsolved", "solves that missed their tolerance", 0.0, 0.0, scale=1.0),
            Published("inside", "deepest particle in a solid, in cells", 0.0, 0.1, scale=1.0),
            Published("reported", "1 if an impossible squeeze is reported", 1.0, 0.0),
        ),
        measure,
        quick=(Size(24), Size(32)),
        full=(Size(32), Size(48), Size(64), Size(48, 2)),
    ),
)
