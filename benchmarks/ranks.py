"""`auto` on many ranks: iterations, seconds, memory and traffic of every rank.

    mpiexec -n 2 python benchmarks/ranks.py --sizes 64 128        the half-filled sphere at these sizes
    mpiexec -n 4 python benchmarks/ranks.py --weak 40             as many unknowns a rank as 40³ on one
    python benchmarks/ranks.py --threads 2 --sizes 128            the ordinary solve on two threads, to compare with

One JSON object a line. `seconds` is the best of three solves, without discretising, `first` the first one on the grid,
which also makes the tables of its levels. `memory` is the peak of a rank
above what it had before the problem was made, in MB: the libraries are not counted. `messages` and `bytes` are what one
rank sends in one iteration, the largest of all ranks; `collectives` are the times in an iteration that all ranks wait
for all.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")


def memory(key: str) -> float:
    """VmRSS or VmHWM of this process in MB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) / 1024.0


def shared(name: str, n: int, repeat: int) -> dict:
    from nonstick.mpi.shared import solve_shared, static_case
    from nonstick.parallel.comm import world

    comm = world()
    solve_shared(static_case(comm, name, 12))  # compiles
    before = memory("VmRSS")
    problem = static_case(comm, name, n)
    seconds = []
    for _ in range(repeat):
        comm.wait()
        comm.traffic.reset()
        began = time.perf_counter()
        solution = solve_shared(problem)
        comm.wait()
        seconds.append(time.perf_counter() - began)
    traffic, loops = comm.traffic, max(solution.iterations, 1)
    sent = [comm.largest(float(v)) / loops for v in (traffic.messages, traffic.bytes, traffic.reductions)]
    owned = comm.gathered(int(problem.piece.owned.size))
    return {
        "case": name, "n": n, "ranks": comm.size, "unknowns": problem.piece.count, "iterations": solution.iterations,
        "outer_iterations": solution.outer_iterations, "seconds": min(seconds), "first": seconds[0],
        "kkt": solution.kkt(), "converged": solution.converged,
        "contact": int(comm.total((solution.active[problem.piece.owned] != 0).sum())),
        "memory": comm.largest(memory("VmHWM") - before), "imbalance": max(owned) * comm.size / sum(owned),
        "messages": sent[0], "bytes": sent[1], "collectives": sent[2], "rank": comm.rank,
    }  # fmt: skip


def threads(name: str, n: int, count: int, repeat: int) -> dict:
    import numba

    from nonstick import cases, solve_problem

    numba.set_num_threads(count)
    solve_problem(cases.build(name, 12).problem)
    before = memory("VmRSS")
    problem = cases.build(name, n).problem
    solution = min((solve_problem(problem) for _ in range(repeat)), key=lambda s: s.seconds)
    return {
        "case": name, "n": n, "threads": count, "unknowns": problem.n, "iterations": solution.iterations,
        "seconds": solution.seconds, "kkt": solution.kkt(), "converged": solution.converged,
        "contact": int((solution.active != 0).sum()), "memory": memory("VmHWM") - before, "rank": 0,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="sphere3d")
    parser.add_argument("--sizes", type=int, nargs="*", default=[])
    parser.add_argument("--weak", type=int, help="cells per side on one rank")
    parser.add_argument("--threads", type=int, help="no ranks: the ordinary solve on so many threads")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    sizes = list(options.sizes)
    if options.weak:
        from nonstick.parallel.comm import world

        sizes.append(4 * round(options.weak * world().size ** (1 / 3) / 4))
    for n in sizes:
        if options.threads:
            row = threads(options.case, n, options.threads, options.repeat)
        else:
            row = shared(options.case, n, options.repeat)
        if row.pop("rank") == 0:
            print(json.dumps(row))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
