"""`auto-array` on every library and device that is here, beside the compiled `auto`: one command for a GPU.

    python benchmarks/gpu.py --sizes 64 128 --devices cpu cuda:0

prints the table of docs/measurements/arrays.md. Seconds are those of a second solve, so that nothing is compiled in
them; of CPUs they are processor seconds (`--wall` for the clock), of other devices always by the clock. Launches and
bytes of one step are counted by PyTorch's dispatcher: an operation that is no view is a launch, and reads its arguments
and writes its results once. From them follows what a device of 1 TB/s and 5 µs a launch could do.
"""

from __future__ import annotations

import argparse
import time

import nonstick
from nonstick import NonstickError, cases
from nonstick.arrays import ArrayActiveSet
from nonstick.arrays import active_set as steps
from nonstick.arrays.library import to_library
from nonstick.arrays.methods import OnGrid
from nonstick.arrays.multigrid import GridCycle
from nonstick.arrays.problem import Fields

#: a device of today: bytes a second, and seconds from one launch to the next
BANDWIDTH, LAUNCH = 1e12, 5e-6
#: steps of a solve
STEPS = 15


def seconds(problem, method, rtol: float, wall: bool):
    """The solution, and the time of a second solve."""
    clock = time.perf_counter if wall else time.process_time
    nonstick.solve_problem(problem, method, rtol=rtol, criterion="papers")
    begun = clock()
    found = nonstick.solve_problem(problem, method, rtol=rtol, criterion="papers")
    return found, clock() - begun


def counted(problem, dtype: str) -> tuple[int, int]:
    """Launches and bytes of one step whose set does not change, on dense fields of the CPU."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Count(TorchDispatchMode):
        launches = moved = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            if not function.is_view and "_unsafe_view" not in str(function):
                tensors = [t for t in (*args, out) if isinstance(t, torch.Tensor)]
                tensors += [t for a in args if isinstance(a, list | tuple) for t in a if isinstance(t, torch.Tensor)]
                self.launches += 1
                self.moved += sum(t.numel() * t.element_size() for t in tensors)
            return out

    place = OnGrid(problem.A.stencil)
    bring = lambda values: to_library(values, "torch", None, dtype)  # noqa: E731
    b, lower, upper, unknown = (bring(place.field(v)) for v in (problem.b, problem.box.lower, problem.box.upper, 1.0))
    scale = torch.tensor([problem.scale], dtype=getattr(torch, dtype))
    fields = Fields(place.matrix(1.0, bring), b, lower, upper, unknown, scale)
    M = GridCycle.for_problem(fields)
    state = steps.begin(fields, 0 * fields.b)
    levels, tolerance = M.levels(state.free), 0 * state.kkt
    with Count() as count:
        steps.step(fields, M, levels, state, tolerance, False)
    return count.launches, count.moved


def main(sizes=(64,), case="sphere3d", libraries=("numpy", "torch", "jax"), devices=("cpu",), rtol=1e-6, wall=False):
    """Print the table, and return its rows."""
    rows = []
    print("| case | cells | unknowns | method | device | dtype | iterations | s a solve | million cells/s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for n in sizes:
        problem = cases.build(case, n).problem
        grid = n ** cases.dimension(case)
        plan = [("auto", "cpu", "float64", "auto")]
        for library in libraries:
            for device in devices:
                for dtype in ("float64", "float32"):
                    named = None if library == "numpy" else device
                    plan.append((f"auto-array, {library}", device, dtype, ArrayActiveSet(library, named, dtype)))
        for label, device, dtype, method in plan:
            try:
                found, took = seconds(problem, method, rtol, wall or device != "cpu")
            except NonstickError as error:
                print(
                    f"| {case} | {n} | {problem.n} | {label} | {device} | {dtype} | not here: {error} | | |", flush=True
                )
                continue
            rows.append((n, label, device, dtype, found.iterations, took, found.converged))
            speed = grid / took / 1e6
            count = f"{found.iterations}" if found.converged else found.status
            print(
                f"| {case} | {n} | {problem.n} | {label} | {device} | {dtype} | {count} | {took:.3g} | {speed:.2f} |",
                flush=True,
            )
        for dtype in ("float64", "float32"):
            try:
                launches, moved = counted(problem, dtype)
            except ImportError:
                continue
            step = moved / BANDWIDTH + launches * LAUNCH
            speeds = (grid / STEPS / time / 1e6 for time in (step, moved / BANDWIDTH))
            print(
                f"\none step at {n} in {dtype}: {launches} launches, {moved / 1e6:.1f} MB, {moved / grid:.0f} bytes a "
                f"cell; {BANDWIDTH / 1e12:g} TB/s and {1e6 * LAUNCH:g} µs a launch: {1e3 * step:.2f} ms a step; "
                "{} steps: {:.0f} million cells/s, {:.0f} in one graph\n".format(STEPS, *speeds),
                flush=True,
            )
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[64, 128])
    parser.add_argument("--case", default="sphere3d", choices=cases.names())
    parser.add_argument("--libraries", nargs="+", default=["numpy", "torch", "jax"])
    parser.add_argument("--devices", nargs="+", default=["cpu"])
    parser.add_argument("--wall", action="store_true")
    main(**vars(parser.parse_args()))
