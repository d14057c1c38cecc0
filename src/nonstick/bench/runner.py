"""Measures the tables of the papers (`tables`): one loop for static problems, one for problems of runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import cases, compositions, inverse, registry, solvers
from ..core import validate
from ..errors import NonstickError
from ..files.problem_file import read_problem
from ..inverse.krylov.cg import CG
from ..inverse.multigrid.aggregation.levels import Packed
from ..inverse.multigrid.hierarchy import Multigrid
from ..inverse.precond.deflation import Deflated
from ..operators.stencil import as_operator
from ..problem.box import BoxProblem
from ..scenes.scene import Scene
from ..sim.liquid.simulation import Simulation
from ..solvers.base import Method
from ..solvers.linear import LinearSolve
from . import problems, tables
from .figures import draw, mean_of, volume_change
from .measure import measure, sweep, warm_up
from .registry import Benchmark, Plan, benchmark
from .row import Row, Trace, mean_row, version
from .tables import Composed, Part, Table

SLOWER = "LCP slower by %"
MORE = "LCP takes % more iterations"


class _Names(dict):
    """The names in the expression of a method."""

    def __missing__(self, name: str) -> Any:
        return next(getattr(m, name) for m in (inverse, solvers, compositions) if hasattr(m, name))


def compose(text: str, part: Part) -> str | Method:
    """The method that an expression in a table means."""
    text = text.format(solver=part.solver)
    return text if text in registry.entries() else eval(text, {}, _Names())


class Solve(NamedTuple):
    """One solve, for averages and figures."""

    part: Part
    n: int
    method: str
    row: Row
    trace: Trace


class Runner:
    """A table while it is measured."""

    def __init__(self, table: Table, plan: Plan):
        single = any(part.single for part in table.parts)
        if plan.samples is not None and (single or table.measure):
            what = "is one solve: remove --samples; --frames says of which frame" if single else "needs every frame"
            raise NonstickError(f"{table.name} {what}" + ("" if single else ": remove --samples"))
        self.table, self.plan = table, plan
        wanted = plan.chosen(part.name for part in table.parts)
        self.parts = [p for p in table.parts if p.name in wanted and (not p.needs or p.needs in plan.methods)]
        self.solves: list[Solve] = []
        self.rows: list[Row] = []
        #: of the problems of a run: constraints, substeps, seconds before and after the solve
        self.notes: dict[tuple[str, int], list[dict[str, float]]] = {}
        self.curves: dict[tuple[str, int, str], np.ndarray] = {}

    def run(self) -> Iterator[Row]:
        yield from tables.published(self.table.name)
        if self.table.measure:
            work = self._motions()
        else:
            work = self._runs() if any(part.scene for part in self.parts) else self._static()
        for row in work:
            self.rows.append(row)
            yield row
        for figure in self.table.figures:
            draw(self, figure)

    def methods(self, part: Part, n: int) -> Iterator[tuple[str, Any, Plan]]:
        """Label, method and plan of every solve of one problem."""
        plan = replace(self.plan, rtol=min(self.plan.rtol, part.rtol))
        for label, given in part.compositions.items():
            composed = Composed(given) if isinstance(given, str) else Composed(**given)
            if not composed.largest or n == max(part.sizes(plan.sizes)):
                own = plan if composed.rtol is None else replace(plan, rtol=composed.rtol)
                yield label.format(part=part.name), compose(composed.method, part), own
        if not part.compositions:
            for name in plan.methods:
                changed = part.change and name in self.table.methods
                method: Any = registry.get(name) if changed else name
                yield name, replace(method, **part.change) if changed else method, plan

    def _solve(self, part: Part, n: int, label: str, method, plan: Plan, build, start=(None, None)) -> Row:
        trace: Trace = []
        row = measure(part.case, n, method, build, plan, label, start, trace)
        if part.newton_steps and label.startswith(("newton", "xi=")):
            trace = [(k, residual) for k, (_, residual) in enumerate(trace)]
        self.solves.append(Solve(part, n, label, row, trace))
        return row

    # -- static problems ------------------------------------------------------------------------------------------

    def _static(self) -> Iterator[Row]:
        jobs = [(part, *of) for part in self.parts for of in self.methods(part, max(part.sizes(self.plan.sizes)))]
        for k, (part, label, method, plan) in enumerate(jobs):
            plan.announce(f"{part.case} {label}: compiling")
            warm_up(method, partial(part.build, part.warm), plan)
            for n in part.sizes(plan.sizes):
                plan.announce(f"{part.case} {label} at {n}")
                row = self._solve(part, n, label, method, plan, partial(part.build, n))
                if part.columns == "digits":
                    yield from _digits(self.solves[-1], plan)
                    continue
                if part.columns == "non-zeros" and (stored := count_nonzeros(registry.get(method), part.build(n))):
                    row.nonzeros, row.extra = sum(stored), dict(zip(("Z_PR or Z_IC", "Z_A"), stored))
                yield row
            plan.done((k + 1) / len(jobs))

    # -- problems of runs -----------------------------------------------------------------------------------------

    def _runs(self) -> Iterator[Row]:
        groups = [list(of) for _, of in groupby(self.parts, lambda part: (part.scene, part.keys))]
        jobs = [(n, group) for group in groups for n in group[0].sizes(self.plan.sizes)]
        total, done = sum(float(n) ** 3 for n, _ in jobs), 0.0  # cost grows about as the cube of the size
        for n, group in jobs:
            cost = float(n) ** 3 / total
            yield from self._run(n, group, self.plan.within(done, done + cost))
            done += cost
            self.plan.done(min(done, 1.0))

    def _run(self, n: int, group: list[Part], plan: Plan) -> Iterator[Row]:
        """The parts that one run has, at one size."""
        first, frame = group[0], 0
        frames = plan.frames or first.frames
        take: Callable[..., Iterator[Any]] = problems.viscous_snapshots if first.viscous else problems.snapshots
        try:
            for k, snapshot in enumerate(take(first.scene, n, frames, **{**first.keys, **plan.keys})):
                frame = snapshot.frame
                plan.announce(f"{first.scene} at {n}, frame {frame} of {frames}")
                plan.done(frame / frames * (0.5 if first.single else 1.0))
                if first.wants(k, snapshot, n, frames, plan.samples):
                    if first.columns in ("substeps", "phases"):
                        self.notes.setdefault((first.name, n), []).append(_note(snapshot))
                    for part in group:
                        for row in self._solves_of(part, n, snapshot):
                            if part.single:
                                yield row
        except KeyboardInterrupt:  # the measurements made so far are still shown
            yield from self._averages(n, group, f"stopped in frame {frame} of {frames}")
            raise
        yield from self._averages(n, group)

    def _solves_of(self, part: Part, n: int, snapshot) -> Iterator[Row]:
        """One problem by every method."""
        for label, method, plan in self.methods(part, n):
            own = plan if snapshot.rtol is None else replace(plan, rtol=snapshot.rtol)
            start = snapshot.x0, snapshot.active if part.policy else None
            yield self._solve(part, n, label, method, replace(own, repeats=part.repeats), snapshot.build, start)
            if part.single and part.policy and (tables.nested(label) or label == "auto"):
                yield measure(f"{part.case} from zero", n, method, snapshot.build, own)

    def _averages(self, n: int, group: list[Part], stopped: str = "") -> Iterator[Row]:
        for part in group:
            if part.single:
                continue
            found = {label: self.of(part, n, label) for label, *_ in self.methods(part, n)}
            rows = {label: mean_row(part.case, n, label, of, stopped) for label, of in found.items()}
            if part.columns == "fixed work":
                _fixed_work(rows, found)
            if part.columns == "substeps":
                for row in rows.values():
                    _per_frame(row, self.notes.get((part.name, n), []))
            yield from rows.values()
            for name, pair in part.pairs.items():
                linear, lcp = (rows[label] for label in pair)
                if linear.cpu_seconds and lcp.cpu_seconds and linear.iterations and lcp.iterations:
                    extra = {
                        SLOWER: round(100 * (lcp.cpu_seconds / linear.cpu_seconds - 1), 1),
                        MORE: round(100 * (lcp.iterations / linear.iterations - 1), 1),
                    }
                    yield Row(part.case, n, linear.unknowns, name, converged=True, extra=extra)

    def of(self, part: Part, n: int, label: str) -> list[Row]:
        return [solve.row for solve in self.solves if (solve.part, solve.n, solve.method) == (part, n, label)]

    # -- motions --------------------------------------------------------------------------------------------------

    def _motions(self) -> Iterator[Row]:
        jobs = [(p, n, label) for p in self.parts for n in self.plan.sizes for label in self.table.walls]
        for k, (part, n, label) in enumerate(jobs):
            self.plan.announce(f"{part.scene} {label} at {n}")
            self.curves[part.name, n, label] = self._motion(part, n, label)
            self.plan.done((k + 1) / len(jobs))
        rows = {"volume": self._volume, "momentum": self._momentum}[self.table.measure]
        for part, n, label in jobs:
            yield rows(part, n, label)

    def _motion(self, part: Part, n: int, label: str) -> np.ndarray:
        """Time, volume, mean vertical velocity, kinetic and mechanical energy, and how many pressure solves failed so
        far: at the start and after each frame."""
        keys = {"domain.resolution": n, **part.keys, **self.table.walls[label], "solver.rtol": self.plan.rtol}
        keys |= self.plan.keys
        frames = self.plan.frames or part.frames
        key = (self.table.name, part.scene, frames, *map(str, keys.items()))
        if (known := self.plan.journal.get(*key)) is not None:
            return np.array(known)
        simulation = Simulation(Scene.load(part.scene, keys))
        curve = [_state(simulation, 0)]
        for _ in range(frames):
            missed = sum(not row["converged"] for row in simulation.next_frame())
            curve.append(_state(simulation, curve[-1][-1] + missed))
        self.plan.journal.keep(curve, *key)
        return np.array(curve)

    def _volume(self, part: Part, n: int, label: str) -> Row:
        curve = self.curves[part.name, n, label]
        change, missed = volume_change(curve), int(curve[-1, -1])
        extra = {
            f"volume change after {curve[-1, 0]:g} s in %": round(float(change[-1]), 2),
            "smallest volume change in %": round(float(change.min()), 2),
            "largest volume change in %": round(float(change.max()), 2),
        }
        reason = f"{missed} pressure solves missed {self.plan.rtol:g}" if missed else None
        case = f"{self.table.name}, {label}"
        return Row(case, n, None, part.name, converged=not missed, reason=reason, extra=extra)

    def _momentum(self, part: Part, n: int, label: str) -> Row:
        curve, finest = (self.curves[part.name, *of] for of in ((n, label), (max(self.plan.sizes), "separating")))
        apart = np.linalg.norm((curve - finest)[:, 2:4], axis=0) / np.linalg.norm(finest[:, 2:4], axis=0)
        names = ("momentum", "kinetic energy")
        extra = {f"{name} differs by %": round(100 * float(share), 2) for name, share in zip(names, apart)}
        extra["energy left in %"] = round(100 * float(curve[-1, 4] / curve[0, 4]), 2)
        return Row(part.case, n, None, label, converged=True, extra=extra, version=version())


def _state(simulation: Simulation, missed: float) -> list[float]:
    kinetic, potential = simulation.liquid.energy()
    rise = float(simulation.particles.velocity[:, 1].mean())
    return [simulation.time, simulation.liquid.ledger.measured, rise, kinetic, kinetic + potential, missed]


# -- further numbers of a row -------------------------------------------------------------------------------------


def _digits(solve: Solve, plan: Plan) -> Iterator[Row]:
    """Iterations to each power of ten."""
    row = solve.row
    for digits in range(1, 1 + round(-np.log10(plan.rtol))):
        reached = next((k for k, residual in solve.trace if residual <= 10.0**-digits), None)
        found = Row(f"{row.case} to 1e-{digits}", row.n, row.unknowns, row.method, iterations=reached)
        yield replace(found, converged=True) if reached is not None else replace(found, reason=row.reason)


def _fixed_work(rows: Mapping[str, Row], found: Mapping[str, Sequence[Row]]) -> None:
    """The price of the LCP, in processor time without set-up; nothing has to converge."""

    def cycles(row: Row) -> float:
        if not row.seconds or row.cpu_seconds is None:
            return 0.0
        return row.cpu_seconds * (1.0 - (row.setup_seconds or 0.0) / row.seconds)

    for row in rows.values():
        row.must_converge, row.converged = False, True
        row.reason = None if row.kkt is None else f"fixed work leaves a residual of at most {row.kkt:.0e}"
    linear, lcp = (sum(map(cycles, of)) for of in found.values())
    if linear:
        row.extra = {SLOWER: round(100 * (lcp / linear - 1), 2)}


def _note(snapshot: problems.Snapshot) -> dict[str, float]:
    """The constraints of a problem, and seconds before and after its solve: fields to problem, pressure to velocity."""
    began, cpu = time.perf_counter(), time.process_time()
    problem = snapshot.discretise()
    constraints = int(np.count_nonzero(problem.problem.box.constrained))
    built, cpu = time.perf_counter(), time.process_time() - cpu
    problem.update(np.zeros(problem.shape))
    seconds = {"initialisation": built - began, "finalisation": time.perf_counter() - built, "building": cpu}
    return {"constraints": constraints, "substeps": snapshot.substeps, **seconds}


def _per_frame(row: Row, notes: Sequence[Mapping[str, float]]) -> None:
    """The columns c, s, T_s and T of Takahashi–Batty."""
    if row.cpu_seconds is not None:
        substeps = mean_of(notes, "substeps")
        row.extra = {
            "c": round(mean_of(notes, "constraints")),
            "s": round(substeps, 2),
            "T_s": round(substeps * row.cpu_seconds, 3),
            "T": round(substeps * (row.cpu_seconds + mean_of(notes, "building")), 3),
        }


def count_nonzeros(method: Method, problem: BoxProblem) -> tuple[int, int] | None:
    """Entries of P and R on all levels, or of an incomplete factor, and of A on all levels: the paper's Z_PR, Z_A."""
    if not isinstance(method, LinearSolve) or not isinstance(method.inner, CG):
        return None
    M, A = method.inner.M, problem.A
    M = M.M if isinstance(M, Deflated) else M
    if not isinstance(M, Multigrid):
        return (A.matrix().nnz + A.n) // 2, A.matrix().nnz
    inverse = M.setup(A)
    transfers = systems = 0
    for level in inverse.levels[:-1]:
        systems += level.A.core.matrix().nnz
        transfers += 2 * level.transfer.matrix().nnz
    last = inverse.levels[-1].A
    packed = M.coarsest.setup(last).levels if isinstance(M.coarsest, Packed) else ()
    systems += sum(int(np.count_nonzero(below.weights)) + below.n for below in packed)
    transfers += sum(2 * int(np.count_nonzero(below.parent >= 0)) for below in packed[:-1])
    if not packed:
        systems += last.core.matrix().nnz
    return transfers, systems


# -- names for `nonstick bench` -------------------------------------------------------------------------------------


def from_file(path: str) -> Benchmark:
    """A user's problem file, as for `nonstick solve`, as a benchmark of one size, its number of unknowns."""
    given = read_problem(path)
    A = validate.matrix(given.A)
    n, symmetric = int(A.shape[0]), validate.symmetric(A)
    b = validate.vector(given.b, n, "b")
    lower, upper = validate.bounds(given.lower, given.upper, n)
    cells = None if given.cells is None else validate.cells(given.cells, n)
    if cells is not None and (order := validate.c_order(cells)) is not None:  # grids are kept in C order
        A, b, lower, upper, cells = A[order][:, order], b[order], lower[order], upper[order], cells[order]
    name = Path(path).name

    def run(plan: Plan) -> Iterator[Row]:
        if plan.sizes != (n,):
            raise NonstickError(f"{path} has one size, {n} unknowns: remove --sizes")
        return sweep(name, lambda _: BoxProblem(as_operator(A, cells, symmetric), b, lower, upper), plan, n)

    return Benchmark(name, f"the problem in {path}", run, (n,))


def _static_case(name: str, plan: Plan) -> Iterator[Row]:
    return sweep(name, lambda n: cases.build(name, n).problem, plan)


def _paper_table(table: Table, plan: Plan) -> Iterator[Row]:
    return Runner(table, plan).run()


for _name, _description in cases.describe().items():
    _sizes_of_case = (32, 64) if _name in cases.names(dimension=3) else (64, 256)
    benchmark(_name, _description, sizes=_sizes_of_case)(partial(_static_case, _name))
for _table_read in tables.tables().values():
    benchmark(
        _table_read.name,
        _table_read.description,
        sizes=tuple(_table_read.sizes),
        methods=tuple(_table_read.methods),
        parts=[part.name for part in _table_read.parts if part.name],
        simulated=any(part.frames for part in _table_read.parts),
    )(partial(_paper_table, _table_read))
