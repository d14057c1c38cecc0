"""Every built-in scene, run from end to end: did all solves converge, did volume hold, did energy grow?

Energy rise is the largest in a substep as a share of the largest energy of the run; scenes that are fed energy
(inflows, forces, moving solids, bodies moved by a rule, a separation velocity) are marked with `in`.
Run: python validation/scenes.py [--cells-2d N] [--cells-3d N] [--frames N] [--out DIR] [SCENE ...]
Writes DIR/scenes.json and keeps the run directories there, so that `nonstick render` can show them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np

from nonstick import Scene
from nonstick.io.rundir import RunDirectory
from nonstick.scenes.scene import builtin
from nonstick.sim.preview import render
from nonstick.sim.run import run, summary

#: lines of the log that only say that all is well
PLAIN = ("start", "done")


def sweep_one(name: str, cells: dict[int, int], frames: int, out: Path, movie: bool = True) -> dict[str, Any]:
    """Run one scene in its own directory below `out`; the numbers of its row."""
    scene = Scene.load(name)
    scene = scene.replace({"domain.resolution": cells[scene.dimension]})
    scene = scene.replace({"time.frames": min(frames, scene.model.time.frames)})
    target = out / name
    shutil.rmtree(target, ignore_errors=True)
    began = time.perf_counter()
    directory = run(scene, target)
    seconds = time.perf_counter() - began
    if movie:
        render(target)
    return {"scene": name, "seconds": seconds, "painting_seconds": time.perf_counter() - began - seconds,
            "driven": driven(scene), **figures(directory)}  # fmt: skip


def driven(scene: Scene) -> bool:
    """Does something outside the liquid do work on it?"""
    model = scene.model
    moved = any(s.motion is not None or s.separation for s in model.solid)
    return bool(moved or model.inflow or model.force or model.walls.separation or model.bodies)


def figures(directory: RunDirectory) -> dict[str, Any]:
    rows, found = directory.rows(), summary(directory)
    energy = np.array([float(r["kinetic"]) + float(r["potential"]) for r in rows])
    if rows[0].get("body_kinetic"):
        energy += [float(r["body_kinetic"]) + float(r["body_potential"]) for r in rows]
    rise = np.diff(energy)
    last = int(rows[-1]["frame"])
    drift = np.array([float(r["volume_error"]) for r in rows])
    return {
        "shape": directory.meta()["shape"],
        "frames": last,
        "steps": len(rows),
        "unconverged": found["unconverged"],
        "retries": sum(line["kind"] == "retry" for line in directory.log_lines()),
        "largest_kkt": found["largest_kkt"],
        "capped": found["capped"],
        "drift": float(np.abs(drift).max()),
        "drift_frame": int(rows[int(np.abs(drift).argmax())]["frame"]),
        "drift_last": float(drift[-1]),
        "energy_rise": float(rise.max(initial=0.0) / np.abs(energy).max()),
        "energy_rise_frame": int(rows[int(rise.argmax()) + 1]["frame"]) if rise.size else 0,
        "energy_net": float((energy[-1] - energy[0]) / np.abs(energy).max()),
        "mean_step_seconds": found["mean_step_seconds"],
        "log": [f"{x['kind']}: {x['message']}" for x in directory.log_lines() if x["kind"] not in PLAIN],
    }


def line(row: dict[str, Any]) -> str:
    size = "×".join(map(str, row["shape"]))
    solves = "all" if not row["unconverged"] else f"{row['unconverged']} NOT"
    return (
        f"{row['scene']:16} {size:>11} {row['frames']:4d} {row['steps']:5d}  {solves:>6} {row['retries']:3d} "
        f"{100 * row['drift']:8.3f} {row['drift_frame']:4d} {100 * row['drift_last']:+8.3f} "
        f"{100 * row['energy_rise']:8.3f} {row['energy_rise_frame']:4d} {'in' if row['driven'] else '':2} "
        f"{row['seconds']:7.1f} {len(row['log']):4d}"
    )


HEAD = (
    f"{'scene':16} {'cells':>11} {'fram':>4} {'steps':>5}  {'solved':>6} {'ret':>3} "
    f"{'drift %':>8} {'at':>4} {'at end':>8} {'energy+%':>8} {'at':>4}    {'seconds':>7} {'log':>4}"
)


def main(
    names: list[str], cells: dict[int, int], frames: int = 100, out: Path = Path("runs/sweep"), movie: bool = True
) -> list[dict[str, Any]]:
    out.mkdir(parents=True, exist_ok=True)
    file = out / "scenes.json"
    known = {r["scene"]: r for r in json.loads(file.read_text())} if file.exists() else {}
    print(HEAD, flush=True)
    for name in names or builtin():
        known[name] = sweep_one(name, cells, frames, out, movie)
        print(line(known[name]), flush=True)
        for text in known[name]["log"][:3]:
            print(f"    {text}", flush=True)
        file.write_text(json.dumps(list(known.values()), indent=1) + "\n")
    return list(known.values())


if __name__ == "__main__":
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("scenes", nargs="*", metavar="SCENE", help="built-in scenes; none: all")
    ask.add_argument("--cells-2d", type=int, default=64)
    ask.add_argument("--cells-3d", type=int, default=24)
    ask.add_argument("--frames", type=int, default=100)
    ask.add_argument("--out", type=Path, default=Path("runs/sweep"))
    ask.add_argument("--no-movie", action="store_true")
    said = ask.parse_args()
    main(said.scenes, {2: said.cells_2d, 3: said.cells_3d}, said.frames, said.out, not said.no_movie)
