"""Tables of the papers: read from `papers/*.toml`, measured by one runner.

A file holds the tables of one paper; its head says what they measure. A table has a description, default sizes and
methods, the numbers that the paper prints, figures, and parts. A part is one problem at all sizes: a static problem
(`problem`: a function of `problems`, or a case of `nonstick.cases`), or the problems of the run of a scene (`scene`).
Keys of a table hold for each of its parts, and a table may be `like` another one. The classes below name all keys.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatch
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import cases, compositions, inverse, registry, solvers, validate
from ..errors import NonstickError
from ..inverse.krylov.cg import CG
from ..inverse.multigrid.aggregation.levels import Packed
from ..inverse.multigrid.hierarchy import Multigrid
from ..inverse.precond.deflation import Deflated
from ..io.problem_file import read_problem
from ..operators.convert import as_operator
from ..problem.box import BoxProblem
from ..scenes.scene import Scene
from ..sim.liquid.simulation import Simulation
from ..solvers.base import Method
from ..solvers.linear import LinearSolve
from . import figures, peers, problems
from .measure import measure, sweep, warm_up
from .registry import Benchmark, Plan, benchmark
from .row import Row, Trace, mean_row, version

FOLDER = Path(__file__).with_name("papers")
SLOWER = "LCP slower by %"
MORE = "LCP takes % more iterations"


@dataclass(frozen=True)
class Composed:
    """A method that is written in a table: a registered name, or an expression like `CG(ILU())`."""

    method: str
    #: its own tolerance; None: the one asked for
    rtol: float | None = None
    #: True if only the largest size is solved by it
    largest: bool = False


@dataclass(frozen=True)
class Part:
    """One problem of a table at all its sizes."""

    table: str
    name: str = ""
    #: the case of its rows; "{table}" and "{part}" are filled in
    case: str = "{table} {part}"

    #: a static problem, its options, and the size of the solve that compiles
    problem: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    warm: int = 16

    #: a run: its scene, keys of the scene, frames; True if viscosity is solved and not pressure
    scene: str = ""
    keys: Mapping[str, Any] = field(default_factory=dict)
    frames: int = 0
    viscous: bool = False
    #: what of the run is solved: the first substep of the last frame; of this many frames; of every k-th frame; or
    #: every substep, from this size on every (n // size)-th
    single: bool = False
    samples: int | None = None
    stride: int = 0
    substeps_skipped_from: int = 0
    #: True if solves start from the policy of the last substep
    policy: bool = False
    #: how often a short solve is repeated
    repeats: int = 3

    #: which of the sizes, "largest" or "smallest" (all by default), their divisor, and the largest number of cells
    once: str = ""
    divide: int = 1
    most: int = 10**9

    #: methods of its own by their labels; the sub-solver in them; fields that are changed in the table's methods
    compositions: Mapping[str, Any] = field(default_factory=dict)
    solver: str = ""
    change: Mapping[str, Any] = field(default_factory=dict)
    #: the part is omitted unless this method is asked for
    needs: str = ""
    #: the tolerance is at most this
    rtol: float = 1.0
    #: True if the abscissa of residuals is Newton steps, not inner iterations
    newton_steps: bool = False

    #: further numbers: "non-zeros", "digits", "fixed work", "substeps" or "phases"
    columns: str = ""
    #: label → the linear and the LCP method that are compared
    pairs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: methods that solve the last problem of the run too, and the case of these rows
    last: Mapping[str, Any] = field(default_factory=dict)
    last_case: str = ""

    def sizes(self, sizes: Sequence[int]) -> list[int]:
        chosen = {"": sizes, "largest": (max(sizes),), "smallest": (min(sizes),)}[self.once]
        return [min(n if self.divide == 1 else max(n // self.divide, 8), self.most) for n in chosen]

    def build(self, n: int) -> BoxProblem:
        """The static problem at this size."""
        if self.problem in cases.names():
            return cases.build(self.problem, n, **self.options).problem
        return getattr(problems, self.problem)(n, **self.options)

    def wants(self, k: int, snapshot, n: int, frames: int, samples: int | None) -> bool:
        """Whether the k-th substep of the run is solved."""
        first, samples = snapshot.substep == 0, samples or self.samples
        if self.single:
            return first and snapshot.frame == frames
        if samples is not None:
            return first and snapshot.frame in problems.sampled_frames(frames, samples)
        if self.stride:
            return first and snapshot.frame % self.stride == 0
        return not self.substeps_skipped_from or k % max(n // self.substeps_skipped_from, 1) == 0


@dataclass(frozen=True)
class Table:
    """One table of a paper."""

    name: str
    description: str
    sizes: Sequence[int]
    parts: tuple[Part, ...]
    #: methods by default; a table without any has its own in its parts
    methods: Sequence[str] = ()
    published: Sequence[Mapping[str, Any]] = ()
    figures: Sequence[Mapping[str, Any]] = ()
    #: "volume" or "momentum": a run is measured, no method; label → keys of its scene
    measure: str = ""
    walls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: a line of `nonstick bench --help`, and minutes on a quiet machine with two cores at the default sizes
    help: str = ""
    minutes: int = 0


@cache
def tables() -> dict[str, Table]:
    """Every table by its name."""
    found = {}
    for file in sorted(FOLDER.glob("*.toml")):
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        shared = content.pop("compositions", {})
        del content["title"]
        for name in content:
            found[name] = _table(name, content, shared)
    return found


def _table(name: str, content: Mapping[str, Any], shared: Mapping[str, Any]) -> Table:
    keys = dict(content[name])
    if "like" in keys:
        other = {key: value for key, value in content[keys.pop("like")].items() if key not in ("published", "parts")}
        keys = other | keys
    parts = keys.pop("parts", {"": {}})
    own = {key: keys.pop(key) for key in [field.name for field in fields(Table)] if key in keys}

    def part(title: str, special: Mapping[str, Any]) -> Part:
        of = {**keys, **special}
        for key in ("compositions", "last"):
            if isinstance(of.get(key), str):
                of[key] = shared[of[key]]
        for key in {"case", "last_case"} & of.keys() | {"case"}:
            of[key] = of.get(key, Part.case).format(table=name, part=title).strip()
        return Part(name, title, **of)

    return Table(name=name, parts=tuple(part(title, special) for title, special in parts.items()), **own)


def published(table: str) -> list[Row]:
    """The rows that the paper prints: one for each size and method that has a number there.

    A quantity of a table has a list of numbers for each size, in the order of `methods`, "-" where the paper has none,
    or one number for all methods. Quantities that a row does not have are `extra`.
    """
    rows = []
    known = {field.name for field in fields(Row)}
    for block in tables()[table].published:
        case = f"{table} {block.get('part', '')}".strip() + " (published)"
        quantities = {key: value for key, value in block.items() if isinstance(value, dict)}
        sizes = sorted({int(n) for of in quantities.values() for n in of})
        for n in sizes:
            for k, method in enumerate(block["methods"]):
                values: dict[str, Any] = {}
                for key, of in quantities.items():
                    given = of.get(str(n), ())
                    value = given if not isinstance(given, list | tuple) else given[k] if k < len(given) else "-"
                    if value != "-" and value != ():
                        values[key] = value
                if not values.keys() - {"unknowns"}:
                    continue
                if diverged := values.get("iterations") == "diverged":
                    values = {"reason": "the paper: diverged", "must_converge": False}
                extra = {key: values.pop(key) for key in list(values) if key not in known}
                if "T_s" in extra:
                    values["seconds"] = extra["T_s"] / extra["s"]
                values = {"unknowns": None, "threads": block.get("threads"), **values}
                rows.append(Row(case, n, method=method, converged=not diverged, extra=extra, **values))
    return rows


class _Names(dict):
    """The names in the expression of a method."""

    def __missing__(self, name: str) -> Any:
        return next(getattr(m, name) for m in (inverse, solvers, compositions, peers) if hasattr(m, name))


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
        yield from published(self.table.name)
        if self.table.measure:
            work = self._motions()
        else:
            work = self._runs() if any(part.scene for part in self.parts) else self._static()
        for row in work:
            self.rows.append(row)
            yield row
        for figure in self.table.figures:
            FIGURES[figure["figure"]](self, figure)

    def methods(self, part: Part, n: int, of: Mapping[str, Any] | None = None) -> Iterator[tuple[str, Any, Plan]]:
        """Label, method and plan of every solve of one problem."""
        plan = replace(self.plan, rtol=min(self.plan.rtol, part.rtol))
        for label, given in (part.compositions if of is None else of).items():
            composed = Composed(given) if isinstance(given, str) else Composed(**given)
            if not composed.largest or n == max(part.sizes(plan.sizes)):
                own = plan if composed.rtol is None else replace(plan, rtol=composed.rtol)
                yield label.format(part=part.name), compose(composed.method, part), own
        if not part.compositions:
            for name in plan.methods:
                changed = part.change and name in self.table.methods
                yield name, replace(registry.get(name), **part.change) if changed else name, plan  # type: ignore[type-var]

    def _solve(self, part: Part, n: int, label: str, method, plan: Plan, build, **options) -> Row:
        trace: Trace = []
        row = measure(part.case, n, method, build, plan, label, trace=trace, **options)
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
        for label, method, own in self.methods(first, n, first.last) if first.last else ():
            row = measure(first.last_case, n, method, snapshot.build, own, label)
            row.must_converge = False  # no preconditioner, and the stopping tests of the paper
            yield row

    def _solves_of(self, part: Part, n: int, snapshot) -> Iterator[Row]:
        """One problem by every method."""
        for label, method, plan in self.methods(part, n):
            own = plan if snapshot.rtol is None else replace(plan, rtol=snapshot.rtol)
            start = {"x0": snapshot.x0, "repeats": part.repeats}
            active = snapshot.active if part.policy else None
            yield self._solve(part, n, label, method, own, snapshot.build, active=active, **start)
            if part.single and part.policy and (_nested(label) or label == "auto"):
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
        extra = {
            f"{name} differs by %": round(100 * float(np.linalg.norm(curve[:, k] - finest[:, k])
                                                      / np.linalg.norm(finest[:, k])), 2)
            for name, k in (("momentum", 2), ("kinetic energy", 3))
        }  # fmt: skip
        extra["energy left in %"] = round(100 * float(curve[-1, 4] / curve[0, 4]), 2)
        return Row(part.case, n, None, label, converged=True, extra=extra, version=version())


def _state(simulation: Simulation, missed: float) -> list[float]:
    kinetic, potential = simulation.liquid.energy()
    rise = float(simulation.particles.velocity[:, 1].mean())
    return [simulation.time, simulation.liquid.ledger.measured, rise, kinetic, kinetic + potential, missed]


def volume_change(curve: np.ndarray) -> np.ndarray:
    """In percent."""
    return 100 * (curve[:, 1] / curve[0, 1] - 1)


# -- further numbers of a row -------------------------------------------------------------------------------------


def _digits(solve: Solve, plan: Plan) -> Iterator[Row]:
    """Iterations to each power of ten."""
    row = solve.row
    for digits in range(1, 1 + round(-np.log10(plan.rtol))):
        reached = next((k for k, residual in solve.trace if residual <= 10.0**-digits), None)
        yield Row(
            f"{row.case} to 1e-{digits}", row.n, row.unknowns, row.method, iterations=reached,
            converged=reached is not None, reason=None if reached is not None else row.reason,
        )  # fmt: skip


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
    return {
        "constraints": constraints, "substeps": snapshot.substeps, "building": cpu, "initialisation": built - began,
        "finalisation": time.perf_counter() - built,
    }  # fmt: skip


def _mean(notes: Sequence[Mapping[str, float]], key: str) -> float:
    return float(np.mean([note[key] for note in notes]))


def _per_frame(row: Row, notes: Sequence[Mapping[str, float]]) -> None:
    """The columns c, s, T_s and T of Takahashi–Batty."""
    if row.cpu_seconds is not None:
        substeps = _mean(notes, "substeps")
        row.extra = {
            "c": round(_mean(notes, "constraints")),
            "s": round(substeps, 2),
            "T_s": round(substeps * row.cpu_seconds, 3),
            "T": round(substeps * (row.cpu_seconds + _mean(notes, "building")), 3),
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


# -- figures ------------------------------------------------------------------------------------------------------


def _nested(method: str) -> bool:
    """True if outer iterations differ from iterations."""
    return method.startswith(("pi-", "pe-", "newton"))


def _unit(method: str, newton_steps: bool = False) -> str:
    if newton_steps and method.startswith("newton"):
        return "Newton steps"
    if method.startswith(("fas-mg", "fmg", "pi-mg", "pe-mg")) or method in ("auto", "mg-cg"):
        return "cycles"
    entry = registry.entries().get(method)
    return "CG iterations" if entry is not None and entry.converges else "iterations"


def _draw(run: Runner, of: Mapping[str, Any], figure: Callable[..., bool], *content, n: int = 0, **options) -> None:
    name = "-".join(filter(None, (run.table.name, of.get("name", "").format(n=n))))
    run.plan.draw(name, figure, *content, **options)


def _traces(run: Runner, of: Mapping[str, Any], n: int) -> dict[str, list[Trace]]:
    """Residuals by method."""
    found: dict[str, list[Trace]] = {}
    for solve in run.solves:
        if solve.n == n and solve.part.name == of.get("part", solve.part.name):
            found.setdefault(solve.method, []).append(solve.trace)
    return _by_kind(found, of)


def _by_kind(found: dict[str, Any], of: Mapping[str, Any]) -> dict[str, Any]:
    """Of pairs, linear solves first, then the LCP solves below them."""
    labels = list(found)
    return {label: found[label] for label in labels[::2] + labels[1::2]} if of.get("pairs") else found


def _sizes(run: Runner, of: Mapping[str, Any]) -> list[int]:
    return list(dict.fromkeys(s.n for s in run.solves if s.part.name == of.get("part", s.part.name)))


def _of_run(run: Runner, text: str) -> str:
    part = run.parts[0]
    return text.format(scene=part.scene, frames=run.plan.frames or part.frames)


def _histogram(run: Runner, of: Mapping[str, Any]) -> None:
    for n in _sizes(run, of):
        outer: dict[str, list[float]] = {}
        for s in run.solves:
            if s.n == n and _nested(s.method) and s.row.outer_iterations is not None:
                outer.setdefault(s.method, []).append(s.row.outer_iterations)
        _draw(run, of, figures.histogram, outer, _of_run(run, f"{{scene}} at {n}: {{frames}} frames"), n=n)


def _spread(run: Runner, of: Mapping[str, Any]) -> None:
    for n in _sizes(run, of):
        traces = _traces(run, of, n)
        _draw(run, of, figures.spread, traces, {m: _unit(m, run.parts[0].newton_steps) for m in traces}, n=n)


def _by_size(rows: Sequence[Row], quantity: str) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        value = row.extra.get(quantity, getattr(row, quantity, None))
        if value is not None:
            found.setdefault(row.method, {})[row.n] = value
    return found


def _beside(run: Runner, of: Mapping[str, Any]) -> None:
    """The table as a figure, with the paper's numbers."""
    quantity = of.get("quantity", "iterations")
    ours = _by_size([row for row in run.rows if row.case == run.table.name], quantity)
    paper = _by_size(published(run.table.name), quantity)
    _draw(run, of, figures.beside, ours, paper, _of_run(run, of["title"]), quantity, columns=of.get("columns", 4))


def _chosen_by_size(run: Runner, of: Mapping[str, Any]) -> None:
    seconds = _by_size([row for row in run.rows if row.case == run.table.name], "seconds")
    _draw(run, of, figures.by_size, {name: seconds.get(m, {}) for name, m in of["curves"].items()}, of["title"])


def _gains(run: Runner, of: Mapping[str, Any]) -> None:
    part = run.parts[0]
    seconds = _by_size([row for row in run.rows if row.case == part.last_case], "seconds")
    gains = {
        name: {n: arrays / seconds[name][n] for n, arrays in seconds[f"{name}, arrays"].items() if seconds[name].get(n)}
        for name in seconds
        if f"{name}, arrays" in seconds
    }
    _draw(run, of, figures.by_size, gains, of["title"], part.last_case.removeprefix(run.table.name).strip())


def _single(run: Runner, of: Mapping[str, Any]) -> None:
    """Methods that count cycles, and the others."""
    counts = _by_size(published(run.table.name), "iterations")
    for n in _sizes(run, of):
        traces = {method: traces[0] for method, traces in _traces(run, of, n).items()}
        cycles = {m: t for m, t in traces.items() if _unit(m) == "cycles"}
        others = {m: t for m, t in traces.items() if m not in cycles}
        title = _of_run(run, f"{{scene}} at {n}, frame {{frames}}")
        panels = {title: cycles, "inner iterations of the others": others}
        units = [unit for unit, curves in zip(("cycles", "CG iterations"), panels.values()) if any(curves.values())]
        printed = {method: of_n[n] for method, of_n in counts.items() if n in of_n}
        paper = {panel: printed for panel in panels}
        _draw(run, of, figures.convergence, panels, units, paper, run.plan.rtol, n=n)


def _curves(run: Runner, of: Mapping[str, Any]) -> None:
    """Residual curves in panels: those of a `part` and a `method`, at the largest size or at all."""
    largest = max(run.plan.sizes)
    panels: dict[str, dict[str, Trace]] = {}
    paper: dict[str, dict[str, float]] = {}
    for panel in of["panels"]:
        title = panel["title"].format(n=largest)
        for s in run.solves:
            fits = fnmatch(s.part.name, panel["part"]) and s.method == panel.get("method", s.method)
            fits &= s.n == largest or panel.get("sizes") == "all"
            fits &= s.part.solver in panel.get("solvers", (s.part.solver,))
            if fits and len(s.trace) <= of.get("longest", len(s.trace)):
                label = panel["curve"].format(method=s.method, solver=s.part.solver, n=s.n)
                panels.setdefault(title, {})[label] = s.trace
        printed = [row for row in published(run.table.name) if row.n == largest]
        if panel["curve"] == "{method}":
            paper[title] = {
                r.method: float(r.iterations or 0)
                for r in printed
                if r.case.startswith(f"{run.table.name} {panel['part']} (")
            }
    _draw(
        run,
        of,
        figures.convergence,
        panels,
        of.get("unit", "iterations"),
        paper,
        run.plan.rtol,
        log=of.get("log", False),
    )


def _solve_by_solve(run: Runner, of: Mapping[str, Any]) -> None:
    panels = {f"{m}, {n}³": traces for n in _sizes(run, of) for m, traces in _traces(run, of, n).items()}
    _draw(run, of, figures.solves, panels, "Newton steps")


def _phases(run: Runner, of: Mapping[str, Any]) -> None:
    found: dict[str, dict[int, dict[str, float]]] = {}
    for row in run.rows:
        if row.case == run.table.name and row.seconds is not None:
            notes, setup = run.notes[of["part"], row.n], row.setup_seconds or 0.0
            found.setdefault(row.method, {})[row.n] = {
                "initialisation": _mean(notes, "initialisation"), "setup": setup, "computation": row.seconds - setup,
                "finalisation": _mean(notes, "finalisation"),
            }  # fmt: skip
    if found:
        _draw(run, of, figures.phases, _by_kind(found, of))


def _medians(run: Runner, of: Mapping[str, Any]) -> None:
    """All methods at the largest size, or at each size those that every size has."""
    sizes = _sizes(run, of)
    common = set.intersection(*(set(_traces(run, of, n)) for n in sizes)) if len(sizes) > 1 else None
    panels: dict[str, dict[str, list[Trace]]] = {}
    for n in (max(sizes),) if of.get("largest") else sizes:
        found = _traces(run, of, n)
        panels[f"{n}²"] = {m: t for m, t in found.items() if of.get("largest") or common is None or m in common}
    _draw(run, of, figures.medians, panels, "Newton steps", ordered=of.get("largest", False))


def _profile(run: Runner, of: Mapping[str, Any]) -> None:
    part, plan = run.parts[0], run.plan
    frames = problems.sampled_frames(plan.frames or part.frames, plan.samples or part.samples or 1)
    for n in _sizes(run, of):
        seconds: dict[str, list[float]] = {}
        for s in run.solves:
            if s.n == n:
                seconds.setdefault(s.method, []).append(s.row.seconds or np.nan)
        _draw(run, of, figures.profile, seconds, frames, n=n)


def _volume(run: Runner, of: Mapping[str, Any]) -> None:
    for n in run.plan.sizes:
        scenes: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
        for (part, size, label), curve in run.curves.items():
            if size == n:
                scenes.setdefault(part, {})[label] = curve[:, 0], volume_change(curve)
        _draw(run, of, figures.volume, scenes, n=n)


FIGURES: dict[str, Callable[[Runner, Mapping[str, Any]], None]] = {
    "histogram": _histogram, "spread": _spread, "beside": _beside, "by_size": _chosen_by_size, "gains": _gains,
    "single": _single, "curves": _curves, "solves": _solve_by_solve, "phases": _phases, "medians": _medians,
    "profile": _profile, "volume": _volume,
}  # fmt: skip


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
for _table_read in tables().values():
    benchmark(
        _table_read.name, _table_read.description, sizes=tuple(_table_read.sizes), methods=tuple(_table_read.methods),
        parts=[part.name for part in _table_read.parts if part.name],
        simulated=any(part.frames for part in _table_read.parts),
    )(partial(_paper_table, _table_read))  # fmt: skip
