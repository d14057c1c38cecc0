"""What the figures of a table show, from what its runner has found; a table names them and their titles.

Each function below is a name that a table may give. It returns the function of `figures` and its content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import registry
from . import figures, problems, tables
from .row import Row, Trace

if TYPE_CHECKING:
    from .runner import Runner, Solve

Of = Mapping[str, Any]


def draw(run: Runner, of: Of) -> None:
    """A figure of a table; one for each size, if `{n}` stands in its name."""
    name = of.get("name", "")
    for n in (_sizes(run, of) or run.plan.sizes) if "{n}" in name else (max(run.plan.sizes),):
        figure, *content = globals()[of["figure"]](run, of, n)
        run.plan.draw("-".join(filter(None, (run.table.name, name.format(n=n)))), figure, *content)


def volume_change(curve: np.ndarray) -> np.ndarray:
    """In percent."""
    return 100 * (curve[:, 1] / curve[0, 1] - 1)


def mean_of(notes: Sequence[Mapping[str, float]], key: str) -> float:
    return float(np.mean([note[key] for note in notes]))


def _unit(method: str, newton_steps: bool = False) -> str:
    if newton_steps and method.startswith("newton"):
        return "Newton steps"
    if method.startswith(("fas-mg", "fmg", "pi-mg", "pe-mg")) or method in ("auto", "mg-cg"):
        return "cycles"
    entry = registry.entries().get(method)
    return "CG iterations" if entry is not None and entry.converges else "iterations"


def _sizes(run: Runner, of: Of) -> list[int]:
    return list(dict.fromkeys(s.n for s in run.solves if s.part.name == of.get("part", s.part.name)))


def _by_method(run: Runner, of: Of, n: int, value: Callable[[Solve], Any] = lambda s: s.trace) -> dict[str, list[Any]]:
    """A number of every solve of one size, residuals by default."""
    found: dict[str, list[Any]] = {}
    for s in run.solves:
        if s.n == n and s.part.name == of.get("part", s.part.name):
            found.setdefault(s.method, []).append(value(s))
    return _by_kind(found, of)


def _by_kind(found: dict[str, Any], of: Of) -> dict[str, Any]:
    """Of pairs, linear solves first, then the LCP solves below them."""
    labels = list(found)
    return {label: found[label] for label in labels[::2] + labels[1::2]} if of.get("pairs") else found


def _by_size(rows: Sequence[Row], case: str, quantity: str) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        value = row.extra.get(quantity, getattr(row, quantity, None))
        if row.case == case and value is not None:
            found.setdefault(row.method, {})[row.n] = value
    return found


def _of_run(run: Runner, text: str) -> str:
    return text.format(scene=run.parts[0].scene, frames=run.plan.frames or run.parts[0].frames)


def histogram(run: Runner, of: Of, n: int):
    outer = _by_method(run, of, n, lambda s: s.row.outer_iterations)
    outer = {m: [k for k in counts if k is not None] for m, counts in outer.items() if tables.nested(m)}
    return figures.histogram, outer, _of_run(run, f"{{scene}} at {n}: {{frames}} frames")


def spread(run: Runner, of: Of, n: int):
    traces = _by_method(run, of, n)
    return figures.spread, traces, {m: _unit(m, run.parts[0].newton_steps) for m in traces}


def beside(run: Runner, of: Of, n: int):
    """The table as a figure, with the paper's numbers."""
    name, quantity = run.table.name, of.get("quantity", "iterations")
    ours = _by_size(run.rows, name, quantity)
    paper = _by_size(tables.published(name), f"{name} (published)", quantity)
    return figures.beside, ours, paper, _of_run(run, of["title"]), quantity, of.get("columns", 4)


def by_size(run: Runner, of: Of, n: int):
    seconds = _by_size(run.rows, run.table.name, "seconds")
    return figures.by_size, {name: seconds.get(m, {}) for name, m in of["curves"].items()}, of["title"]


def gains(run: Runner, of: Of, n: int):
    case = run.parts[0].last_case
    seconds = _by_size(run.rows, case, "seconds")
    gains = {
        name: {n: arrays / seconds[name][n] for n, arrays in seconds[f"{name}, arrays"].items() if seconds[name].get(n)}
        for name in seconds
        if f"{name}, arrays" in seconds
    }
    return figures.by_size, gains, of["title"], case.removeprefix(run.table.name).strip()


def single(run: Runner, of: Of, n: int):
    """Methods that count cycles, and the others."""
    name = run.table.name
    counts = _by_size(tables.published(name), f"{name} (published)", "iterations")
    title, others = _of_run(run, f"{{scene}} at {n}, frame {{frames}}"), "inner iterations of the others"
    panels: dict[str, dict[str, Trace]] = {title: {}, others: {}}
    for method, traces in _by_method(run, of, n).items():
        panels[title if _unit(method) == "cycles" else others][method] = traces[0]
    printed = {method: of_n[n] for method, of_n in counts.items() if n in of_n}
    units = {title: "cycles", others: "CG iterations"}
    return figures.convergence, panels, units, dict.fromkeys(panels, printed), run.plan.rtol


def curves(run: Runner, of: Of, n: int):
    """Residual curves in panels: those of a `part` and a `method`, at the largest size or at all."""
    panels: dict[str, dict[str, Trace]] = {}
    paper: dict[str, dict[str, float]] = {}
    for panel in of["panels"]:
        title = panel["title"].format(n=n)
        for s in run.solves:
            fits = fnmatch(s.part.name, panel["part"]) and s.method == panel.get("method", s.method)
            fits &= s.n == n or panel.get("sizes") == "all"
            fits &= s.part.solver in panel.get("solvers", (s.part.solver,))
            if fits and len(s.trace) <= of.get("longest", len(s.trace)):
                label = panel["curve"].format(method=s.method, solver=s.part.solver, n=s.n)
                panels.setdefault(title, {})[label] = s.trace
        if panel["curve"] == "{method}":
            paper[title] = {
                r.method: float(r.iterations or 0)
                for r in tables.published(run.table.name)
                if r.n == n and r.case.startswith(f"{run.table.name} {panel['part']} (")
            }
    unit = of.get("unit", "iterations")
    return figures.convergence, panels, unit, paper, run.plan.rtol, of.get("log", False)


def solves(run: Runner, of: Of, n: int):
    panels = {f"{m}, {n}³": traces for n in _sizes(run, of) for m, traces in _by_method(run, of, n).items()}
    return figures.solves, panels, "Newton steps"


def phases(run: Runner, of: Of, n: int):
    found: dict[str, dict[int, dict[str, float]]] = {}
    for row in run.rows:
        if row.case == run.table.name and row.seconds is not None:
            notes, setup = run.notes[of["part"], row.n], row.setup_seconds or 0.0
            before, after = mean_of(notes, "initialisation"), mean_of(notes, "finalisation")
            own = {"setup": setup, "computation": row.seconds - setup}
            found.setdefault(row.method, {})[row.n] = {"initialisation": before, **own, "finalisation": after}
    return figures.phases, _by_kind(found, of)


def medians(run: Runner, of: Of, n: int):
    """All methods at the largest size, or at each size those that every size has."""
    found = {size: _by_method(run, of, size) for size in _sizes(run, of)}
    largest = of.get("largest", False)
    chosen = set(found[n]) if largest else set.intersection(*map(set, found.values()))
    panels = {
        f"{size}²": {m: traces for m, traces in by.items() if m in chosen}
        for size, by in found.items()
        if size == n or not largest
    }
    return figures.medians, panels, "Newton steps", largest


def profile(run: Runner, of: Of, n: int):
    part, plan = run.parts[0], run.plan
    frames = problems.sampled_frames(plan.frames or part.frames, plan.samples or part.samples or 1)
    return figures.profile, _by_method(run, of, n, lambda s: s.row.seconds or np.nan), frames


def volume(run: Runner, of: Of, n: int):
    scenes: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
    for (part, size, label), curve in run.curves.items():
        if size == n:
            scenes.setdefault(part, {})[label] = curve[:, 0], volume_change(curve)
    return figures.volume, scenes
