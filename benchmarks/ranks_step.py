"""The step of a liquid scene on many ranks: iterations, traffic and memory of every rank.

    mpiexec -n 4 python benchmarks/ranks_step.py sphere 64                 three frames at 64 cells
    mpiexec -n 4 python benchmarks/ranks_step.py sphere --weak 24          as many cells a rank as 24³ on one

One JSON object. `messages` and `bytes` are what one rank sends in a step, the largest of all ranks; `collectives` are
the times in a step that all ranks wait for all; those of the pressure solve alone are in `solve`. `memory` is the peak
of a rank above what it had before the scene was read, in MB, after a small scene has compiled everything: the
libraries are not counted. `first` is the same after the first frame is filled with particles.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")


def memory(key: str) -> float:
    """VmRSS or VmHWM of this process in MB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024.0


def forget_peak() -> None:
    """The peak counts from now on."""
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene")
    parser.add_argument("size", type=int, nargs="?")
    parser.add_argument("--weak", type=int, help="cells on one rank, where `size` counts them")
    parser.add_argument("--frames", type=int, default=3)
    words = parser.parse_args()

    import numpy as np

    from nonstick import Scene
    from nonstick.parallel.comm import world
    from nonstick.sim.liquid.distributed import simulate
    from nonstick.sim.liquid.flow.pressure import PressureStage

    comm = world()
    dimension = len(Scene.load(words.scene).shape)
    size = words.size or 4 * round(words.weak * comm.size ** (1 / dimension) / 4)
    small = simulate(Scene.load(words.scene, {"domain.resolution": 16}), comm)
    small.next_frame()
    del small
    before = memory("VmRSS")
    forget_peak()
    together = simulate(Scene.load(words.scene, {"domain.resolution": size}), comm)
    first = comm.largest(memory("VmHWM") - before)
    comm.traffic.reset()
    counts = comm.traffic

    def sent() -> np.ndarray:
        return np.array([counts.messages, counts.bytes, counts.reductions], float)

    solving = np.zeros(3)
    solve = PressureStage._solve_on_ranks

    def counted(self, *words, **more):
        at = sent()
        found = solve(self, *words, **more)
        nonlocal solving
        solving = solving + sent() - at
        return found

    PressureStage._solve_on_ranks = counted  # type: ignore[method-assign]
    rows: list[dict] = []
    comm.wait()
    began = time.perf_counter()
    for _ in range(words.frames):
        rows += together.next_frame()
    comm.wait()
    seconds = time.perf_counter() - began
    every, inner = (comm.largest(v / len(rows)) for v in (sent(), solving))
    names = ("messages", "bytes", "collectives")
    own = comm.gathered(int(together.partition.own_particles(together.liquid.tracker.cloud).n))  # type: ignore[attr-defined]
    out = {
        "scene": words.scene, "size": size, "ranks": comm.size, "steps": len(rows), "seconds": seconds / len(rows),
        "unknowns": rows[-1]["unknowns"], "particles": rows[-1]["particles"],
        "iterations": sum(r["iterations"] for r in rows) / len(rows),
        "converged": all(r["converged"] for r in rows), **dict(zip(names, every.tolist())),
        "solve": dict(zip(names, inner.tolist())), "first": first, "memory": comm.largest(memory("VmHWM") - before),
        "particles_of_ranks": own,
    }  # fmt: skip
    if comm.rank == 0:
        print(json.dumps(out))


if __name__ == "__main__":
    main()
