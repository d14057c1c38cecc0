"""What exported files cost: seconds and bytes a frame of every format, against the simulation of the same frames.

Simulation and exports take turns, frame by frame, so that a busy machine slows both. CPU seconds are those of all
threads together. They say more than wall seconds where other programs run at the same time.

    python benchmarks/export.py --scene sphere --resolution 64 --first 16 --last 23
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from nonstick import Scene
from nonstick.core.optional import missing
from nonstick.files.formats import FORMATS, Exporter, Options, Shot
from nonstick.files.rundir import RunDirectory
from nonstick.sim.liquid.kind import LiquidKind

#: formats that are written together, and each alone
CASES = {"all": tuple(FORMATS), **{name: (name,) for name in FORMATS}}


def main(scene="sphere", resolution=64, first=16, last=23):
    """Rows: name, CPU seconds, wall seconds and megabytes of a frame, and CPU seconds over those of the simulation."""
    loaded = Scene.load(scene, {"domain.resolution": resolution})
    kind = LiquidKind()
    simulation = kind.simulate(loaded)
    cpu, wall, size = defaultdict(float), defaultdict(float), defaultdict(float)
    with tempfile.TemporaryDirectory() as folder:
        run = RunDirectory.create(Path(folder) / "run", loaded.to_toml(), {"folder": str(loaded.folder)})
        kind.begin(simulation, run)
        shot = Shot(run.path)
        cases = {
            name: {f: FORMATS[f] for f in formats if f != "usd" or missing("usd", "pxr") is None}
            for name, formats in CASES.items()
        }
        while simulation.frame < last:
            began = time.process_time(), time.perf_counter()
            simulation.next_frame()
            spent = time.process_time() - began[0], time.perf_counter() - began[1]
            number = simulation.frame
            if number < first - 1:
                continue
            arrays = simulation.frame_arrays()
            counts = number >= first  # the frame before compiles what is compiled on first use
            cpu["simulation"] += counts * spent[0]
            wall["simulation"] += counts * spent[1]
            for name, formats in cases.items():
                out = Path(folder) / "out" / name
                exporter = Exporter(shot, formats, out, Options())
                before = sum(f.stat().st_size for f in out.rglob("*") if f.is_file())
                began = time.process_time(), time.perf_counter()
                exporter.write(number, arrays)
                cpu[name] += counts * (time.process_time() - began[0])
                wall[name] += counts * (time.perf_counter() - began[1])
                after = sum(f.stat().st_size for f in out.rglob("*") if f.is_file())
                size[name] += counts * (after - before)
    frames = last - first + 1
    return [
        (name, cpu[name] / frames, wall[name] / frames, size[name] / frames / 1e6, cpu[name] / cpu["simulation"])
        for name in cpu
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scene", default="sphere")
    parser.add_argument("--resolution", type=int, default=64)
    parser.add_argument("--first", type=int, default=16)
    parser.add_argument("--last", type=int, default=23)
    print(f"{'':12} {'CPU s':>8} {'wall s':>8} {'MB':>8} {'/ simulation':>12}")
    for name, *numbers in main(**vars(parser.parse_args())):
        print(f"{name:12} {numbers[0]:8.3f} {numbers[1]:8.3f} {numbers[2]:8.2f} {numbers[3]:12.2f}")
