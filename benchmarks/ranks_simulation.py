"""A liquid scene on many ranks against the same scene in one ordinary process: differences, solver, traffic.

    mpiexec -n 2 python benchmarks/ranks_simulation.py sphere 24              ten frames at 24 cells
    mpiexec -n 4 python benchmarks/ranks_simulation.py fountain 32 --frames 5

One JSON object. Every rank also runs the whole scene by itself, to compare with. Lists have one number a frame, the
largest difference there: `positions` in cells, `level_set` in metres. `volume`, `kinetic` and `potential` are the
largest differences of a step against the largest value. `messages`, `bytes` and `collectives` are those of a step, of
the rank that sends most.
"""

from __future__ import annotations

import argparse
import json
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene")
    parser.add_argument("size", type=int)
    parser.add_argument("--frames", type=int, default=10)
    parser.add_argument("--rtol", type=float, help="of the viscosity, which one process solves by another method")
    words = parser.parse_args()

    import numpy as np

    from nonstick import Scene, Simulation
    from nonstick.parallel.comm import world
    from nonstick.sim.liquid.distributed import simulate

    comm = world()
    more = {} if words.rtol is None else {"solver.viscosity_rtol": words.rtol}
    scene = Scene.load(words.scene, {"domain.resolution": words.size} | more)
    alone, together = Simulation(scene), simulate(scene, comm)
    comm.traffic.reset()
    rows: list[dict] = []
    true: list[dict] = []
    positions, level_set, cuts, lost = [], [], 0, 0
    sent = np.zeros(3)
    for _ in range(words.frames):
        part = together.partition
        rows += together.next_frame()
        traffic = comm.traffic
        sent += (traffic.messages, traffic.bytes, traffic.reductions)
        cuts += together.partition is not part
        true += alone.next_frame()
        state, whole = together.state(), alone.state()
        order = np.argsort(whole["id"])
        at = order[np.searchsorted(whole["id"], state["id"], sorter=order).clip(max=len(order) - 1)]
        lost += abs(int(comm.total(len(state["id"]))) - len(order))
        positions.append(comm.largest(float(np.abs(state["x"] - whole["x"][:, at]).max(initial=0.0))))
        here = tuple(map(slice, together.partition.own_box.low, together.partition.own_box.high))
        own = together.partition.own(together.liquid.phi())
        level_set.append(comm.largest(float(np.abs(own - alone.liquid.phi()[here]).max(initial=0.0))))
        comm.traffic.reset()
    messages, size, collectives = comm.largest(sent / len(rows))
    out = {"scene": words.scene, "size": words.size, "ranks": comm.size, "steps": len(rows), "cuts": cuts}
    out |= {"steps_alone": len(true), "converged": all(row["converged"] for row in rows), "particles_lost": lost}
    for key in ("volume", "kinetic", "potential"):
        out[key] = max(abs(a[key] - b[key]) for a, b in zip(rows, true)) / (max(abs(b[key]) for b in true) or 1.0)
    for key in ("contacts", "unknowns"):
        out[key] = max(abs(int(a[key]) - int(b[key])) for a, b in zip(rows, true))
    out |= {"positions": positions, "level_set": level_set}
    out["iterations"], out["iterations_alone"] = (sum(r["iterations"] for r in s) / len(s) for s in (rows, true))
    out |= {"messages": messages, "bytes": size, "collectives": collectives}
    if comm.rank == 0:
        print(json.dumps(out))


if __name__ == "__main__":
    main()
