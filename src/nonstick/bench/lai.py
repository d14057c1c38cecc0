"""Lai's tables over simulations (§5), with their figures.

Tables 1-8 are averages over the pressure equations of 100 frames. Here, too, every method solves the problems of one
run. In 3D and on large grids it solves only every k-th problem, about thirty (3D) or some hundreds (2D) per run,
because slow methods would otherwise take days; `--samples` takes the first substep of so many frames instead.
Tables 9-12 are single solves: the first substep of the named frame.

Policy and penalty methods start from the policy of the last substep, as in the paper, and so do `newton` and `auto`; x
starts at zero. Single solves are also shown without that policy ("from zero").
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from .. import registry
from ..errors import NonstickError
from . import figures, published
from .means import Trace, mean_row
from .measure import measure
from .registry import Plan, benchmark
from .row import Row
from .snapshots import first_of, sampled_frames, snapshots

FRAMES = 100
LAI = ("fas-mg", "pi-pcg", "pi-mg", "pe-pcg", "pe-mg", "fmg", "newton", "no-lcp", "auto")
SINGLE = (*LAI[:7], "auto")
VARIANTS = ("fas-mg+literal", "fas-mg+trilinear", "fas-mg+pwc", "fas-mg+simple-boundary", "fas-mg+direct", "fas-mg")


@benchmark(
    "lai-table1", "Lai tables 1, 3, 5: the circle over 100 frames (2D)", sizes=(32, 64), methods=LAI, simulated=True
)
def table1(plan: Plan) -> Iterator[Row]:
    return _averages(plan, "lai-table1", "circle", lambda n: max(n // 64, 1))


@benchmark(
    "lai-table2", "Lai tables 2, 4, 6: the sphere over 100 frames (3D)", sizes=(32,), methods=LAI, simulated=True
)
def table2(plan: Plan) -> Iterator[Row]:
    return _averages(plan, "lai-table2", "sphere", lambda n: max(n // 8, 1))


@benchmark("lai-table7", "Lai tables 7, 8: the maze over 100 frames (2D)", sizes=(32, 64), methods=LAI, simulated=True)
def table7(plan: Plan) -> Iterator[Row]:
    return _averages(plan, "lai-table7", "maze", lambda n: max(n // 64, 1))


@benchmark("lai-table9", "Lai table 9: frame 10 of the sphere", sizes=(32, 64), methods=SINGLE, simulated=True)
def table9(plan: Plan) -> Iterator[Row]:
    return _single(plan, "lai-table9", "sphere", 10)


@benchmark(
    "lai-table10", "Lai table 10: frame 70 of the sphere with a cuboid", sizes=(32, 64), methods=SINGLE, simulated=True
)
def table10(plan: Plan) -> Iterator[Row]:
    return _single(plan, "lai-table10", "sphere-cuboid", 70)


@benchmark("lai-table11", "Lai table 11: frame 10 of the double sphere", sizes=(32, 64), methods=SINGLE, simulated=True)
def table11(plan: Plan) -> Iterator[Row]:
    return _single(plan, "lai-table11", "double-sphere", 10)


@benchmark(
    "lai-table12", "Lai table 12: what each part of FAS does, frame 10 of the sphere", sizes=(32, 64), methods=VARIANTS,
    simulated=True,
)  # fmt: skip
def table12(plan: Plan) -> Iterator[Row]:
    return _single(plan, "lai-table12", "sphere", 10)


# -- averages over a run -------------------------------------------------------------------------------------


def _averages(plan: Plan, table: str, scene: str, every) -> Iterator[Row]:
    yield from _published(table)
    share = _shares(plan)
    frames = plan.frames or FRAMES
    wanted = None if plan.samples is None else sampled_frames(frames, plan.samples)
    counts: dict[str, dict[int, float]] = {}
    for n in plan.sizes:
        rows: dict[str, list[Row]] = {method: [] for method in plan.methods}
        traces: dict[str, list[Trace]] = {method: [] for method in plan.methods}
        stopped = ""
        try:
            for k, snapshot in enumerate(snapshots(scene, n, frames, **plan.keys)):
                plan.announce(f"{scene} at {n}, frame {snapshot.frame} of {frames}")
                share(n, snapshot.frame / frames)
                if k % every(n) if wanted is None else snapshot.substep or snapshot.frame not in wanted:
                    continue
                for method in plan.methods:
                    trace: Trace = []
                    row = measure(
                        table, n, method, snapshot.build, plan, active=snapshot.active, repeats=1, trace=trace
                    )
                    rows[method].append(row)
                    traces[method].append(trace)
        except KeyboardInterrupt:  # the measurements made so far are still shown
            stopped = f"stopped in frame {snapshot.frame} of {frames}"
        for method in plan.methods:
            yield mean_row(table, n, method, rows[method], stopped)
        if stopped:
            raise KeyboardInterrupt
        outer = {m: [r.outer_iterations for r in found if r.outer_iterations is not None]
                 for m, found in rows.items() if _nested(m)}  # fmt: skip
        plan.draw(f"{table}-{n}-outer", figures.histogram, outer, f"{scene} at {n}: {frames} frames")
        plan.draw(f"{table}-{n}-convergence", figures.spread, traces, {m: _unit(m) for m in traces})
        for method, found in rows.items():
            if (mean := mean_row(table, n, method, found)).iterations is not None:
                counts.setdefault(method, {})[n] = mean.iterations
    _draw_counts(plan, table, counts, f"{scene}, means over {frames} frames")


def _shares(plan: Plan):
    """`share(n, part, of)`: `of` × `part` of the work at size n is done. Cost grows about as the cube of the size."""
    total = sum(float(n) ** 3 for n in plan.sizes)

    def share(n: int, part: float, of: float = 1.0) -> None:
        before = sum(float(m) ** 3 for m in plan.sizes[: plan.sizes.index(n)])
        plan.done((before + of * part * float(n) ** 3) / total)

    return share


# -- single solves ---------------------------------------------------------------------------------------------


def _single(plan: Plan, table: str, scene: str, frame: int) -> Iterator[Row]:
    if plan.samples is not None:
        raise NonstickError(f"{table} is one solve: remove --samples; --frames says of which frame")
    frame = plan.frames or frame
    yield from _published(table)
    share = _shares(plan)
    seconds: dict[str, dict[int, float]] = {}
    counts: dict[str, dict[int, float]] = {}
    for n in plan.sizes:
        plan.announce(f"{scene} at {n}, {frame} frames")
        snapshot = first_of(scene, n, frame, partial(share, n, of=0.5), **plan.keys)
        traces: dict[str, Trace] = {}
        for k, method in enumerate(plan.methods):
            plan.announce(f"{scene} {method} at {n}")
            trace: Trace = []
            row = measure(table, n, method, snapshot.build, plan, active=snapshot.active, trace=trace)
            traces[method] = trace
            if row.seconds is not None and row.iterations is not None:
                seconds.setdefault(method, {})[n] = row.seconds
                counts.setdefault(method, {})[n] = row.iterations
            yield row
            if _uses_policy(method):
                yield measure(f"{table} from zero", n, method, snapshot.build, plan)
            share(n, 0.5 + 0.5 * (k + 1) / len(plan.methods))
        cycles = {m: t for m, t in traces.items() if _unit(m) == "cycles"}
        others = {m: t for m, t in traces.items() if m not in cycles}
        panels = {f"{scene} at {n}, frame {frame}": cycles, "inner iterations of the others": others}
        units = [unit for unit, curves in zip(("cycles", "CG iterations"), panels.values()) if any(curves.values())]
        paper = dict.fromkeys(panels, published.ITERATIONS[table].get(n, {}))
        plan.draw(f"{table}-{n}", figures.convergence, panels, units, paper, plan.rtol)
    _draw_counts(plan, table, counts, f"{scene}, first substep of frame {frame}")
    if table == "lai-table12":
        pair = {name: seconds.get(method, {}) for name, method in (
            ("barycentric", "fas-mg+literal"), ("trilinear", "fas-mg+trilinear"))}  # fmt: skip
        plan.draw(f"{table}-seconds", figures.by_size, pair, "interpolation in FAS, frame 10 of the sphere")


def _draw_counts(plan: Plan, table: str, counts: dict[str, dict[int, float]], title: str) -> None:
    """The table as a figure, with the paper's numbers."""
    paper: dict[str, dict[int, float]] = {}
    for n, of in published.ITERATIONS[table].items():
        for method, count in of.items():
            paper.setdefault(method, {})[n] = count
    plan.draw(table, figures.beside, counts, paper, title)


# -- what the tables share -------------------------------------------------------------------------------------


def _published(table: str) -> Iterator[Row]:
    for n, counts in published.ITERATIONS[table].items():
        for method, count in counts.items():
            yield Row(
                f"{table} (published)", n, None, method, iterations=count, converged=True,
                outer_iterations=published.OUTER.get(table, {}).get(n, {}).get(method),
                seconds=published.SECONDS.get(table, {}).get(n, {}).get(method),
            )  # fmt: skip
    for n, method in published.DIVERGED.get(table, ()):
        yield Row(f"{table} (published)", n, None, method, reason="the paper: diverged", must_converge=False)


def _uses_policy(method: str) -> bool:
    return method.startswith(("pi-", "pe-", "newton")) or method == "auto"


def _nested(method: str) -> bool:
    """True if outer iterations differ from iterations."""
    return method.startswith(("pi-", "pe-", "newton"))


def _unit(method: str) -> str:
    if method.startswith(("fas-mg", "fmg", "pi-mg", "pe-mg")) or method == "auto":
        return "cycles"
    return "CG iterations" if registry.entries()[method].converges else "iterations"
